//! A game's room and its secret: read in one query, and written under optimistic locking.

use std::sync::Arc;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::builders::PutBuilder;
use aws_sdk_dynamodb::types::{ReturnValuesOnConditionCheckFailure, TransactWriteItem};
use domain::game::{Game, GameId, Player, Room, Secret, Word};
use serde::{Deserialize, Serialize};

use super::keys::{
    ARCHIVE_TTL_S, CREATED_PREFIX, GAME_TTL_S, Item, LISTENER_PREFIX, LIVE_PREFIX, META, PARTITION_KEY, SECRET,
    SORT_KEY, TTL, UNVISITED_TTL_S, WAITING, WORDS, expires, game, key, n, player, s,
};
use super::listeners::{LISTENERS_MAX, Listener};
use super::rows::{AnswerRow, MetaRow, word};
use store_base::{StoreError, Table, TransactionOutcome};

/// A day, in milliseconds.
const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// How fresh a read has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The last write is in it. For whoever decides.
    Consistent,
    /// It may be some milliseconds old, and costs half. For relaying.
    Eventual,
}

/// A game and who listens to it, as it lies in the table.
#[derive(Debug, Clone)]
pub struct Live {
    /// What anybody may see.
    pub room: Room,
    /// The secret part of the game. If another request wrote between the two reads, it is of
    /// another moment than the room.
    pub secret: Secret,
    /// Who gets its messages.
    pub listeners: Vec<Listener>,
}

/// What became of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersistOutcome {
    /// It is the room now.
    Yes,
    /// Somebody else has changed the room since it was read. Nothing was written.
    Lost,
}

/// Reads and writes rooms. Its requests are `GetItem`, `Query`, `PutItem` and `TransactWriteItems`
/// of puts and deletes.
#[derive(Debug, Clone)]
pub struct Rooms {
    table: Table,
}

#[derive(Debug, Serialize, Deserialize)]
struct WordsRow {
    words: Vec<String>,
}

impl Rooms {
    /// The rooms in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// The room alone; `None`: there is no such game. Consistent.
    pub async fn room(&self, game_id: GameId) -> Result<Option<Room>, StoreError> {
        let key = key(game(game_id), META);
        let request = self.table.get_item(key).consistent_read(true);
        request.send().await?.item.map(read_room).transpose()
    }

    /// All that a message needs, in one query of bounded size; `None`: there is no such game.
    pub async fn live(&self, game_id: GameId, freshness: Freshness) -> Result<Option<Live>, StoreError> {
        let (mut room, mut secret, mut listeners) = (None, None, Vec::new());
        let query = self.table.query_between([PARTITION_KEY, SORT_KEY], game(game_id), LIVE_PREFIX, META);
        // From the end: room and secret come before the listeners, and are there however many those
        // are. All of them fit a page.
        let query = query.scan_index_forward(false).limit(i32::try_from(LISTENERS_MAX + 2).unwrap_or(i32::MAX));
        let page = query.consistent_read(freshness == Freshness::Consistent).send().await?;
        for item in page.items.unwrap_or_default() {
            let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).map_or("", String::as_str);
            match sort {
                META => room = Some(read_room(item)?),
                SECRET => {
                    let row: AnswerRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
                    secret = Some(Secret::try_from(row)?);
                }
                _ if sort.starts_with(LISTENER_PREFIX) => listeners.push(Listener::read(item)?),
                _ => {}
            }
        }
        match (room, secret) {
            (Some(room), Some(secret)) => Ok(Some(Live { room, secret, listeners })),
            // A connection may outlive its game by some hours.
            (None, _) => Ok(None),
            (Some(_), None) => Err(StoreError::unreadable("a game without its answer")),
        }
    }

    /// The words that a game brought along. Most bring none, and are not asked for them. They never
    /// change.
    pub async fn words(&self, room: &Room) -> Result<Arc<[Word]>, StoreError> {
        if room.custom_words == 0 {
            return Ok(Arc::default());
        }
        let request = self.table.get_item(key(game(room.id), WORDS));
        // Consistent, for it is asked once and remembered: of a game that has just been made, a
        // replica may know nothing yet.
        let item = request.consistent_read(true).send().await?.item;
        let item = item.ok_or_else(|| StoreError::unreadable("a game without its words"))?;
        let row: WordsRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        row.words.iter().map(|text| word(text)).collect()
    }

    /// Deletes everything in a game's partition.
    pub async fn delete(&self, game_id: GameId) -> Result<(), StoreError> {
        let sort_keys = self.table.sort_keys([PARTITION_KEY, SORT_KEY], &game(game_id)).await?;
        self.table.batch_delete(sort_keys.into_iter().map(|sort| key(game(game_id), sort))).await
    }

    /// Writes a game that is new.
    pub async fn create(&self, new: &Game) -> Result<PersistOutcome, StoreError> {
        self.transact(self.creation(new)?).await
    }

    /// Writes the changes of a game since it was read as `before`, all or nothing.
    pub async fn persist(&self, before: &Game, after: &Game) -> Result<PersistOutcome, StoreError> {
        let mut writes = self.change(before, after)?;
        // One alone needs no transaction, which costs double.
        if writes.len() > 1 { self.transact(writes).await } else { self.put(writes.remove(0)).await }
    }

    /// The same, together with the game that goes on from here.
    pub async fn persist_with_rematch(
        &self,
        before: &Game,
        after: &Game,
        next: &Game,
    ) -> Result<PersistOutcome, StoreError> {
        let mut writes = self.change(before, after)?;
        writes.extend(self.creation(next)?);
        self.transact(writes).await
    }

    fn creation(&self, new: &Game) -> Result<Vec<Write>, StoreError> {
        let room = &new.room;
        // Stops a game from being made over another one.
        let meta = self.table.put(meta(room)?).condition_expression("attribute_not_exists(#key)");
        let mut writes = vec![
            Write::Put(meta.expression_attribute_names("#key", PARTITION_KEY)),
            Write::Put(self.table.put(answer(new)?)),
        ];
        writes.extend(room.players.iter().map(|player| Write::Put(self.table.put(seat(room, player)))));
        if !new.words.is_empty() {
            writes.push(Write::Put(self.table.put(words(new)?)));
        }
        Ok(writes)
    }

    fn change(&self, before: &Game, after: &Game) -> Result<Vec<Write>, StoreError> {
        let room = &after.room;
        // Stops two who decide at the same time from overwriting each other: the slower one finds
        // another version than it has read, and decides again.
        let meta = self.table.put(meta(room)?).condition_expression("version = :read");
        let mut writes = vec![Write::Put(meta.expression_attribute_values(":read", n(before.room.version)))];
        // An item's life counts from its own write: what the room cannot do without is written
        // again on each day on which it changes.
        let is_new_day = before.room.updated_at_ms / DAY_MS != room.updated_at_ms / DAY_MS;
        // The first player who joins extends the TTL of all items of the game.
        let is_visited = before.room.is_unvisited() && !room.is_unvisited();
        let is_new_day = is_new_day || is_visited;
        if is_new_day || before.secret != after.secret {
            writes.push(Write::Put(self.table.put(answer(after)?)));
        }
        if is_new_day && !after.words.is_empty() {
            writes.push(Write::Put(self.table.put(words(after)?)));
        }
        let came = room.players.iter().filter(|player| is_visited || before.room.player(player.id).is_none());
        writes.extend(came.map(|player| Write::Put(self.table.put(seat(room, player)))));
        for gone in before.room.players.iter().filter(|player| room.player(player.id).is_none()) {
            let key = key(game(room.id), player(gone.id));
            writes.push(Write::Delete(self.table.delete(key)));
        }
        Ok(writes)
    }

    async fn put(&self, write: Write) -> Result<PersistOutcome, StoreError> {
        let Write::Put(put) = write else { return self.transact(vec![write]).await };
        let put = put.build().map_err(|error| StoreError::Refused(error.to_string()))?;
        let wanted = put.item.clone();
        let request = self
            .table
            .put_item(put.item)
            .set_condition_expression(put.condition_expression)
            .set_expression_attribute_names(put.expression_attribute_names)
            .set_expression_attribute_values(put.expression_attribute_values)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match request.send().await {
            Ok(_) => Ok(PersistOutcome::Yes),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failure)) => Ok(outcome(&wanted, failure.item())),
                _ => Err(error.into()),
            },
        }
    }

    async fn transact(&self, writes: Vec<Write>) -> Result<PersistOutcome, StoreError> {
        let writes = writes.into_iter().map(Write::build).collect::<Result<Vec<_>, _>>()?;
        let wanted = writes.first().and_then(|first| first.put()).map(|put| put.item.clone()).unwrap_or_default();
        match self.table.transact(writes).await? {
            TransactionOutcome::Written => Ok(PersistOutcome::Yes),
            TransactionOutcome::ConditionFailed { item, .. } => Ok(outcome(&wanted, item.as_ref())),
            TransactionOutcome::Conflict => Err(StoreError::conflict()),
        }
    }
}

/// A part of a transaction that is still to be built.
enum Write {
    Put(PutBuilder),
    Delete(aws_sdk_dynamodb::types::builders::DeleteBuilder),
}

impl Write {
    fn build(self) -> Result<TransactWriteItem, StoreError> {
        let write = TransactWriteItem::builder();
        Ok(match self {
            Self::Put(put) => {
                let put = put.return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
                write.put(put.build()?)
            }
            Self::Delete(delete) => write.delete(delete.build()?),
        }
        .build())
    }
}

/// What a condition that did not hold means. When the room that stands is the very one that was to
/// be written, it was written: the SDK sends a request again whose reply got lost, and then meets
/// its own work.
fn outcome(wanted: &Item, stands: Option<&Item>) -> PersistOutcome {
    if stands == Some(wanted) { PersistOutcome::Yes } else { PersistOutcome::Lost }
}

pub(super) fn read_room(item: Item) -> Result<Room, StoreError> {
    let row: MetaRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
    row.try_into()
}

fn item(room: &Room, sort: &str, row: impl Serialize) -> Result<Item, StoreError> {
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(key(game(room.id), sort));
    item.insert(TTL.to_owned(), n(expires(room.updated_at_ms, room_ttl_s(room, GAME_TTL_S))));
    Ok(item)
}

/// How long an item stays after its write: `visited_s`, once somebody has come to the game.
fn room_ttl_s(room: &Room, visited_s: u64) -> u64 {
    if room.is_unvisited() { UNVISITED_TTL_S } else { visited_s }
}

fn meta(room: &Room) -> Result<Item, StoreError> {
    let mut item = item(room, META, MetaRow::from(room))?;
    if room.is_listed() {
        item.insert("GSI2PK".to_owned(), s(WAITING));
        item.insert("GSI2SK".to_owned(), s(format!("{CREATED_PREFIX}{:013}", room.created_at_ms)));
    }
    Ok(item)
}

fn answer(game: &Game) -> Result<Item, StoreError> {
    let item = item(&game.room, SECRET, AnswerRow::from(&game.secret))?;
    Ok(with_game_ttl(item, &game.room))
}

fn words(game: &Game) -> Result<Item, StoreError> {
    let row = WordsRow { words: game.words.iter().map(ToString::to_string).collect() };
    Ok(with_game_ttl(item(&game.room, WORDS, row)?, &game.room))
}

/// Stays a day longer than the room, which may change until the day's end without it.
fn with_game_ttl(mut item: Item, room: &Room) -> Item {
    item.insert(TTL.to_owned(), n(expires(room.updated_at_ms, room_ttl_s(room, ARCHIVE_TTL_S))));
    item
}

/// That a player is in a game, for the index that finds a player's games.
fn seat(room: &Room, who: &Player) -> Item {
    let mut item = key(game(room.id), player(who.id));
    item.extend([
        ("GSI1PK".to_owned(), s(player(who.id))),
        ("GSI1SK".to_owned(), s(game(room.id))),
        ("playerId".to_owned(), s(who.id.to_string())),
        ("gameId".to_owned(), s(room.id.to_string())),
        ("name".to_owned(), s(who.name.to_string())),
        ("joinedAt".to_owned(), n(who.joined_at_ms)),
        (TTL.to_owned(), n(expires(room.updated_at_ms, room_ttl_s(room, GAME_TTL_S)))),
    ]);
    item
}
