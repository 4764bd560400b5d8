//! What happens to a game's items behind the players' backs: old lines of the chat go, and a
//! finished game gets its end.

use domain::game::{GameId, Room, standings};
use futures::future::try_join_all;

use super::keys::{
    CHAT_PREFIX, CHAT_PREFIX_END, GAME_TTL_S, Item, META, PARTITION_KEY, PLAYER_PREFIX, PLAYER_PREFIX_END,
    ROUND_PREFIX, ROUND_PREFIX_END, SECRET, SORT_KEY, TTL, WORDS, expires, game, key, n,
};
use super::lobby::finished_seat;
use store_base::unless_condition_failed;
use store_base::{StoreError, Table};

/// How many lines of a game's chat are kept.
pub const CHAT_LINES_MAX: usize = 1_000;

/// The most pages of a list of a game's keys. A thousand chat lines are less than a page of 1 MB;
/// further pages have only lines since the last clean-up.
const PAGES_MAX: usize = 64;

/// How many updates go out at once.
const UPDATES_AT_ONCE: usize = 16;

/// Tidies games up. Its requests are `Query`, `PutItem`, `UpdateItem` and `BatchWriteItem`
/// (deletions).
#[derive(Debug, Clone)]
pub struct Archive {
    table: Table,
}

impl Archive {
    /// The archive of `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Deletes all but the newest [`CHAT_LINES_MAX`] lines of a game. Gives the number of deleted
    /// ones.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when DynamoDB leaves deletions undone each time.
    pub async fn trim_chat(&self, game_id: GameId) -> Result<usize, StoreError> {
        let lines = self.keys_between(game_id, CHAT_PREFIX, CHAT_PREFIX_END).await?;
        let old: Vec<_> = lines.into_iter().rev().skip(CHAT_LINES_MAX).map(|(key, _)| key).collect();
        let deleted = old.len();
        self.table.batch_delete(old).await?;
        Ok(deleted)
    }

    /// Gives a finished game its end: each player's seat says how it went, and everything expires 7
    /// days after.
    ///
    /// Strokes, drawings, awards and chat got a sufficient TTL when they were written. Writing
    /// these large or numerous items again would cost as much as the game did.
    pub async fn finish(&self, room: &Room, finished_at_ms: u64) -> Result<(), StoreError> {
        let ttl = expires(finished_at_ms, GAME_TTL_S);
        try_join_all(standings(room).iter().map(|standing| async move {
            let seat = finished_seat(room, standing, finished_at_ms, ttl)?;
            self.table.put_item(seat).send().await?;
            Ok::<_, StoreError>(())
        }))
        .await?;
        let ranges = [
            (SECRET, SECRET),
            (META, META),
            (PLAYER_PREFIX, PLAYER_PREFIX_END),
            (ROUND_PREFIX, ROUND_PREFIX_END),
            (WORDS, WORDS),
        ];
        let found = try_join_all(ranges.iter().map(|(from, to)| self.keys_between(room.id, from, to))).await?;
        let late: Vec<_> =
            found.into_iter().flatten().filter(|(_, has)| *has != Some(ttl)).map(|(key, _)| key).collect();
        for some in late.chunks(UPDATES_AT_ONCE) {
            try_join_all(some.iter().map(|key| self.expire(key, ttl))).await?;
        }
        Ok(())
    }

    async fn expire(&self, key: &Item, ttl: u64) -> Result<(), StoreError> {
        let request = self
            .table
            .update_item(key.clone())
            .update_expression("SET #ttl = :ttl")
            .expression_attribute_names("#ttl", TTL)
            .expression_attribute_values(":ttl", n(ttl))
            // Stops an item that was deleted since it was listed from coming back as a key and a
            // ttl.
            .condition_expression("attribute_exists(#key)")
            .expression_attribute_names("#key", PARTITION_KEY);
        unless_condition_failed(request.send().await).map(drop)
    }

    /// The keys of a game from one sort key to another, in order, with their ttl.
    async fn keys_between(
        &self,
        game_id: GameId,
        from: &str,
        to: &str,
    ) -> Result<Vec<(Item, Option<u64>)>, StoreError> {
        let mut keys = Vec::new();
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let query = self.table.query_between([PARTITION_KEY, SORT_KEY], game(game_id), from, to);
            let query = query.projection_expression("#sk, #ttl").expression_attribute_names("#ttl", TTL);
            let page = query.set_exclusive_start_key(start).send().await?;
            for item in page.items.unwrap_or_default() {
                let Some(sort) = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()) else { continue };
                let ttl = item.get(TTL).and_then(|ttl| ttl.as_n().ok()).and_then(|ttl| ttl.parse().ok());
                keys.push((key(game(game_id), sort), ttl));
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(keys);
            }
        }
        // The next run handles the rest. The keys found are complete from the beginning, oldest
        // first.
        Ok(keys)
    }
}
