//! Which connection a player has. The last one leaves a tombstone with the limits of its messages.

use domain::game::{GameId, PlayerId};
use serde::Deserialize;
use store_base::{StoreError, unless_condition_failed};

use super::Connections;
use crate::keys::{CONNECTION, SILENT_TTL_S, TTL, expires, game, key, listener, n, player, s};
use crate::listeners::{Listener, MessageKind};

/// The connection of a player, or the tombstone of the last one.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PlayerConnectionRow {
    pub(super) connection_id: String,
    pub(super) game_id: String,
    pub(super) slot: String,
    #[serde(default)]
    ended_at: Option<u64>,
    /// The listener's, once the connection has ended.
    #[serde(default)]
    talk_until: u64,
    /// The same of the guesses.
    #[serde(default)]
    guess_until: u64,
}

impl PlayerConnectionRow {
    pub(super) fn is_open(&self) -> bool {
        self.ended_at.is_none()
    }

    /// Whether the connection is open, and another one.
    pub(super) fn is_other(&self, connection_id: &str) -> bool {
        self.is_open() && self.connection_id != connection_id
    }

    /// Until when messages are taken of a new listener in that slot.
    pub(super) fn until_ms(&self, what: MessageKind, slot: &str) -> u64 {
        match what {
            // Players and spectators have different limits. A spectator who takes a seat may talk.
            MessageKind::Talk if self.slot.get(..1) != slot.get(..1) => 0,
            MessageKind::Talk => self.talk_until,
            MessageKind::Guess => self.guess_until,
        }
    }
}

impl Connections {
    /// Whether a player has a connection to that game now. Consistent.
    pub async fn is_connected(&self, game_id: GameId, player_id: PlayerId) -> Result<bool, StoreError> {
        let current = self.of_player(player_id).await?.filter(PlayerConnectionRow::is_open);
        Ok(current.is_some_and(|current| current.game_id == game_id.to_string()))
    }

    pub(super) async fn of_player(&self, player_id: PlayerId) -> Result<Option<PlayerConnectionRow>, StoreError> {
        let key = key(player(player_id), CONNECTION);
        let request = self.table.get_item(key).consistent_read(true);
        let item = request.send().await?.item;
        item.map(|item| serde_dynamo::from_item(item).map_err(StoreError::unreadable)).transpose()
    }

    /// Reads until when the messages of an open connection are taken. `listeners` are those of the
    /// player's game, which may be another one than the connection's.
    pub(super) async fn read_limits(
        &self,
        open: &mut PlayerConnectionRow,
        listeners: &[Listener],
    ) -> Result<(), StoreError> {
        let known = listeners.iter().find(|listener| listener.connection_id == open.connection_id).cloned();
        let listener = match known {
            Some(listener) => Some(listener),
            None => {
                let game_id = open.game_id.parse().map_err(StoreError::unreadable)?;
                self.listener(game_id, &open.slot, &open.connection_id).await?
            }
        };
        if let Some(listener) = listener {
            open.talk_until = listener.talk_until_ms;
            open.guess_until = listener.guess_until_ms;
        }
        Ok(())
    }

    /// The listener in a slot while it is that connection's. Consistent.
    async fn listener(&self, game_id: GameId, slot: &str, connection_id: &str) -> Result<Option<Listener>, StoreError> {
        let request = self.table.get_item(key(game(game_id), listener(slot))).consistent_read(true);
        let found = request.send().await?.item.map(Listener::read).transpose()?;
        Ok(found.filter(|found| found.connection_id == connection_id))
    }

    /// Ends a player's connection and deletes its listener. The tombstone keeps the listener's
    /// limits for the player's next connection. `true`: it was the player's connection until now.
    pub(super) async fn end_listener(
        &self,
        game_id: GameId,
        slot: &str,
        player_id: PlayerId,
        connection_id: &str,
        now_ms: u64,
    ) -> Result<bool, StoreError> {
        let listens = self.listener(game_id, slot, connection_id).await?;
        let mut ended = key(player(player_id), CONNECTION);
        ended.insert("connectionId".to_owned(), s(connection_id));
        ended.insert("gameId".to_owned(), s(game_id.to_string()));
        ended.insert("slot".to_owned(), s(slot));
        ended.insert("endedAt".to_owned(), n(now_ms));
        ended.insert(TTL.to_owned(), n(expires(now_ms, SILENT_TTL_S)));
        for what in MessageKind::ALL {
            ended.insert(what.attribute().to_owned(), n(listens.as_ref().map_or(0, |own| own.until_ms(what))));
        }
        // Stops the late end of an old connection from ending the new one. Stops a second end from
        // overwriting the limits, because the listener may be deleted by then.
        let put = self.table.put_item(ended);
        let put = put
            .condition_expression("connectionId = :own AND attribute_not_exists(endedAt)")
            .expression_attribute_values(":own", s(connection_id));
        let is_ended = unless_condition_failed(put.send().await)?.is_some();
        // Deleted last: a hello that finds no listener finds the tombstone.
        self.delete_own(key(game(game_id), listener(slot)), connection_id).await?;
        Ok(is_ended)
    }
}
