//! Over how many index partitions days have been spread, at the most: `LAYOUT#CLICKS` / `dateShards` keeps that number.

use super::keys::{DateShards, LAYOUT, key};
use crate::{StoreError, Table, shard_count};

const SORT: &str = "dateShards";

impl DateShards {
    /// The most that days were ever spread over in `table`, and at least these. For readers. Its request is `GetItem`.
    pub async fn max_with_stored(self, table: &Table) -> Result<Self, StoreError> {
        let Some(shards) = shard_count::read(table, key(LAYOUT, SORT)).await? else { return Ok(self) };
        let earlier = Self::new(shards);
        let earlier = earlier.ok_or_else(|| StoreError::unreadable(format!("{LAYOUT} {SORT}: {shards} shards")))?;
        Ok(self.max(earlier))
    }

    /// Remembers that days are spread over these from now on. For writers, before the first click. Its requests are `GetItem`, and `PutItem`
    /// where the number has grown.
    pub async fn remember(self, table: &Table) -> Result<(), StoreError> {
        if Self::default().max_with_stored(table).await? >= self {
            return Ok(());
        }
        shard_count::raise(table, key(LAYOUT, SORT), self.get()).await
    }
}
