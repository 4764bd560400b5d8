//! Player tokens, which identify a player in all games, and tickets, which open one WebSocket of
//! one game.
//!
//! A player token identifies a player to the HTTP API for a year. A ticket opens a WebSocket within
//! a minute. A ticket is part of an address, which logs may record, so it is short-lived and opens
//! one connection. Neither is accepted in place of the other.

use std::net::IpAddr;

use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::bearer;
use crate::http::Request;
use crate::problem::Problem;
use crate::signed::{SignedError, Signer};

/// How long a ticket is valid.
pub const TICKET_LIFETIME: SignedDuration = SignedDuration::from_secs(60);

/// How long a player token is valid: a year.
pub const PLAYER_TOKEN_LIFETIME: SignedDuration = SignedDuration::from_hours(365 * 24);

const TICKET: &str = "ticket";
const PLAYER: &str = "player";
const CLIENT: &str = "client";

/// The content of a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// The player.
    #[serde(rename = "p")]
    pub player_id: String,
    /// The game.
    #[serde(rename = "g")]
    pub game_id: String,
    /// The player's role, in the game's own word.
    #[serde(rename = "r")]
    pub role: String,
    /// The player's name. The name of a spectator is stored nowhere else.
    #[serde(rename = "n")]
    pub name: String,
    /// The id of this ticket, because a ticket opens only one connection.
    #[serde(rename = "i")]
    pub id: String,
}

/// Makes and verifies tickets and player tokens.
#[derive(Debug, Clone)]
pub struct Tickets(Signer);

impl Tickets {
    /// Tickets and tokens signed with a key.
    pub fn new(key: SecretString) -> Self {
        Self(Signer::new(key))
    }

    /// Signs a ticket.
    pub fn ticket(&self, ticket: &Ticket, now: Timestamp) -> String {
        let content = serde_json::to_vec(ticket).unwrap_or_else(|_| unreachable!("strings are JSON"));
        self.0.seal(TICKET, &content, TICKET_LIFETIME, now)
    }

    /// The content of a ticket that has not expired.
    ///
    /// # Errors
    /// [`SignedError`]: each of them refuses the handshake with 401.
    pub fn open_ticket(&self, ticket: &str, now: Timestamp) -> Result<Ticket, SignedError> {
        serde_json::from_slice(&self.0.open(TICKET, ticket, now)?).map_err(|_| SignedError::Forged)
    }

    /// A keyed hash of a client's address, to be stored instead of the address: equal for equal
    /// addresses, and without a way back to the address.
    pub fn client_tag(&self, address: IpAddr) -> u32 {
        self.0.tag(CLIENT, address.to_string().as_bytes())
    }

    /// Signs the token of a player.
    pub fn player_token(&self, player_id: &str, now: Timestamp) -> String {
        self.0.seal(PLAYER, player_id.as_bytes(), PLAYER_TOKEN_LIFETIME, now)
    }

    /// The player whose token is in the request's `Authorization` header; `None` without that
    /// header.
    ///
    /// # Errors
    /// `invalid-token`: it is not a player's token, or it has expired.
    pub fn player(&self, request: &Request, now: Timestamp) -> Result<Option<String>, Problem> {
        let Some(header) = request.header("authorization") else { return Ok(None) };
        let token = bearer::token(header).ok_or_else(bearer::invalid_token)?;
        let player_id = self.0.open(PLAYER, token, now).map_err(|error| match error {
            SignedError::Forged => bearer::invalid_token(),
            SignedError::Expired => bearer::invalid_token().detail("the token has expired"),
        })?;
        String::from_utf8(player_id).map(Some).map_err(|_| bearer::invalid_token())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lambda_events::apigw::ApiGatewayV2httpRequest;

    fn tickets() -> Tickets {
        Tickets::new(SecretString::from("key"))
    }

    fn ticket() -> Ticket {
        Ticket {
            player_id: "ann".into(),
            game_id: "7".into(),
            role: "player".into(),
            name: "あん".into(),
            id: "1".into(),
        }
    }

    fn now() -> Timestamp {
        "2025-10-02T10:30:00Z".parse().expect("a time")
    }

    fn player(header: &str, now: Timestamp) -> Result<Option<String>, &'static str> {
        let mut event = ApiGatewayV2httpRequest::default();
        event.headers.insert("authorization", header.parse().expect("a header"));
        tickets().player(&Request::new(event), now).map_err(|problem| problem.name())
    }

    #[test]
    fn a_ticket_is_valid_for_a_minute() {
        let text = tickets().ticket(&ticket(), now());
        assert_eq!(tickets().open_ticket(&text, now() + TICKET_LIFETIME), Ok(ticket()));
        let later = now() + TICKET_LIFETIME + SignedDuration::from_secs(1);
        assert_eq!(tickets().open_ticket(&text, later), Err(SignedError::Expired));
    }

    #[test]
    fn a_player_token_is_valid_for_a_year() {
        let header = format!("Bearer {}", tickets().player_token("ann", now()));
        assert_eq!(player(&header, now() + PLAYER_TOKEN_LIFETIME), Ok(Some("ann".into())));
        assert_eq!(player(&header, now() + PLAYER_TOKEN_LIFETIME + SignedDuration::from_secs(1)), Err("invalid-token"));
        assert_eq!(tickets().player(&Request::default(), now()), Ok(None));
    }

    #[test]
    fn tickets_player_tokens_and_cursors_are_not_interchangeable() {
        let ticket = tickets().ticket(&ticket(), now());
        let token = tickets().player_token("ann", now());
        let cursors = crate::cursor::Cursors::new(SecretString::from("key"));
        let cursor = cursors.seal("player", &"ann", now()).expect("JSON");
        for header in [&ticket, &cursor, ""].map(|text| format!("Bearer {text}")) {
            assert_eq!(player(&header, now()), Err("invalid-token"), "{header}");
        }
        assert_eq!(player(&token, now()), Err("invalid-token"));
        assert_eq!(player(&format!("Basic {token}"), now()), Err("invalid-token"));
        for text in [&token, &cursor] {
            assert_eq!(tickets().open_ticket(text, now()), Err(SignedError::Forged), "{text}");
        }
    }
}
