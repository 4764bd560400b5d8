//! Who is connected: which player a connection is, which connection a player has, who listens to a game.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{Delete, Put, TransactWriteItem};
use domain::game::{GameId, Participant, PlayerId, PlayerName, SPECTATORS_MAX};
use serde::{Deserialize, Serialize};

use super::keys::{
    CONN, CONNECTION, CONNECTION_TTL_S, Item, PARTITION_KEY, TTL, connection, expires, game, key, listener, n, player,
    s,
};
use super::rows::player_id;
use crate::StoreError;
use crate::error::canceled;

/// How often a connection that meets another one of the same player tries again.
const TRIES_MAX: usize = 5;

/// What somebody is in a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Has a seat.
    Player,
    /// Looks on.
    Spectator,
}

impl Role {
    /// Reads what [`Role::as_str`] writes.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Player, Self::Spectator].into_iter().find(|role| role.as_str() == text)
    }

    /// As it is written: `player`, `spectator`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::Spectator => "spectator",
        }
    }
}

/// Whom a connection belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Who.
    pub player_id: PlayerId,
    /// Where.
    pub game_id: GameId,
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

/// How many look on.
pub fn spectators(listeners: &[Listener]) -> usize {
    listeners.iter().filter(|listener| listener.looks_on()).count()
}

/// Whether somebody may look on: beside the others there is a place. Who comes back takes no second one.
pub fn may_look_on(listeners: &[Listener], player_id: PlayerId) -> bool {
    let others = listeners.iter().filter(|listener| listener.looks_on() && listener.who.id() != player_id);
    others.count() < SPECTATORS_MAX
}

/// Somebody who gets a game's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// Where the messages go.
    pub connection_id: String,
    /// Who, and by what name.
    pub who: Participant,
    /// Whether hello has been said. Before, the handshake may not be over, and a message to it would pass for gone.
    pub is_greeted: bool,
    /// The connection that this one took the place of.
    pub replaces: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConnectionRow {
    player_id: String,
    game_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListenerRow {
    connection_id: String,
    player_id: String,
    player_name: String,
    role: Role,
    #[serde(default)]
    greeted: bool,
    #[serde(default)]
    replaces: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlayerConnectionRow {
    connection_id: String,
    game_id: String,
}

/// The connection that a player has had until now.
struct Older {
    connection_id: String,
    game_id: GameId,
}

impl Listener {
    fn looks_on(&self) -> bool {
        self.is_greeted && self.who.player().is_none()
    }

    pub(crate) fn read(item: Item) -> Result<Self, StoreError> {
        let row: ListenerRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        let player_id = player_id(&row.player_id)?;
        let who = match row.role {
            Role::Player => Participant::Player(player_id),
            Role::Spectator => {
                let name = PlayerName::new(&row.player_name).map_err(StoreError::unreadable)?;
                Participant::Spectator(player_id, name)
            }
        };
        Ok(Self { connection_id: row.connection_id, who, is_greeted: row.greeted, replaces: row.replaces })
    }
}

/// Keeps who is connected. Its requests are `GetItem`, `UpdateItem` and `TransactWriteItems` of puts and deletes.
#[derive(Debug, Clone)]
pub struct Connections {
    client: Client,
    table: String,
}

impl Connections {
    /// The connections in `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }

    /// Whom a connection belongs to; `None` once it has ended or has been replaced. Consistent.
    pub async fn get(&self, connection_id: &str) -> Result<Option<Connection>, StoreError> {
        let key = key(connection(connection_id), CONN);
        let request = self.client.get_item().table_name(&self.table).set_key(Some(key)).consistent_read(true);
        let Some(item) = request.send().await?.item else { return Ok(None) };
        let row: ConnectionRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        let game_id = row.game_id.parse().map_err(StoreError::unreadable)?;
        Ok(Some(Connection { player_id: player_id(&row.player_id)?, game_id }))
    }

    /// Makes a connection the one of its player, in place of any other.
    pub async fn connect(&self, new: &NewConnection<'_>, now_ms: u64) -> Result<(), StoreError> {
        for _ in 0..TRIES_MAX {
            let older = self.of_player(new.player_id).await?;
            if self.put(new, now_ms, older.as_ref()).await? {
                return Ok(());
            }
        }
        Err(StoreError::Busy("a player's connections replace each other without end".to_owned()))
    }

    /// Whether a player has a connection to that game now. Consistent.
    pub async fn is_connected(&self, game_id: GameId, player_id: PlayerId) -> Result<bool, StoreError> {
        Ok(self.of_player(player_id).await?.is_some_and(|connection| connection.game_id == game_id))
    }

    async fn of_player(&self, player_id: PlayerId) -> Result<Option<Older>, StoreError> {
        let key = key(player(player_id), CONNECTION);
        let request = self.client.get_item().table_name(&self.table).set_key(Some(key)).consistent_read(true);
        let Some(item) = request.send().await?.item else { return Ok(None) };
        let row: PlayerConnectionRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        let game_id = row.game_id.parse().map_err(StoreError::unreadable)?;
        Ok(Some(Older { connection_id: row.connection_id, game_id }))
    }

    /// `false`: the player's connection is no longer `older`.
    async fn put(&self, new: &NewConnection<'_>, now_ms: u64, older: Option<&Older>) -> Result<bool, StoreError> {
        let NewConnection { connection_id, player_id, game_id, role, name } = *new;
        let common = [
            ("connectionId".to_owned(), s(connection_id)),
            ("playerId".to_owned(), s(player_id.to_string())),
            ("playerName".to_owned(), s(name.as_str())),
            ("gameId".to_owned(), s(game_id.to_string())),
            (TTL.to_owned(), n(expires(now_ms, CONNECTION_TTL_S))),
        ];
        let item = |key: Item| key.into_iter().chain(common.clone()).collect::<Item>();
        let whose = item(key(connection(connection_id), CONN));
        let mut of_player = item(key(player(player_id), CONNECTION));
        of_player.insert("connectedAt".to_owned(), n(now_ms));
        of_player.insert("lastActiveAt".to_owned(), n(now_ms));
        let mut listens = item(key(game(game_id), listener(connection_id)));
        listens.insert("role".to_owned(), s(role.as_str()));
        if let Some(older) = older {
            listens.insert("replaces".to_owned(), s(&*older.connection_id));
        }

        let put = |item| Put::builder().table_name(&self.table).set_item(Some(item));
        // Stops two connections of one player that come at once from both staying: the second finds the first in the place
        // of the one it has read, and replaces that.
        let of_player = match older {
            None => put(of_player)
                .condition_expression("attribute_not_exists(#key)")
                .expression_attribute_names("#key", PARTITION_KEY),
            Some(older) => put(of_player)
                .condition_expression("connectionId = :older")
                .expression_attribute_values(":older", s(&*older.connection_id)),
        };
        let mut writes = vec![write_put(of_player)?, write_put(put(whose))?, write_put(put(listens))?];
        if let Some(older) = older.filter(|older| older.connection_id != connection_id) {
            writes.push(self.delete(key(connection(&older.connection_id), CONN))?);
            writes.push(self.delete(key(game(older.game_id), listener(&older.connection_id)))?);
        }
        self.transact(writes).await
    }

    /// Takes hello of a connection: from here on it gets its game's messages. `false`: it has ended or has been replaced.
    pub async fn greet(&self, game_id: GameId, connection_id: &str) -> Result<bool, StoreError> {
        let request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key(game(game_id), listener(connection_id))))
            .update_expression("SET greeted = :true")
            .expression_attribute_values(":true", aws_sdk_dynamodb::types::AttributeValue::Bool(true))
            // Stops a hello that comes after its connection's end from bringing it back as half an item.
            .condition_expression("attribute_exists(#key)")
            .expression_attribute_names("#key", PARTITION_KEY);
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(error.into()),
            },
        }
    }

    /// Forgets a connection. `true`: it was its player's connection until now, so the player is away.
    pub async fn disconnect(&self, connection_id: &str, who: &Connection) -> Result<bool, StoreError> {
        let own = || -> Result<Vec<TransactWriteItem>, StoreError> {
            Ok(vec![
                self.delete(key(connection(connection_id), CONN))?,
                self.delete(key(game(who.game_id), listener(connection_id)))?,
            ])
        };
        let of_player = Delete::builder()
            .table_name(&self.table)
            .set_key(Some(key(player(who.player_id), CONNECTION)))
            // Stops the late end of an old connection from taking the new one's place away.
            .condition_expression("connectionId = :own")
            .expression_attribute_values(":own", s(connection_id));
        let of_player = of_player.build().map_err(|error| StoreError::Refused(error.to_string()))?;
        let mut writes = own()?;
        writes.push(TransactWriteItem::builder().delete(of_player).build());
        if self.transact(writes).await? {
            return Ok(true);
        }
        self.transact(own()?).await?;
        Ok(false)
    }

    fn delete(&self, key: Item) -> Result<TransactWriteItem, StoreError> {
        let delete = Delete::builder().table_name(&self.table).set_key(Some(key)).build();
        let delete = delete.map_err(|error| StoreError::Refused(error.to_string()))?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }

    /// `false`: a condition did not hold, and nothing was written.
    async fn transact(&self, writes: Vec<TransactWriteItem>) -> Result<bool, StoreError> {
        match self.client.transact_write_items().set_transact_items(Some(writes)).send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(why)) => canceled(why).map(|()| false),
                _ => Err(error.into()),
            },
        }
    }
}

fn write_put(put: aws_sdk_dynamodb::types::builders::PutBuilder) -> Result<TransactWriteItem, StoreError> {
    let put = put.build().map_err(|error| StoreError::Refused(error.to_string()))?;
    Ok(TransactWriteItem::builder().put(put).build())
}
