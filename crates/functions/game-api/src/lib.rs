//! The game's HTTP API: create games, list them, take seats, and read their history.
//!
//! Playing itself goes over sockets; what opens one is a ticket, and this is where tickets come
//! from.

mod body;
mod history;
mod lists;
mod problems;
mod seats;

use domain::game::{ClientTag, PlayerId};
use jiff::Timestamp;
use lambda_kit::bearer;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::page::Listing;
use lambda_kit::problem::{NOT_FOUND, Problem};
use lambda_kit::ticket::Tickets;
use secrecy::SecretString;
use store::Table;
use store::game::{Allowance, Chat, ClientLimits, Drawings, Lobby, Rooms, Rounds, Strokes};
use uuid::Uuid;

use problems::{store_problem, too_many};

pub use body::BODY_BYTES_MAX;
pub use history::LINES_MAX;

/// What the function works with. Ids and random numbers are passed in, so that a test decides them.
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

    /// Whose token came with the request, if any.
    fn player(&self, request: &Request, now: Timestamp) -> Result<Option<PlayerId>, Problem> {
        let player = self.tickets.player(request, now)?;
        // A valid signature means that this service made the token. A signed token without an id
        // has an old format, and is refused.
        player.map(|id| id.parse().map_err(|_| bearer::invalid_token())).transpose()
    }

    /// Whose token came with the request, which needs one.
    fn require_player(&self, request: &Request, now: Timestamp) -> Result<PlayerId, Problem> {
        self.player(request, now)?.ok_or_else(bearer::missing_token)
    }

    /// What stands for the client's address, if that is known. This machine's own is nobody's: on
    /// AWS no client has it, and the bots and tests of one machine share it.
    fn client(&self, request: &Request) -> Option<ClientTag> {
        let address = request.client_address().filter(|address| !address.is_loopback())?;
        Some(ClientTag(self.tickets.client_tag(address)))
    }

    /// Refuses a client that takes too many of something.
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
///
/// # Errors
/// A problem, for the client.
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

/// Unix milliseconds, as the rules count.
fn millisecond(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or_default()
}
