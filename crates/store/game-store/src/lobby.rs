//! Lists of games: those that wait for strangers, and those that a player has finished.

use domain::game::{GameId, PlayerId, Room, Stage, Standing};
use serde::{Deserialize, Serialize};

use super::keys::{
    ACTIVE_INDEX, Item, META, PARTITION_KEY, PLAYER_INDEX, SORT_KEY, TTL, WAITING, game, key, n, player, s,
};
use super::room::read_room;
use store_base::Page;
use store_base::RowReader;
use store_base::{StoreError, Table};

/// The most games of a page.
pub const GAMES_MAX: u16 = 50;

/// Where a page ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LobbyPosition {
    created: String,
    game: String,
}

/// Where a page of a player's games ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryPosition(String);

/// A game that a player has finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishedGame {
    /// Which.
    pub game_id: String,
    /// What the player was called.
    pub name: String,
    /// When they took their seat, Unix milliseconds.
    pub joined_at: u64,
    /// When it ended, Unix milliseconds.
    pub finished_at: u64,
    /// Their points.
    pub score: u32,
    /// 1 for the best.
    pub rank: u8,
    /// How many played to the end.
    pub players: usize,
}

/// Lists games. Its requests are `Query` on both indexes, and `BatchGetItem`.
#[derive(Debug, Clone)]
pub struct Lobby {
    table: Table,
}

impl Lobby {
    /// The lobby of `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Public games that wait, newest first: at most `limit` of them, and where to go on. The index
    /// is some milliseconds behind the rooms, so a game that has begun meanwhile is left out.
    pub async fn waiting(
        &self,
        limit: u16,
        after: Option<&LobbyPosition>,
    ) -> Result<Page<Room, LobbyPosition>, StoreError> {
        let start = after.map(|LobbyPosition { created, game }| {
            let mut start = key(game, META);
            start.extend([("GSI2PK".to_owned(), s(WAITING)), ("GSI2SK".to_owned(), s(created))]);
            start
        });
        let answer = self
            .table
            .query()
            .index_name(ACTIVE_INDEX)
            .key_condition_expression("GSI2PK = :waiting")
            .expression_attribute_values(":waiting", s(WAITING))
            .scan_index_forward(false)
            .limit(i32::from(limit.min(GAMES_MAX)))
            .set_exclusive_start_key(start)
            .send()
            .await?;
        let next = answer.last_evaluated_key.as_ref().and_then(|key| {
            let text = |name: &str| Some(key.get(name)?.as_s().ok()?.clone());
            Some(LobbyPosition { created: text("GSI2SK")?, game: text(PARTITION_KEY)? })
        });
        let keys = answer.items.unwrap_or_default().into_iter();
        let keys = keys
            .map(|item| item.into_iter().filter(|(name, _)| [PARTITION_KEY, SORT_KEY].contains(&&**name)).collect());
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        let rooms = self.table.batch_get(keys.collect(), false).await?.into_iter();
        let mut rooms: Vec<_> = rooms.filter_map(|item| reader.read(item, read_room)).collect();
        rooms.retain(|room| room.public && matches!(room.stage, Stage::Waiting));
        rooms.sort_by_key(|room| std::cmp::Reverse((room.created_at_ms, room.id)));
        Ok(Page { items: rooms, next, skipped: reader.skipped() })
    }

    /// Finished games of a player, newest first, and where to go on. A page of `limit` games that
    /// the player was in may have fewer, even none, that are finished.
    pub async fn finished(
        &self,
        player_id: PlayerId,
        limit: u16,
        after: Option<&HistoryPosition>,
    ) -> Result<Page<FinishedGame, HistoryPosition>, StoreError> {
        let start = after.map(|HistoryPosition(game)| {
            let mut start = key(game, player(player_id));
            start.extend([("GSI1PK".to_owned(), s(player(player_id))), ("GSI1SK".to_owned(), s(game))]);
            start
        });
        let answer = self
            .table
            .query()
            .index_name(PLAYER_INDEX)
            .key_condition_expression("GSI1PK = :player")
            .filter_expression("attribute_exists(finishedAt)")
            .expression_attribute_values(":player", s(player(player_id)))
            // An id begins with its time: the newest game is the last one.
            .scan_index_forward(false)
            .limit(i32::from(limit.min(GAMES_MAX)))
            .set_exclusive_start_key(start)
            .send()
            .await?;
        let next = answer.last_evaluated_key.as_ref().and_then(|key| key.get("GSI1SK")?.as_s().ok());
        let next = next.map(|game| HistoryPosition(game.clone()));
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        let game = |item| serde_dynamo::from_item(item).map_err(StoreError::unreadable);
        let games = answer.items.unwrap_or_default().into_iter().filter_map(|item| reader.read(item, game));
        Ok(Page { items: games.collect(), next, skipped: reader.skipped() })
    }
}

/// The seat of a player when the game is over.
pub(super) fn finished_seat(
    room: &Room,
    standing: &Standing,
    finished_at_ms: u64,
    ttl: u64,
) -> Result<Item, StoreError> {
    let joined_at = room.player(standing.player).map_or(finished_at_ms, |player| player.joined_at_ms);
    let row = FinishedGame {
        game_id: room.id.to_string(),
        name: standing.name.to_string(),
        joined_at,
        finished_at: finished_at_ms,
        score: standing.score,
        rank: standing.rank,
        players: room.players.len(),
    };
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(seat_key(room.id, standing.player));
    item.insert(TTL.to_owned(), n(ttl));
    Ok(item)
}

/// The key of a seat, in the table and in the index.
fn seat_key(game_id: GameId, player_id: PlayerId) -> Item {
    let mut item = key(game(game_id), player(player_id));
    item.extend([
        ("GSI1PK".to_owned(), s(player(player_id))),
        ("GSI1SK".to_owned(), s(game(game_id))),
        ("playerId".to_owned(), s(player_id.to_string())),
    ]);
    item
}
