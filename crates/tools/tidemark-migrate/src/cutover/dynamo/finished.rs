//! Reads of the whole table, and the end of a cutover in it: which runs are finished, and the
//! removal of a run's own items.

use aws_sdk_dynamodb::types::Select;
use futures::{Stream, StreamExt, stream};
use store_base::{Table, n, s, unless_condition_failed};

use super::outbox::OutboxPlace;
use super::{Attributes, Dynamo, SHARDS, failed, query};
use crate::Failure;
use crate::cutover::ownership::{Ownership, Side};
use crate::item::{Key, text};
use crate::mapping::Target;

/// The partition with one item for each finished cutover.
const FINISHED: &str = "MIGRATION#FINISHED";

/// The runs whose cutover is finished: their items belong to the application.
pub(crate) async fn finished_runs(table: &Table, target: &Target) -> Result<Vec<String>, Failure> {
    let items = query(table, target, FINISHED).await?;
    Ok(items.iter().map(|item| text(item, &target.sort).to_owned()).collect())
}

impl Dynamo {
    fn finished_key(&self) -> Attributes {
        self.key(FINISHED.to_owned(), self.run.clone())
    }

    /// From here on no rollback removes this run's items.
    pub(in crate::cutover) async fn record_finished(&self) -> Result<(), Failure> {
        self.table.put_item(self.finished_key()).send().await.map_err(failed)?;
        Ok(())
    }

    /// Whether the cutover is finished.
    pub(crate) async fn is_finished(&self) -> Result<bool, Failure> {
        let request = self.table.get_item(self.finished_key()).consistent_read(true);
        Ok(request.send().await.map_err(failed)?.item.is_some())
    }

    pub(in crate::cutover) fn table(&self) -> &Table {
        &self.table
    }

    /// Whether more than so many items of a type have an attribute.
    pub(in crate::cutover) async fn has_more(&self, kind: &str, attribute: &str, than: u64) -> Result<bool, Failure> {
        let scan = self.table.scan().consistent_read(true).select(Select::Count);
        let scan = scan
            .filter_expression("#type = :type AND attribute_exists(#attribute)")
            .expression_attribute_names("#type", &self.target.kind)
            .expression_attribute_names("#attribute", attribute)
            .expression_attribute_values(":type", s(kind));
        let (mut pages, mut count) = (scan.into_paginator().send(), 0);
        while let Some(page) = pages.next().await {
            count += u64::try_from(page.map_err(failed)?.count).unwrap_or_default();
            if count > than {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The partition keys of all items, in pages; the same key may come several times.
    pub(in crate::cutover) fn partition_pages(&self) -> impl Stream<Item = Result<Vec<String>, Failure>> + Unpin {
        let scan = self.table.scan().consistent_read(true);
        let scan = scan.projection_expression("#partition");
        let scan = scan.expression_attribute_names("#partition", &self.target.partition);
        let name = self.target.partition.clone();
        let pages =
            stream::unfold(scan.into_paginator().send(), |mut pages| async move { Some((pages.next().await?, pages)) });
        Box::pin(pages.map(move |page| {
            let items = page.map_err(failed)?.items.unwrap_or_default();
            let mut keys: Vec<_> = items.iter().map(|item| text(item, &name).to_owned()).collect();
            keys.dedup();
            Ok(keys)
        }))
    }

    /// The run is not finished any more.
    pub(crate) async fn remove_finished(&self) -> Result<(), Failure> {
        self.table.delete_item(self.finished_key()).send().await.map_err(failed)?;
        Ok(())
    }

    /// From here on no first change of a user is replicated to this side.
    pub(in crate::cutover) async fn disable_replication(&self) -> Result<(), Failure> {
        for shard in 0..SHARDS {
            self.table.delete_item(self.replication_flag_key(shard)).send().await.map_err(failed)?;
        }
        Ok(())
    }

    /// Removes the ownership record of a user whom this side owns; false if it does not.
    pub(in crate::cutover) async fn remove_ownership(&self, user: &str) -> Result<bool, Failure> {
        let record = self.ownership(user).await?;
        let request = self.table.delete_item(self.ownership_key(user));
        let request = if record == Ownership::default() {
            request
                .condition_expression("attribute_not_exists(#partition)")
                .expression_attribute_names("#partition", &self.target.partition)
        } else if record.is_open(Side::Dynamo) {
            // A mover may have closed the ownership since it was read.
            request.condition_expression("Epoch = :epoch").expression_attribute_values(":epoch", n(record.epoch))
        } else {
            return Ok(false);
        };
        Ok(unless_condition_failed(request.send().await)?.is_some())
    }

    /// Removes a marker, unless it belongs to another owner than when it was read.
    pub(in crate::cutover) async fn remove_marker(&self, key: &Key, marker: &Attributes) -> Result<bool, Failure> {
        let request = self.table.delete_item(key.attributes(&self.target));
        let request = request.expression_attribute_names("#owner", &self.target.owner);
        let request = match marker.get(&self.target.owner) {
            Some(owner) => {
                request.condition_expression("#owner = :owner").expression_attribute_values(":owner", owner.clone())
            }
            None => request.condition_expression("attribute_not_exists(#owner)"),
        };
        Ok(unless_condition_failed(request.send().await)?.is_some())
    }

    /// Removes all changes that wait for PostgreSQL.
    pub(in crate::cutover) async fn remove_outbox(&self) -> Result<(), Failure> {
        let mut place = OutboxPlace::default();
        while let Some(keys) = self.next_outbox_keys(&mut place).await? {
            for key in keys {
                self.table.delete_item(key).send().await.map_err(failed)?;
            }
        }
        Ok(())
    }
}
