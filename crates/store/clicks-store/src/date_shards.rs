//! The largest number of index partitions that a day has been spread over, kept in the item
//! `LAYOUT#CLICKS` / `dateShards`.

use super::keys::{DateShards, LAYOUT, key};
use store_base::{StoreError, Table, shard_count};

const SORT: &str = "dateShards";

impl DateShards {
    /// The larger of this number and the one stored in `table`. For readers. Its request is
    /// `GetItem`.
    pub async fn max_with_stored(self, table: &Table) -> Result<Self, StoreError> {
        let Some(shards) = shard_count::read(table, key(LAYOUT, SORT)).await? else { return Ok(self) };
        let earlier = Self::new(shards);
        let earlier = earlier.ok_or_else(|| StoreError::unreadable(format!("{LAYOUT} {SORT}: {shards} shards")))?;
        Ok(self.max(earlier))
    }

    /// Stores the number if it is larger than the stored one. A writer must call this before its
    /// first click, or readers would not query the new partitions. Its requests are `GetItem`, and
    /// `PutItem` when the number has grown.
    pub async fn remember(self, table: &Table) -> Result<(), StoreError> {
        if Self::default().max_with_stored(table).await? >= self {
            return Ok(());
        }
        shard_count::raise(table, key(LAYOUT, SORT), self.get()).await
    }
}
