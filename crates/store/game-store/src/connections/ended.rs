//! Connections that have ended. API Gateway reports a message and the end of its connection in any
//! order, so a player's connection leaves a tombstone for its last message.

use aws_sdk_dynamodb::types::ReturnValue;
use domain::game::{GameId, Participant, PlayerId};
use serde::Deserialize;
use store_base::StoreError;

use super::Connections;
use crate::keys::{CONN, Item, SILENT_TTL_S, TTL, connection, expires, key, n, s};
use crate::rows::player_id;

/// A player's connection that has ended.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EndedRow {
    player_id: String,
    game_id: String,
}

impl Connections {
    /// Ends a connection, and returns its item. A player's connection leaves a tombstone, because
    /// the end of a connection may overtake its last message.
    pub(super) async fn end(
        &self,
        connection_id: &str,
        who: &Participant,
        game_id: GameId,
        now_ms: u64,
    ) -> Result<Option<Item>, StoreError> {
        let mut item = key(connection(connection_id), CONN);
        let Some(player_id) = who.player() else {
            return Ok(self.table.delete_item(item).return_values(ReturnValue::AllOld).send().await?.attributes);
        };
        item.insert("playerId".to_owned(), s(player_id.to_string()));
        item.insert("gameId".to_owned(), s(game_id.to_string()));
        item.insert("endedAt".to_owned(), n(now_ms));
        item.insert(TTL.to_owned(), n(expires(now_ms, SILENT_TTL_S)));
        Ok(self.table.put_item(item).return_values(ReturnValue::AllOld).send().await?.attributes)
    }

    /// The game and the player of an ended connection; `None` when it left no tombstone, and when the
    /// player has another connection.
    pub async fn ended(&self, connection_id: &str) -> Result<Option<(GameId, PlayerId)>, StoreError> {
        let request = self.table.get_item(key(connection(connection_id), CONN)).consistent_read(true);
        let Some(item) = request.send().await?.item.filter(|item| !is_open(item)) else { return Ok(None) };
        let row: EndedRow = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        let player_id = player_id(&row.player_id)?;
        let game_id = row.game_id.parse().map_err(StoreError::unreadable)?;
        // The end may not have deleted the ended connection's own item yet.
        let current = self.of_player(player_id).await?.filter(|current| current.is_other(connection_id));
        Ok(current.is_none_or(|current| current.game_id != row.game_id).then_some((game_id, player_id)))
    }
}

/// Whether a connection's item is no tombstone.
pub(super) fn is_open(item: &Item) -> bool {
    !item.contains_key("endedAt")
}
