//! The changes that were made in DynamoDB and that PostgreSQL may not have.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::Select;
use store_base::s;

use super::{Attributes, Dynamo, SHARDS, VERSION_MAX, failed};
use crate::cutover::outbox_entry::OutboxEntry;
use crate::cutover::ownership::bucket;
use crate::cutover::postgres::table_of;
use crate::item::text;
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
            .expression_attribute_names("#sort", &self.target.sort)
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

    /// The number of changes that are not replicated to PostgreSQL.
    pub(in crate::cutover) async fn pending(&self) -> Result<u64, Failure> {
        let mut count = 0;
        for shard in 0..SHARDS {
            let mut pages = self.outbox_query(shard).select(Select::Count).into_paginator().send();
            while let Some(page) = pages.next().await {
                count += u64::try_from(page.map_err(failed)?.count).unwrap_or_default();
            }
        }
        Ok(count)
    }

    fn outbox_query(&self, shard: u8) -> QueryFluentBuilder {
        let request = self.table.query().consistent_read(true).key_condition_expression("#partition = :partition");
        let request = request.expression_attribute_names("#partition", &self.target.partition);
        request.expression_attribute_values(":partition", s(self.outbox_partition(shard)))
    }

    /// The keys of the next changes that are not replicated to PostgreSQL; `None` after the last
    /// one. Only keys, and not all at once: a backlog may be larger than memory.
    pub(super) async fn next_outbox_keys(&self, place: &mut OutboxPlace) -> Result<Option<Vec<Attributes>>, Failure> {
        if place.shard == SHARDS {
            return Ok(None);
        }
        let request = self.outbox_query(place.shard).limit(KEYS_PER_PAGE);
        let request = request.projection_expression("#partition, #sort");
        let request = request.expression_attribute_names("#sort", &self.target.sort);
        let page = request.set_exclusive_start_key(place.after.take()).send().await.map_err(failed)?;
        place.after = page.last_evaluated_key;
        if place.after.is_none() {
            place.shard += 1;
        }
        Ok(Some(page.items.unwrap_or_default()))
    }

    /// The users of the next changes that are not replicated to PostgreSQL; `None` after the last
    /// one.
    pub(in crate::cutover) async fn next_pending_users(
        &self,
        place: &mut OutboxPlace,
    ) -> Result<Option<Vec<String>>, Failure> {
        let Some(keys) = self.next_outbox_keys(place).await? else { return Ok(None) };
        let users = keys.iter().filter_map(|key| Some(self.sort_of(key).rsplit_once('#')?.0.to_owned()));
        Ok(Some(Vec::from_iter(users.collect::<BTreeSet<_>>())))
    }
}

/// The number of changes whose keys are read at once.
const KEYS_PER_PAGE: i32 = 1_000;

/// A place in the outbox.
#[derive(Debug, Default)]
pub(in crate::cutover) struct OutboxPlace {
    shard: u8,
    after: Option<Attributes>,
}
