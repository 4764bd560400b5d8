//! Removes a run's items from the table.

use std::sync::{Mutex, PoisonError};

use aws_sdk_dynamodb::types::AttributeValue;
use backon::Retryable;
use futures::{StreamExt, TryStreamExt, stream};
use store_base::{StoreError, Table, patient_backoff, unless_condition_failed};

use crate::Failure;
use crate::cutover::{PREFIX, prefix_of};
use crate::item::{AS_OF, Attributes, Key, RUN, VERSION, text};
use crate::mapping::Target;

/// The number of items that are removed at once in each segment of the table.
const ITEMS_AT_ONCE: usize = 32;

/// The number of kept items that the report names.
const NAMED_MAX: usize = 100;

/// The results for the table's items.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) removed: u64,
    pub(super) changed: u64,
    pub(super) own: u64,
    pub(super) cutover_items: u64,
    pub(super) named: Vec<String>,
}

impl Counts {
    /// An item that stays, because it was changed since the migration.
    fn name_changed(&mut self, key: &Key) {
        self.changed += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(key.to_string());
        }
    }
}

/// An item to remove.
#[derive(Debug)]
struct Removed {
    key: Key,
    /// The attributes that it must still have; none for an item of the cutover itself.
    condition: Vec<(String, AttributeValue)>,
}

/// The items that a pass over the table removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemovalPass {
    Cutover,
    Items,
}

/// The removal of a run's items.
#[derive(Debug, Clone, Copy)]
pub(super) struct Removal<'r> {
    pub(super) table: &'r Table,
    pub(super) target: &'r Target,
    pub(super) run: &'r str,
    pub(super) dry_run: bool,
    pub(super) counts: &'r Mutex<Counts>,
}

impl Removal<'_> {
    fn count(self, count: impl FnOnce(&mut Counts)) {
        count(&mut self.counts.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Removes the items of one segment of the table.
    pub(super) async fn clear(
        self,
        (segment, segments): (i32, i32),
        pass: RemovalPass,
        seen: impl Fn(u64),
    ) -> Result<(), Failure> {
        let scan = self.table.scan().segment(segment).total_segments(segments).consistent_read(true);
        let mut projection = "#partition, #sort, #version, #as_of, #run".to_owned();
        let mut scan = scan
            .expression_attribute_names("#partition", &self.target.partition)
            .expression_attribute_names("#sort", &self.target.sort)
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_names("#as_of", AS_OF)
            .expression_attribute_names("#run", RUN);
        if let Some(updated_at) = &self.target.updated_at {
            projection.push_str(", #updated");
            scan = scan.expression_attribute_names("#updated", updated_at);
        }
        let mut pages = scan.projection_expression(projection).into_paginator().send();
        while let Some(page) = pages.next().await {
            let items = page.map_err(StoreError::from)?.items.unwrap_or_default();
            seen(u64::try_from(items.len()).unwrap_or_default());
            let removed = items.into_iter().filter_map(|item| match pass {
                RemovalPass::Cutover => self.of_cutover(&item),
                RemovalPass::Items => self.of_run(&item),
            });
            stream::iter(removed)
                .map(|removed| self.remove(removed))
                .buffer_unordered(ITEMS_AT_ONCE)
                .try_for_each(|()| async { Ok(()) })
                .await?;
        }
        Ok(())
    }

    fn key(self, item: &Attributes) -> Option<Key> {
        Key::of(item, self.target)
    }

    /// An item of the cutover itself, which goes without a condition.
    fn of_cutover(self, item: &Attributes) -> Option<Removed> {
        let key = self.key(item).filter(|key| key.partition.starts_with(&prefix_of(self.run)))?;
        self.count(|counts| counts.cutover_items += 1);
        (!self.dry_run).then(|| Removed { key, condition: Vec::new() })
    }

    /// An item that this run has migrated, and that nobody has changed since. If another writer or
    /// another run changes the item after it was read, it does not meet the condition.
    fn of_run(self, item: &Attributes) -> Option<Removed> {
        let key = self.key(item)?;
        let Some(version) = item.get(VERSION).filter(|_| text(item, RUN) == self.run) else {
            if !key.partition.starts_with(PREFIX) {
                self.count(|counts| counts.own += 1);
            }
            return None;
        };
        let mut condition = vec![(VERSION, version.clone()), (RUN, AttributeValue::S(self.run.to_owned()))];
        if let Some(as_of) = item.get(AS_OF) {
            let Some(name) = self.target.updated_at.as_deref().filter(|name| item.get(*name) == Some(as_of)) else {
                self.count(|counts| counts.name_changed(&key));
                return None;
            };
            condition.push((name, as_of.clone()));
        }
        if self.dry_run {
            self.count(|counts| counts.removed += 1);
            return None;
        }
        let condition = condition.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Some(Removed { key, condition })
    }

    /// Removes an item, unless another writer has changed it since it was read.
    async fn remove(self, removed: Removed) -> Result<(), Failure> {
        let Removed { key, condition } = &removed;
        let delete = || async {
            let mut request = self.table.delete_item(key.attributes(self.target));
            if !condition.is_empty() {
                let equal: Vec<_> = (0..condition.len()).map(|n| format!("#c{n} = :c{n}")).collect();
                // Without an item, an earlier attempt has removed it.
                request = request
                    .condition_expression(format!("attribute_not_exists(#partition) OR ({})", equal.join(" AND ")))
                    .expression_attribute_names("#partition", &self.target.partition);
            }
            for (n, (name, value)) in condition.iter().enumerate() {
                request = request
                    .expression_attribute_names(format!("#c{n}"), name)
                    .expression_attribute_values(format!(":c{n}"), value.clone());
            }
            unless_condition_failed(request.send().await)
        };
        match delete.retry(patient_backoff()).when(StoreError::is_transient).await? {
            None => self.count(|counts| counts.name_changed(key)),
            Some(_) if !condition.is_empty() => self.count(|counts| counts.removed += 1),
            Some(_) => {}
        }
        Ok(())
    }
}
