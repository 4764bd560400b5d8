//! Open games, one game, and the games that a player has finished.

use domain::game::{GameId, PlayerId, Room};
use game_room::protocol::RoomMessage;
use game_store::{Freshness, GAMES_MAX, spectators};
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use lambda_kit::page::limit;
use lambda_kit::problem::Problem;
use serde_json::{Value, json};

use crate::problems::{GAME_NOT_FOUND, OTHER_PLAYER, store_problem};
use crate::{Api, millisecond};

/// The number of games on a page without `limit`.
const GAMES_DEFAULT: u16 = 20;

/// A waiting game without a change for this many milliseconds is deserted, even if its room still
/// lists players. API Gateway closes a connection after two hours, and a player who reconnects
/// changes the room.
const DESERTED_MS: u64 = 130 * 60 * 1_000;

/// `GET /games`.
pub(crate) async fn waiting(api: &Api, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let limit = limit(request, GAMES_DEFAULT, GAMES_MAX)?;
    let listing = api.listing("games".to_owned(), now);
    let after = listing.position(request)?;
    let page = api.lobby.waiting(limit, after.as_ref()).await.map_err(store_problem)?;
    let items: Vec<_> = page.items.iter().filter(|room| is_open(room, millisecond(now))).map(entry).collect();
    listing.reply(&items, page.next.as_ref(), page.skipped)
}

/// Whether a new player would find other players and a free seat.
fn is_open(room: &Room, now_ms: u64) -> bool {
    let is_alive = now_ms.saturating_sub(room.updated_at_ms) < DESERTED_MS;
    is_alive && room.is_listed() && room.players.len() < usize::from(room.settings.player_count.get())
}

/// A lobby entry. Its settings have the format of the protocol's room message.
fn entry(room: &Room) -> Value {
    let view = RoomMessage::new(room.view(room.updated_at_ms), 0);
    let host = room.player(room.host).map(|host| host.name.to_string());
    json!({
        "gameId": room.id.to_string(),
        "hostName": host.unwrap_or_default(),
        "players": room.players.len(),
        "createdAt": room.created_at_ms,
        "settings": serde_json::to_value(view).map(|view| view["settings"].clone()).unwrap_or_default(),
    })
}

/// `GET /games/{gameId}`: the public part of a game.
pub(crate) async fn state(api: &Api, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let game_id: GameId = request.parse_path("gameId", str::parse)?;
    let live = api.rooms.live(game_id, Freshness::Eventual).await.map_err(store_problem)?;
    let live = live.ok_or_else(|| GAME_NOT_FOUND.detail(game_id))?;
    Ok(Reply::json(200, &RoomMessage::new(live.room.view(millisecond(now)), spectators(&live.listeners))))
}

/// `GET /players/{playerId}/games`: needs that player's token.
pub(crate) async fn finished(api: &Api, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let asker = api.require_player(request, now)?;
    let player_id: PlayerId = request.parse_path("playerId", str::parse)?;
    if asker != player_id {
        return Err(OTHER_PLAYER);
    }
    let limit = limit(request, GAMES_DEFAULT, GAMES_MAX)?;
    let listing = api.listing(format!("player {player_id}"), now);
    let after = listing.position(request)?;
    let page = api.lobby.finished(player_id, limit, after.as_ref()).await.map_err(store_problem)?;
    listing.reply(&page.items, page.next.as_ref(), page.skipped)
}
