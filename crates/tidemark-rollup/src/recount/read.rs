//! Reads the items of the table for a recount.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::TableDescription;

use super::keys::KeyNames;
use super::{PAGES_MAX, Progress, RecountError, Recounter, Scope, States};
use crate::additions::ItemKey;
use crate::declaration::RESERVED_PREFIX;
use crate::distinct::holding_prefix;
use crate::error::StoreError;
use crate::shard::{OPERATOR, checkpoint_partition};
use crate::table::{Item, Table};

/// The part of the table that was read.
pub(super) struct Read<T> {
    pub(super) states: States<T>,
    pub(super) stats: BTreeSet<ItemKey>,
    /// The keys of holdings.
    pub(super) held: BTreeSet<ItemKey>,
    /// The ARNs of the streams that have checkpoints; empty for a part of the table.
    pub(super) streams: BTreeSet<String>,
    pub(super) unreadable: u64,
    pub(super) progress: Progress,
}

impl<T> Read<T> {
    fn new() -> Self {
        let (states, stats, held) = (States::new(), BTreeSet::new(), BTreeSet::new());
        Self { states, stats, held, streams: BTreeSet::new(), unreadable: 0, progress: Progress::default() }
    }
}

impl<T: Clone> Recounter<'_, T> {
    /// The ARN of the table's stream, and the table's keys.
    pub(super) async fn stream(&self) -> Result<(String, KeyNames), RecountError> {
        let name = self.items.name();
        let described = self.items.client().describe_table().table_name(name).send().await.map_err(StoreError::from)?;
        let described = described.table.unwrap_or_else(|| TableDescription::builder().build());
        let keys = KeyNames::of(&self.items, &described)?;
        let arn = described.latest_stream_arn;
        Ok((arn.ok_or_else(|| StoreError::Refused(format!("the table {name} has no stream")))?, keys))
    }

    pub(super) async fn read(
        &self,
        scope: &Scope,
        keys: &KeyNames,
        progress: &impl Fn(Progress),
    ) -> Result<Read<T>, StoreError> {
        let mut read = Read::new();
        match scope {
            Scope::All => {
                self.scan(&self.items, keys, &mut read, progress).await?;
                if self.items.name() != self.aggregator.table.name() {
                    self.scan(&self.aggregator.table, keys, &mut read, progress).await?;
                }
            }
            Scope::Part { queries, .. } => {
                for query in queries {
                    let query =
                        query.clone().return_consumed_capacity(aws_sdk_dynamodb::types::ReturnConsumedCapacity::Total);
                    let mut start = None;
                    for _ in 0..PAGES_MAX {
                        let page = query.clone().set_exclusive_start_key(start).send().await?;
                        let units = page.consumed_capacity().and_then(|capacity| capacity.capacity_units());
                        start = page.last_evaluated_key;
                        self.take(page.items.unwrap_or_default(), (&self.items, keys), units, &mut read);
                        progress(read.progress);
                        if start.is_none() {
                            break;
                        }
                    }
                }
            }
        }
        Ok(read)
    }

    async fn scan(
        &self,
        table: &Table,
        keys: &KeyNames,
        read: &mut Read<T>,
        progress: &impl Fn(Progress),
    ) -> Result<(), StoreError> {
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let scan = table.client().scan().table_name(table.name()).consistent_read(true);
            let scan = scan.return_consumed_capacity(aws_sdk_dynamodb::types::ReturnConsumedCapacity::Total);
            let page = scan.set_exclusive_start_key(start).send().await?;
            let units = page.consumed_capacity().and_then(|capacity| capacity.capacity_units());
            start = page.last_evaluated_key;
            self.take(page.items.unwrap_or_default(), (table, keys), units, read);
            progress(read.progress);
            if start.is_none() {
                return Ok(());
            }
        }
        Err(StoreError::Refused("the table has too many pages".to_owned()))
    }

    fn take(&self, items: Vec<Item>, (table, keys): (&Table, &KeyNames), units: Option<f64>, read: &mut Read<T>) {
        read.progress.items += items.len() as u64;
        read.progress.requests += 1;
        read.progress.read_units += units.unwrap_or_default();
        let checkpoints = checkpoint_partition(&self.aggregator.rollup.name, "");
        for item in items {
            let stat = self.aggregator.table.key_of(&item);
            if let Some(key) = stat.filter(|(partition, sort)| self.aggregator.rollup.owns(partition, sort)) {
                if key.0.starts_with(&holding_prefix(&self.aggregator.rollup)) {
                    read.held.insert(key);
                } else if let Some(stream) = key.0.strip_prefix(&checkpoints).filter(|stream| *stream != OPERATOR) {
                    read.streams.insert(stream.to_owned());
                } else if !key.0.starts_with(RESERVED_PREFIX) {
                    read.stats.insert(key);
                }
                continue;
            }
            // The table of the statistics may have other items, which nobody counts.
            if table.name() != self.items.name() {
                continue;
            }
            let Some(key) = keys.identity(&item) else {
                read.unreadable += 1;
                continue;
            };
            match self.aggregator.read_item(item) {
                Ok(Some(item)) => drop(read.states.insert(key, item)),
                Ok(None) => {}
                Err(_) => read.unreadable += 1,
            }
        }
    }
}
