//! The changes that were made in DynamoDB and that PostgreSQL may not have.

use std::collections::BTreeSet;

use store::s;

use super::{Attributes, Dynamo, SHARDS, VERSION_MAX, failed, text};
use crate::cutover::outbox_entry::OutboxEntry;
use crate::cutover::ownership::bucket;
use crate::cutover::postgres::table_of;
use crate::mapping::Mapping;
use crate::row::Row;
use crate::{Failure, FailureKind};

impl Dynamo {
    /// The user's first changes that PostgreSQL may not have, in order.
    pub(in crate::cutover) async fn outbox_entries(
        &self,
        mapping: &Mapping,
        user: &str,
    ) -> Result<Vec<OutboxEntry>, Failure> {
        if !Self::can_store(user) {
            return Ok(Vec::new());
        }
        let request = self.table.query().consistent_read(true).limit(50);
        let answer = request
            .key_condition_expression("#partition = :partition AND #sort BETWEEN :first AND :last")
            .expression_attribute_names("#partition", &self.target.partition)
            .expression_attribute_names("#sort", self.target.sort.as_deref().unwrap_or_default())
            .expression_attribute_values(":partition", s(self.outbox_partition(bucket(user) % SHARDS)))
            .expression_attribute_values(":first", s(format!("{user}#{:016}", 0)))
            .expression_attribute_values(":last", s(format!("{user}#{:016}", VERSION_MAX)))
            .send()
            .await
            .map_err(failed)?;
        let unreadable =
            |error: &dyn std::fmt::Display| FailureKind::TableRefused.because(format!("the outbox: {error}"));
        let entry = |item: Attributes| {
            let table = table_of(mapping, text(&item, "Source"))?;
            let read = |name: &str| {
                let json = item.get(name).and_then(|value| value.as_s().ok());
                let row = json.map(|json| Row::read(&table, json)).transpose().map_err(|error| unreadable(&error));
                row.map(|row| row.map(|row| row.of_owner(user)))
            };
            let (_, version) = self.sort_of(&item).rsplit_once('#').unwrap_or_default();
            let version = version.parse().map_err(|error: std::num::ParseIntError| unreadable(&error))?;
            let (before, after) = (read("Before")?, read("After")?);
            Ok(OutboxEntry { user: user.to_owned(), version, table, before, after })
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
                users.extend(self.sort_of(&item).rsplit_once('#').map(|(user, _)| user.to_owned()));
            }
        }
        Ok((users, count))
    }
}
