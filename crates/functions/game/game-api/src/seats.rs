//! Creates a game, and takes a seat in one.

use domain::game::{Command, Game, GameId, NewGame, Participant, PlayerId, PlayerName, Refusal, Room};
use game_room::protocol::RoomMessage;
use game_store::{Allowance, Freshness, Listener, Live, PersistOutcome, Role, may_spectate, spectators};
use jiff::Timestamp;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{INTERNAL, Problem, busy};
use lambda_kit::ticket::Ticket;
use serde_json::json;
use store_base::{Retry, StoreError};

use crate::body::{CheckedGame, NewGameBody, NewSeatBody};
use crate::problems::{GAME_NOT_FOUND, refused, store_problem};
use crate::{Api, millisecond};

/// `POST /games`.
pub(crate) async fn create(api: &Api, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let host = api.player(request, now)?.unwrap_or_else(|| PlayerId((api.new_id)()));
    let CheckedGame { name, settings, public, words } = NewGameBody::of(request)?.check()?;
    let client = api.client(request);
    api.take_allowance(client, Allowance::Games, now).await?;
    let id = GameId((api.new_id)());
    let new = NewGame { id, host, name, settings, public, words, seed: (api.random_u64)() };
    let mut game = Game::new(new, millisecond(now)).map_err(refused)?;
    game.room.remember_client(host, client);
    match api.rooms.create(&game).await.map_err(store_problem)? {
        PersistOutcome::Yes => {
            Ok(ticket_reply(api, 201, &game, host, Role::Player, &name_of(&game.room, host), 0, now))
        }
        PersistOutcome::Lost => {
            tracing::error!(game_id = %id, "the id of a new game is already in use");
            Err(INTERNAL)
        }
    }
}

/// `POST /games/{gameId}/players`: 201 for a new seat or a spectator, 200 for a player who has a
/// seat.
pub(crate) async fn join(api: &Api, request: &Request, now: Timestamp) -> Result<Reply, Problem> {
    let known = api.player(request, now)?;
    let game_id: GameId = request.parse_path("gameId", str::parse)?;
    let (name, role) = NewSeatBody::of(request)?.check()?;
    let player_id = known.unwrap_or_else(|| PlayerId((api.new_id)()));
    let client = api.client(request);
    api.take_allowance(client, Allowance::Tickets, now).await?;
    let mut retry = Retry::new();
    loop {
        let Some((before, listeners)) = load_game(api, game_id).await? else {
            // Another request wrote the game while it was read.
            if retry.wait().await {
                continue;
            }
            return Err(busy());
        };
        if before.room.kicked.contains(&player_id) {
            return Err(refused(Refusal::Kicked));
        }
        if let Some(seat) = before.room.player(player_id) {
            let name = seat.name.to_string();
            return Ok(ticket_reply(api, 200, &before, player_id, Role::Player, &name, spectators(&listeners), now));
        }
        if before.room.bars_client(client) {
            return Err(refused(Refusal::Kicked));
        }
        if role == Role::Spectator {
            if !may_spectate(&listeners, player_id) {
                return Err(refused(Refusal::TooManySpectators));
            }
            return Ok(ticket_reply(api, 201, &before, player_id, role, name.as_str(), spectators(&listeners), now));
        }
        let mut after = with_seat(&before, player_id, name.clone(), now)?;
        after.room.remember_client(player_id, client);
        match api.rooms.persist(&before, &after).await {
            Ok(PersistOutcome::Yes) => {
                let name = name_of(&after.room, player_id);
                return Ok(ticket_reply(api, 201, &after, player_id, role, &name, spectators(&listeners), now));
            }
            Ok(PersistOutcome::Lost) | Err(StoreError::Busy(_)) if retry.wait().await => {}
            Ok(PersistOutcome::Lost) | Err(StoreError::Busy(_)) => return Err(busy()),
            Err(error) => return Err(store_problem(error)),
        }
    }
}

/// The current game and its listeners; `None` if another request wrote the game between the reads.
async fn load_game(api: &Api, game_id: GameId) -> Result<Option<(Game, Vec<Listener>)>, Problem> {
    let live = api.rooms.live(game_id, Freshness::Consistent).await.map_err(store_problem)?;
    let Live { room, secret, listeners } = live.ok_or_else(|| GAME_NOT_FOUND.detail(game_id))?;
    let words = api.rooms.words(&room).await.map_err(store_problem)?;
    Ok(Game::assemble(room, secret, words).ok().map(|game| (game, listeners)))
}

/// The game with one more seat. The command is applied at a time before the next deadline of the
/// game, because only a connected player may advance the game: then the other players are notified.
fn with_seat(before: &Game, player_id: PlayerId, name: PlayerName, now: Timestamp) -> Result<Game, Problem> {
    let now_ms = millisecond(now);
    let now_ms = before.room.next_at_ms().map_or(now_ms, |next_ms| now_ms.min(next_ms.saturating_sub(1)));
    let outcome = before.apply(&Participant::Player(player_id), Command::Join { name }, now_ms);
    outcome.refusal.map_or(Ok(outcome.game), |refusal| Err(refused(refusal)))
}

fn name_of(room: &Room, player_id: PlayerId) -> String {
    room.player(player_id).map(|player| player.name.to_string()).unwrap_or_default()
}

/// The reply with the ticket that opens a WebSocket to the game.
#[allow(clippy::too_many_arguments)]
fn ticket_reply(
    api: &Api,
    status: u16,
    game: &Game,
    player_id: PlayerId,
    role: Role,
    name: &str,
    spectators: usize,
    now: Timestamp,
) -> Reply {
    let (game_id, player_id_text) = (game.room.id.to_string(), player_id.to_string());
    let viewer = (role == Role::Player).then_some(player_id);
    let ticket = Ticket {
        player_id: player_id_text.clone(),
        game_id: game_id.clone(),
        role: role.as_str().to_owned(),
        name: name.to_owned(),
        id: (api.new_id)().simple().to_string(),
    };
    Reply::json(
        status,
        &json!({
            "gameId": game_id,
            "playerId": player_id_text,
            "playerToken": api.tickets.player_token(&player_id_text, now),
            "ticket": api.tickets.ticket(&ticket, now),
            "role": role.as_str(),
            "room": RoomMessage::new(game.view(viewer, millisecond(now)), spectators),
        }),
    )
}
