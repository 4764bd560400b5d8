//! Removes a run's items from the table.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, TryStreamExt, stream};
use store::{StoreError, Table, unless_condition_failed};

use crate::Failure;
use crate::cutover::{PREFIX, prefix_of};
use crate::item::{AS_OF, Attributes, Key, RUN, VERSION};
use crate::mapping::Target;

/// The number of items that are removed at once in each segment of the table.
const REMOVED_AT_ONCE: usize = 16;

/// The number of kept items that the report names.
const NAMED_MAX: usize = 100;

/// The results for the table's items.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) removed: AtomicU64,
    pub(super) changed: AtomicU64,
    pub(super) own: AtomicU64,
    pub(super) cutover_items: AtomicU64,
    pub(super) named: Mutex<Vec<String>>,
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
    pub(super) keep_items: bool,
    pub(super) dry_run: bool,
    pub(super) counts: &'r Counts,
}

fn text<'i>(item: &'i Attributes, name: &str) -> &'i str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Removal<'_> {
    /// Removes the items of one segment of the table.
    pub(super) async fn clear(
        self,
        (segment, segments): (i32, i32),
        pass: RemovalPass,
        seen: impl Fn(u64),
    ) -> Result<(), Failure> {
        let scan = self.table.scan().segment(segment).total_segments(segments).consistent_read(true);
        let mut projection = "#partition, #version, #as_of, #run".to_owned();
        let mut scan = scan
            .expression_attribute_names("#partition", &self.target.partition)
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_names("#as_of", AS_OF)
            .expression_attribute_names("#run", RUN);
        for (name, attribute) in [("#sort", &self.target.sort), ("#updated", &self.target.updated_at)] {
            if let Some(attribute) = attribute {
                projection.push_str(&format!(", {name}"));
                scan = scan.expression_attribute_names(name, attribute);
            }
        }
        let mut pages = scan.projection_expression(projection).into_paginator().send();
        while let Some(page) = pages.next().await {
            let items = page.map_err(StoreError::from)?.items.unwrap_or_default();
            seen(u64::try_from(items.len()).unwrap_or_default());
            stream::iter(items)
                .map(|item| async move {
                    match pass {
                        RemovalPass::Cutover => self.remove_cutover_item(&item).await,
                        RemovalPass::Items => self.remove(&item).await,
                    }
                })
                .buffer_unordered(REMOVED_AT_ONCE)
                .try_for_each(|()| async { Ok(()) })
                .await?;
        }
        Ok(())
    }

    fn key(self, item: &Attributes) -> Option<Key> {
        Key::of(item, self.target)
    }

    async fn remove_cutover_item(self, item: &Attributes) -> Result<(), Failure> {
        let Some(key) = self.key(item).filter(|key| key.partition.starts_with(&prefix_of(self.run))) else {
            return Ok(());
        };
        count(&self.counts.cutover_items);
        if !self.dry_run {
            self.table.delete_item(key.attributes(self.target)).send().await.map_err(StoreError::from)?;
        }
        Ok(())
    }

    async fn remove(self, item: &Attributes) -> Result<(), Failure> {
        let Self { counts, target, .. } = self;
        let Some(key) = self.key(item) else { return Ok(()) };
        let version = item.get(VERSION).filter(|_| text(item, RUN) == self.run).cloned();
        let Some(version) = version else {
            if !key.partition.starts_with(PREFIX) {
                count(&counts.own);
            }
            return Ok(());
        };
        let named = || {
            count(&counts.changed);
            let mut named = counts.named.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if named.len() < NAMED_MAX {
                named.push(key.to_string());
            }
        };
        let updated_at = target.updated_at.as_ref().and_then(|name| item.get(name));
        if item.get(AS_OF).is_some_and(|as_of| updated_at != Some(as_of)) {
            named();
            return Ok(());
        }
        if self.keep_items || self.dry_run {
            count(&counts.removed);
            return Ok(());
        }
        // If another writer or another run has changed the item since it was read, it no longer
        // belongs to this run.
        let mut condition = "#version = :version AND #run = :run".to_owned();
        let mut request = self.table.delete_item(key.attributes(target));
        if let Some(updated_at) = &target.updated_at {
            condition.push_str(" AND (attribute_not_exists(#as_of) OR #as_of = #updated)");
            request =
                request.expression_attribute_names("#as_of", AS_OF).expression_attribute_names("#updated", updated_at);
        }
        let request = request
            .condition_expression(condition)
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_names("#run", RUN)
            .expression_attribute_values(":run", AttributeValue::S(self.run.to_owned()))
            .expression_attribute_values(":version", version);
        match unless_condition_failed(request.send().await)? {
            Some(_) => count(&counts.removed),
            None => named(),
        }
        Ok(())
    }
}
