//! The game's HTTP API: creating and finding games, taking seats, and reading the history.
//!
//! The game itself is played over WebSockets. The tickets that open them are issued here.

mod body;
mod history;
mod lists;
mod problems;
mod seats;

use domain::game::{ClientTag, PlayerId};
use game_store::{Allowance, Chat, ClientLimits, Drawings, Lobby, Rooms, Rounds, Strokes};
use jiff::Timestamp;
use lambda_kit::bearer;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::page::Listing;
use lambda_kit::problem::{NOT_FOUND, Problem};
use lambda_kit::ticket::Tickets;
use secrecy::SecretString;
use store_base::Table;
use uuid::Uuid;

use problems::{store_problem, too_many};

pub use body::BODY_BYTES_MAX;
pub use history::LINES_MAX;

/// The function's dependencies. Ids and random numbers are passed in, so that a test can control
/// them.
#[derive(Debug, Clone)]
pub struct Api {
    rooms: Rooms,
    clients: ClientLimits,
    lobby: Lobby,
    chat: Chat,
    rounds: Rounds,
    drawings: Drawings,
    strokes: Strokes,
    tickets: Tickets,
    cursors: Cursors,
    new_id: fn() -> Uuid,
    random_u64: fn() -> u64,
}

impl Api {
    /// The API of the games in `table`, with the system's randomness. `key` signs tickets, player
    /// tokens and cursors.
    pub fn new(table: &Table, key: SecretString) -> Self {
        Self {
            rooms: Rooms::new(table),
            clients: ClientLimits::new(table),
            lobby: Lobby::new(table),
            chat: Chat::new(table),
            rounds: Rounds::new(table),
            drawings: Drawings::new(table),
            strokes: Strokes::new(table),
            tickets: Tickets::new(key.clone()),
            cursors: Cursors::new(key),
            new_id: lambda_kit::id::new_id,
            random_u64: game_room::random_u64,
        }
    }

    /// The player whose token the request carries, if any.
    fn player(&self, request: &Request, now: Timestamp) -> Result<Option<PlayerId>, Problem> {
        let player = self.tickets.player(request, now)?;
        // Only we sign tokens, so an id that does not parse comes from a token of an outdated
        // format.
        player.map(|id| id.parse().map_err(|_| bearer::invalid_token())).transpose()
    }

    /// The same for routes that need a token.
    fn require_player(&self, request: &Request, now: Timestamp) -> Result<PlayerId, Problem> {
        self.player(request, now)?.ok_or_else(bearer::missing_token)
    }

    /// The tag of the client's address, if it is known. A loopback address has no tag: on AWS no
    /// client has one, and all bots and tests of one machine share it.
    fn client(&self, request: &Request) -> Option<ClientTag> {
        let address = request.client_address().filter(|address| !address.is_loopback())?;
        Some(ClientTag(self.tickets.client_tag(address)))
    }

    /// Refuses a client that uses up its allowance.
    async fn take_allowance(&self, client: Option<ClientTag>, what: Allowance, now: Timestamp) -> Result<(), Problem> {
        let Some(client) = client else { return Ok(()) };
        match self.clients.take(client, what, millisecond(now)).await.map_err(store_problem)? {
            None => Ok(()),
            Some(wait_ms) => Err(too_many(wait_ms)),
        }
    }

    /// A list in pages.
    fn listing(&self, scope: String, now: Timestamp) -> Listing<'_> {
        Listing::new(&self.cursors, scope, now)
    }
}

/// Answers one request.
pub async fn handle(api: &Api, request: Request, now: Timestamp) -> Result<Reply, Problem> {
    match request.route() {
        "POST /games" => seats::create(api, &request, now).await,
        "GET /games" => lists::waiting(api, &request, now).await,
        "GET /games/{gameId}" => lists::state(api, &request, now).await,
        "POST /games/{gameId}/players" => seats::join(api, &request, now).await,
        "GET /games/{gameId}/chat" => history::chat(api, &request, now).await,
        "GET /games/{gameId}/turns" => history::turns(api, &request, now).await,
        "GET /games/{gameId}/turns/{turnId}/drawing" => history::drawing(api, &request, now).await,
        "GET /players/{playerId}/games" => lists::finished(api, &request, now).await,
        _ => Err(NOT_FOUND.detail(request.target())),
    }
}

/// The time in Unix milliseconds, as the game's rules use it.
fn millisecond(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or_default()
}
