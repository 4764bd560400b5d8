//! Accepts a WebSocket connection with an unused ticket for an existing game and, for a player, an
//! existing seat.
//!
//! A connection joins its game only with its hello message, so silent connections cost a game
//! nothing.
//!
//! This function sends no message. API Gateway cannot post to the new connection before it has this
//! function's reply. The client says hello when it is connected, and `ws-message` continues from
//! there.

use domain::game::{GameId, PlayerId, PlayerName};
use game_store::{Connections, NewConnection, Role, Rooms};
use jiff::Timestamp;
use lambda_kit::signed::SignedError;
use lambda_kit::socket::{SocketEvent, SocketReply};
use lambda_kit::ticket::Tickets;
use secrecy::SecretString;
use store_base::StoreError;
use store_base::Table;

/// The function's dependencies.
#[derive(Debug, Clone)]
pub struct ConnectHandler {
    rooms: Rooms,
    connections: Connections,
    tickets: Tickets,
}

/// Why a connection is refused. The client sees the status, the log the word.
#[derive(Debug)]
enum ConnectRefusal {
    NoTicket,
    UsedTicket,
    Ticket(SignedError),
    NoGame,
    NoSeat,
    Store(StoreError),
}

impl From<StoreError> for ConnectRefusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl ConnectRefusal {
    fn answer(self) -> (SocketReply, &'static str) {
        let (status, outcome) = match self {
            Self::NoTicket => (401, "no-ticket"),
            Self::UsedTicket => (401, "ticket-used"),
            Self::Ticket(SignedError::Forged) => (401, "ticket-forged"),
            Self::Ticket(SignedError::Expired) => (401, "ticket-expired"),
            Self::NoGame => (403, "game-not-found"),
            Self::NoSeat => (403, "not-seated"),
            Self::Store(error) => {
                tracing::error!(%error, "a connection could not be stored");
                (if error.is_transient() { 503 } else { 500 }, "store")
            }
        };
        (SocketReply::new(status), outcome)
    }
}

impl ConnectHandler {
    /// A handler for the games in `table`, whose tickets are signed with `ticket_key`.
    pub fn new(table: &Table, ticket_key: SecretString) -> Self {
        Self { rooms: Rooms::new(table), connections: Connections::new(table), tickets: Tickets::new(ticket_key) }
    }

    async fn connect(&self, event: &SocketEvent, now: Timestamp) -> Result<(), ConnectRefusal> {
        let ticket = self.tickets.open_ticket(event.query("ticket").ok_or(ConnectRefusal::NoTicket)?, now);
        let ticket = ticket.map_err(ConnectRefusal::Ticket)?;
        // Only we sign tickets, so a ticket that does not parse has an outdated format.
        let forged = || ConnectRefusal::Ticket(SignedError::Forged);
        let game_id: GameId = ticket.game_id.parse().map_err(|_| forged())?;
        let player_id: PlayerId = ticket.player_id.parse().map_err(|_| forged())?;
        let name = PlayerName::new(&ticket.name).map_err(|_| forged())?;
        let role = Role::parse(&ticket.role).ok_or_else(forged)?;

        let room = self.rooms.room(game_id).await?.ok_or(ConnectRefusal::NoGame)?;
        if role == Role::Player && room.player(player_id).is_none() {
            return Err(ConnectRefusal::NoSeat);
        }
        let now_ms = u64::try_from(now.as_millisecond()).unwrap_or_default();
        if !self.connections.use_ticket(&ticket.id, event.connection_id(), now_ms).await? {
            return Err(ConnectRefusal::UsedTicket);
        }
        let new = NewConnection { connection_id: event.connection_id(), player_id, game_id, role, name: &name };
        self.connections.connect(&new, now_ms).await?;
        Ok(())
    }
}

/// Accepts or refuses one connection.
pub async fn handle(handler: &ConnectHandler, event: SocketEvent, now: Timestamp) -> (SocketReply, &'static str) {
    match handler.connect(&event, now).await {
        Ok(()) => (SocketReply::OK, "connected"),
        Err(refused) => refused.answer(),
    }
}
