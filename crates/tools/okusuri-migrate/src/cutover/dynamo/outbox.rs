//! The changes that were made in DynamoDB and that PostgreSQL may not have.

use std::collections::BTreeSet;

use store::s;

use super::{Attributes, Dynamo, SHARDS, VERSION_MAX, failed, text};
use crate::cutover::outbox_entry::OutboxEntry;
use crate::cutover::ownership::bucket;
use crate::cutover::postgres::table_of;
use crate::source::Row;
use crate::{Failure, FailureKind};

impl Dynamo {
    /// The user's first changes that PostgreSQL may not have, in order.
    pub(in crate::cutover) async fn outbox_entries(&self, user: &str) -> Result<Vec<OutboxEntry>, Failure> {
        if !Self::can_store(user) {
            return Ok(Vec::new());
        }
        let request = self.table.query().consistent_read(true).limit(50);
        let answer = request
            .key_condition_expression("PK = :partition AND SK BETWEEN :first AND :last")
            .expression_attribute_values(":partition", s(self.outbox_partition(bucket(user) % SHARDS)))
            .expression_attribute_values(":first", s(format!("{user}#{:016}", 0)))
            .expression_attribute_values(":last", s(format!("{user}#{:016}", VERSION_MAX)))
            .send()
            .await
            .map_err(failed)?;
        let unreadable =
            |error: &dyn std::fmt::Display| FailureKind::TableRefused.because(format!("the outbox: {error}"));
        let entry = |item: Attributes| {
            let table = table_of(text(&item, "Source"))?;
            let read = |name: &str| {
                let json = item.get(name).and_then(|value| value.as_s().ok());
                json.map(|json| Row::read(table, json)).transpose().map_err(|error| unreadable(&error))
            };
            let (_, version) = text(&item, "SK").rsplit_once('#').unwrap_or_default();
            let version = version.parse().map_err(|error: std::num::ParseIntError| unreadable(&error))?;
            Ok(OutboxEntry { user: user.to_owned(), version, table, before: read("Before")?, after: read("After")? })
        };
        answer.items.unwrap_or_default().into_iter().map(entry).collect()
    }

    /// Removes a change that PostgreSQL has.
    pub(in crate::cutover) async fn remove_outbox_entry(&self, user: &str, version: u64) -> Result<(), Failure> {
        let request = self.table.delete_item(self.outbox_key(user, version));
        request.send().await.map_err(failed)?;
        Ok(())
    }

    /// The users with changes that are not replicated to PostgreSQL, and the number of these
    /// changes.
    pub(in crate::cutover) async fn pending(&self) -> Result<(BTreeSet<String>, u64), Failure> {
        let (mut users, mut count) = (BTreeSet::new(), 0);
        for shard in 0..SHARDS {
            for item in self.query(&self.outbox_partition(shard)).await? {
                count += 1;
                users.extend(text(&item, "SK").rsplit_once('#').map(|(user, _)| user.to_owned()));
            }
        }
        Ok((users, count))
    }
}
