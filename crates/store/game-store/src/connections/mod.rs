//! Which player a connection is, which connection a player has, and who of them listens to a game.
//!
//! A connection that has not said hello is an item of its own partition, and no part of its game:
//! sockets that are opened and stay silent cost the game nothing, however many there are.

mod ended;
mod of_player;

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::game::{GameId, Participant, PlayerId, PlayerName, Room};
use serde::Deserialize;

use crate::keys::{
    CONN, CONNECTION, CONNECTION_TTL_S, Item, LISTENER_PREFIX, LISTENER_PREFIX_END, PARTITION_KEY, SILENT_TTL_S,
    SORT_KEY, TICKET, TTL, connection, expires, game, key, listener, n, player, s, ticket,
};
use crate::listeners::{LISTENERS_MAX, Listener, MessageKind, Role, slot_for};
use crate::rows::player_id;
use ended::is_open;
use of_player::PlayerConnectionRow;
use store_base::Retry;
use store_base::unless_condition_failed;
use store_base::{StoreError, Table, TransactionOutcome};

/// Whom a connection belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Who.
    pub player_id: PlayerId,
    /// Where.
    pub game_id: GameId,
    /// As what.
    pub role: Role,
    /// By what name.
    pub name: PlayerName,
    /// Since when, Unix milliseconds.
    pub connected_at_ms: u64,
    /// Its place among the game's listeners, once it has said hello.
    slot: Option<String>,
}

impl Connection {
    /// Who that is in the game.
    pub fn who(&self) -> Participant {
        match self.role {
            Role::Player => Participant::Player(self.player_id),
            Role::Spectator => Participant::Spectator(self.player_id, self.name.clone()),
        }
    }

    /// Whether it has said hello.
    pub fn is_greeted(&self) -> bool {
        self.slot.is_some()
    }
}

/// A connection that begins.
#[derive(Debug, Clone, Copy)]
pub struct NewConnection<'a> {
    /// API Gateway's name for it.
    pub connection_id: &'a str,
    /// Who.
    pub player_id: PlayerId,
    /// Where.
    pub game_id: GameId,
    /// As what.
    pub role: Role,
    /// By what name.
    pub name: &'a PlayerName,
}

/// What became of a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GreetOutcome {
    /// From here on it gets the game's messages.
    Yes,
    /// All places are taken.
    NoPlace,
    /// It has ended, or has been replaced.
    Ended,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConnectionRow {
    player_id: String,
    player_name: String,
    game_id: String,
    role: Role,
    connected_at: u64,
    #[serde(default)]
    slot: Option<String>,
}

/// Stores the connections. Its requests are `GetItem`, `Query`, `PutItem`, `UpdateItem`,
/// `DeleteItem`, and `TransactWriteItems` of those.
#[derive(Debug, Clone)]
pub struct Connections {
    table: Table,
}

impl Connections {
    /// The connections in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Whom a connection belongs to; `None` once it has ended or has been replaced. Consistent.
    pub async fn get(&self, connection_id: &str) -> Result<Option<Connection>, StoreError> {
        let key = key(connection(connection_id), CONN);
        let request = self.table.get_item(key).consistent_read(true);
        request.send().await?.item.filter(is_open).map(Connection::read).transpose()
    }

    /// Takes a ticket for a connection. `false`: another connection has used it.
    pub async fn use_ticket(&self, ticket_id: &str, connection_id: &str, now_ms: u64) -> Result<bool, StoreError> {
        let mut item = key(ticket(ticket_id), TICKET);
        item.insert("connectionId".to_owned(), s(connection_id));
        item.insert(TTL.to_owned(), n(expires(now_ms, SILENT_TTL_S)));
        let put = self.table.put_item(item);
        // Stops a ticket from opening a second socket; the first one may come again, when the reply
        // to it got lost.
        let put = put
            .condition_expression("attribute_not_exists(#key) OR connectionId = :own")
            .expression_attribute_names("#key", PARTITION_KEY)
            .expression_attribute_values(":own", s(connection_id));
        Ok(unless_condition_failed(put.send().await)?.is_some())
    }

    /// Remembers whose a connection is that has just begun. It gets nothing yet, and replaces
    /// nothing.
    pub async fn connect(&self, new: &NewConnection<'_>, now_ms: u64) -> Result<(), StoreError> {
        let NewConnection { connection_id, player_id, game_id, role, name } = *new;
        let mut item = key(connection(connection_id), CONN);
        item.extend(whose(connection_id, player_id, name, game_id));
        item.insert("role".to_owned(), s(role.as_str()));
        item.insert("connectedAt".to_owned(), n(now_ms));
        item.insert(TTL.to_owned(), n(expires(now_ms, SILENT_TTL_S)));
        self.table.put_item(item).send().await?;
        Ok(())
    }

    /// Takes hello of a connection: it becomes the one of its player, in place of any other, and
    /// one of the listeners of its game. `listeners` and `room` are the game's, as they were read.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when others were faster each time.
    pub async fn greet(
        &self,
        connection_id: &str,
        who: &Connection,
        listeners: &[Listener],
        room: &Room,
        now_ms: u64,
    ) -> Result<GreetOutcome, StoreError> {
        let mut listeners = listeners.to_vec();
        let mut retry = Retry::new();
        loop {
            let Some((slot, taken)) = slot_for(&listeners, room, connection_id, who) else {
                return Ok(GreetOutcome::NoPlace);
            };
            let mut older = self.of_player(who.player_id).await?;
            if let Some(open) = older.as_mut().filter(|older| older.is_open()) {
                self.read_limits(open, &listeners).await?;
            }
            match self.put(connection_id, who, &slot, taken, older.as_ref(), now_ms).await {
                Ok(true) => {
                    self.forget_older(older, connection_id, who.game_id, &slot).await?;
                    return Ok(GreetOutcome::Yes);
                }
                Ok(false) | Err(StoreError::Busy(_)) => {}
                Err(error) => return Err(error),
            }
            if self.get(connection_id).await?.is_none() {
                return Ok(GreetOutcome::Ended);
            }
            if !retry.wait().await {
                return Err(StoreError::Busy("other connections took the slot each time".to_owned()));
            }
            listeners = self.listeners(who.game_id).await?;
        }
    }

    async fn listeners(&self, game_id: GameId) -> Result<Vec<Listener>, StoreError> {
        let names = [PARTITION_KEY, SORT_KEY];
        let query = self.table.query_between(names, game(game_id), LISTENER_PREFIX, LISTENER_PREFIX_END);
        let limit = i32::try_from(LISTENERS_MAX).unwrap_or(i32::MAX);
        let page = query.consistent_read(true).limit(limit).send().await?;
        page.items.unwrap_or_default().into_iter().map(Listener::read).collect()
    }

    /// `false`: the player's connection is no longer `older`, the slot no longer `taken`'s, or the
    /// connection has ended.
    async fn put(
        &self,
        connection_id: &str,
        who: &Connection,
        slot: &str,
        taken: Option<&Listener>,
        older: Option<&PlayerConnectionRow>,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        let mut common = whose(connection_id, who.player_id, &who.name, who.game_id);
        common.insert("slot".to_owned(), s(slot));
        common.insert(TTL.to_owned(), n(expires(now_ms, CONNECTION_TTL_S)));
        let item = |key: Item| key.into_iter().chain(common.clone()).collect::<Item>();
        let mut of_player = item(key(player(who.player_id), CONNECTION));
        of_player.insert("connectedAt".to_owned(), n(who.connected_at_ms));
        let mut listens = item(key(game(who.game_id), listener(slot)));
        listens.insert("role".to_owned(), s(who.role.as_str()));
        if let Some(older) = older.filter(|older| older.is_other(connection_id)) {
            listens.insert("replaces".to_owned(), s(&*older.connection_id));
        }
        // Stops a player who comes back from having a new allowance.
        for what in MessageKind::ALL {
            let until_ms = older.map_or(0, |older| older.until_ms(what, slot));
            listens.insert(what.attribute().to_owned(), n(until_ms));
        }

        // Stops two connections of one player that say hello at once from both staying: the second
        // finds the first in the place of the one it has read, and replaces that.
        let of_player = self.replace(of_player, older.map(|older| &*older.connection_id));
        // Stops two listeners from taking one slot.
        let listens = self.replace(listens, taken.map(|taken| &*taken.connection_id));
        // Stops a hello that comes after its connection's end from making a listener of it.
        let greeted = self
            .table
            .update(key(connection(connection_id), CONN))
            .update_expression("SET slot = :slot, #ttl = :ttl")
            .condition_expression("attribute_exists(#key) AND attribute_not_exists(endedAt)")
            .expression_attribute_names("#key", PARTITION_KEY)
            .expression_attribute_names("#ttl", TTL)
            .expression_attribute_values(":slot", s(slot))
            .expression_attribute_values(":ttl", n(expires(now_ms, CONNECTION_TTL_S)));
        let write = TransactWriteItem::builder;
        let mut writes = vec![
            write().put(of_player.build()?).build(),
            write().put(listens.build()?).build(),
            write().update(greeted.build()?).build(),
        ];
        if let Some(older) = older.filter(|older| older.is_other(connection_id)) {
            let key = key(connection(&older.connection_id), CONN);
            writes.push(write().delete(self.table.delete(key).build()?).build());
        }
        match self.table.transact(writes).await? {
            TransactionOutcome::Written => Ok(true),
            TransactionOutcome::ConditionFailed { .. } => Ok(false),
            TransactionOutcome::Conflict => Err(StoreError::conflict()),
        }
    }

    /// Puts an item in the place of the one of that connection, or where there is none.
    fn replace(&self, item: Item, older: Option<&str>) -> aws_sdk_dynamodb::types::builders::PutBuilder {
        let put = self.table.put(item);
        match older {
            None => {
                put.condition_expression("attribute_not_exists(#key)").expression_attribute_names("#key", PARTITION_KEY)
            }
            Some(older) => {
                put.condition_expression("connectionId = :older").expression_attribute_values(":older", s(older))
            }
        }
    }

    /// Takes the place of an older connection among other listeners away: in another game, or in
    /// another role.
    async fn forget_older(
        &self,
        older: Option<PlayerConnectionRow>,
        connection_id: &str,
        game_id: GameId,
        slot: &str,
    ) -> Result<(), StoreError> {
        let Some(older) = older.filter(|older| older.is_other(connection_id)) else { return Ok(()) };
        let older_game: GameId = older.game_id.parse().map_err(StoreError::unreadable)?;
        if older_game == game_id && older.slot == slot {
            return Ok(());
        }
        self.delete_own(key(game(older_game), listener(&older.slot)), &older.connection_id).await.map(drop)
    }

    /// Forgets a connection. `true`: it was its player's connection until now, so the player is
    /// away.
    pub async fn disconnect(&self, connection_id: &str, who: &Connection, now_ms: u64) -> Result<bool, StoreError> {
        let old = self.end(connection_id, &who.who(), who.game_id, now_ms).await?;
        // It may have said hello since it was read.
        let old = old.filter(is_open).map(Connection::read).transpose()?;
        let slot = old.and_then(|old| old.slot).or_else(|| who.slot.clone());
        let Some(slot) = slot else { return Ok(false) };
        self.end_listener(who.game_id, &slot, who.player_id, connection_id, now_ms).await
    }

    /// Forgets a listener's connection.
    pub async fn forget(&self, game_id: GameId, gone: &Listener, now_ms: u64) -> Result<(), StoreError> {
        self.end(&gone.connection_id, &gone.who, game_id, now_ms).await?;
        self.end_listener(game_id, &gone.slot, gone.who.id(), &gone.connection_id, now_ms).await.map(drop)
    }

    /// Deletes an item while it is that connection's.
    async fn delete_own(&self, key: Item, connection_id: &str) -> Result<bool, StoreError> {
        let delete = self.table.delete_item(key);
        // Stops the late end of an old connection from taking the new one's place away.
        let delete =
            delete.condition_expression("connectionId = :own").expression_attribute_values(":own", s(connection_id));
        Ok(unless_condition_failed(delete.send().await)?.is_some())
    }

    /// Takes talk or guesses of a listener, up to `until_ms`. `false`: another function has taken
    /// some at the same moment, or the connection has ended.
    pub async fn take(
        &self,
        game_id: GameId,
        who: &Listener,
        what: MessageKind,
        until_ms: u64,
    ) -> Result<bool, StoreError> {
        let read_ms = who.until_ms(what);
        let update = self
            .table
            .update_item(key(game(game_id), listener(&who.slot)))
            .update_expression("SET #until = :until")
            .expression_attribute_names("#until", what.attribute())
            .expression_attribute_values(":until", n(until_ms))
            .expression_attribute_values(":own", s(&*who.connection_id));
        // Stops guesses that go to several functions at once from all being taken out of one
        // allowance.
        let update = update
            .condition_expression("connectionId = :own AND #until = :read")
            .expression_attribute_values(":read", n(read_ms));
        Ok(unless_condition_failed(update.send().await)?.is_some())
    }
}

impl Connection {
    fn read(item: Item) -> Result<Self, StoreError> {
        let row: ConnectionRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        Ok(Self {
            player_id: player_id(&row.player_id)?,
            game_id: row.game_id.parse().map_err(StoreError::unreadable)?,
            role: row.role,
            name: PlayerName::new(&row.player_name).map_err(StoreError::unreadable)?,
            connected_at_ms: row.connected_at,
            slot: row.slot,
        })
    }
}

fn whose(connection_id: &str, player_id: PlayerId, name: &PlayerName, game_id: GameId) -> Item {
    Item::from([
        ("connectionId".to_owned(), s(connection_id)),
        ("playerId".to_owned(), s(player_id.to_string())),
        ("playerName".to_owned(), s(name.as_str())),
        ("gameId".to_owned(), s(game_id.to_string())),
    ])
}
