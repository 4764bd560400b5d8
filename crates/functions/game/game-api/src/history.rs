//! The chat and the drawings of a game. Every player token gives access to every game whose id the
//! client knows, as for a spectator, except to players whom the game voted out.

use domain::game::{GameId, LineKind, PlayerId, Refusal, Room, SystemText, TurnId};
use game_store::{Drawing, StoredLine};
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use lambda_kit::page::{self, limit};
use lambda_kit::problem::Problem;
use serde_json::{Value, json};

use crate::Api;
use crate::problems::{DRAWING_NOT_FOUND, GAME_NOT_FOUND, refused, store_problem};

/// The number of lines on a page without `limit`, as in the original design.
const LINES_DEFAULT: u16 = 50;
/// The most lines of a page.
pub const LINES_MAX: u16 = 100;

/// The room of a game, unless it voted the asker out, or a player from the asker's address. Another
/// player from this address may have a seat.
async fn room(api: &Api, game_id: GameId, asker: PlayerId, request: &Request) -> Result<Room, Problem> {
    may_see(any_room(api, game_id).await?, api, asker, request)
}

/// The same for drawings, which the host may show to everybody, also without a token.
async fn room_of_drawings(api: &Api, game_id: GameId, request: &Request, now: Timestamp) -> Result<Room, Problem> {
    let asker = match api.player(request, now)? {
        Some(asker) => asker,
        None => {
            let room = api.rooms.room(game_id).await.map_err(store_problem)?;
            return room.filter(Room::is_shared).ok_or_else(lambda_kit::bearer::missing_token);
        }
    };
    let room = any_room(api, game_id).await?;
    if room.is_shared() { Ok(room) } else { may_see(room, api, asker, request) }
}

async fn any_room(api: &Api, game_id: GameId) -> Result<Room, Problem> {
    let room = api.rooms.room(game_id).await.map_err(store_problem)?;
    room.ok_or_else(|| GAME_NOT_FOUND.detail(game_id))
}

fn may_see(room: Room, api: &Api, asker: PlayerId, request: &Request) -> Result<Room, Problem> {
    let is_barred = room.player(asker).is_none() && room.bars_client(api.client(request));
    if is_barred || room.kicked.contains(&asker) { Err(refused(Refusal::Kicked)) } else { Ok(room) }
}

/// `GET /games/{gameId}/chat`: newest first. Lines for players who know the answer are omitted for
/// others.
pub(crate) async fn chat(api: &Api, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let asker = api.require_player(request, now)?;
    let game_id: GameId = request.parse_path("gameId", str::parse)?;
    let limit = limit(request, LINES_DEFAULT, LINES_MAX)?;
    let listing = api.listing(format!("chat {game_id}"), now);
    let after = listing.position(request)?;
    // Reads the lines before the room. If a turn ends between the two reads, its lines become
    // public; the other order could show lines of a turn that has just begun.
    let page = api.chat.page(game_id, limit, after.as_ref()).await.map_err(store_problem)?;
    let room = room(api, game_id, asker, request).await?;
    let lines = page.items.iter().filter(|line| room.may_read(Some(asker), line.solvers_of)).map(line);
    listing.reply(&lines.collect::<Vec<_>>(), page.next.as_ref(), page.skipped)
}

fn line(StoredLine { line, .. }: &StoredLine) -> Value {
    let (kind, text) = match &line.kind {
        LineKind::Talk(talk) => ("talk", talk.as_str()),
        LineKind::Guess(talk) => ("guess", talk.as_str()),
        LineKind::Correct => ("correct", ""),
        LineKind::System(text) => ("system", system_text(*text)),
    };
    json!({
        "id": line.id.to_string(),
        "playerId": line.player.to_string(),
        "name": line.name.as_str(),
        "text": text,
        "kind": kind,
        "at": line.at_ms,
    })
}

fn system_text(text: SystemText) -> &'static str {
    match text {
        SystemText::Joined => "joined",
        SystemText::Left => "left",
        SystemText::Kicked => "kicked",
        SystemText::Skipped => "skipped",
        SystemText::Host => "host",
    }
}

/// `GET /games/{gameId}/turns`: the finished turns, in order.
pub(crate) async fn turns(api: &Api, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let game_id: GameId = request.parse_path("gameId", str::parse)?;
    room_of_drawings(api, game_id, request, now).await?;
    let (rounds, skipped) = api.rounds.of_game(game_id).await.map_err(store_problem)?;
    let items: Vec<_> = rounds.into_iter().flat_map(|round| round.turns).collect();
    Ok(page::reply(&items, skipped))
}

/// `GET /games/{gameId}/turns/{turnId}/drawing`: available from the turn's reveal on.
pub(crate) async fn drawing(api: &Api, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let game_id: GameId = request.parse_path("gameId", str::parse)?;
    let turn_id: TurnId = request.parse_path("turnId", str::parse)?;
    if !room_of_drawings(api, game_id, request, now).await?.may_replay(turn_id) {
        return Err(DRAWING_NOT_FOUND.detail("the turn is not over"));
    }
    let batches = match api.drawings.get(game_id, turn_id).await.map_err(store_problem)? {
        Some(batches) => batches,
        // The archiver joins the chunks into one item once nobody can add to the drawing. Until
        // then the chunks are read.
        None => {
            let chunks = api.strokes.of_turn(game_id, turn_id).await.map_err(store_problem)?;
            if chunks.is_empty() {
                return Err(DRAWING_NOT_FOUND.detail("nothing was drawn, or there was no such turn"));
            }
            Drawing::of(&chunks).and_then(|drawing| drawing.json()).map_err(store_problem)?
        }
    };
    Ok(Reply::json(200, &json!({ "turnId": turn_id.to_string(), "batches": batches })))
}
