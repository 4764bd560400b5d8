//! Connects a bot to a socket: passes messages in both directions, and reconnects if the connection
//! ends.

use std::time::Duration;

use domain::game::GameId;
use fastrand::Rng;
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

use crate::options::{BotMessage, BotOptions};
use crate::player::{Ending, Player};
use crate::protocol::{ServerMessage, hello};
use crate::server::{Seat, Server, ServerError, Socket};

/// How often a bot reconnects to one game before it gives up.
const RESUMES_MAX: u32 = 50;

/// The pause before the first reconnection; each further failure doubles it.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(15);

/// The time limit for sending a message.
const SEND_MAX: Duration = Duration::from_secs(10);

/// A connection without any message for this long is dead: a ping would have been answered.
const SILENCE_MAX: Duration = Duration::from_secs(5 * 60);

/// How long a hello may stay without an answer.
const WELCOME_MAX: Duration = Duration::from_secs(10);

/// Why a bot gave up.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The server does not accept the bot.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The connection ended too often.
    #[error("the connection ended {RESUMES_MAX} times")]
    Connection,
}

/// Plays until the game is over, the bot is out of the game, or `stop` is cancelled. `seat` comes
/// from [`Server::create_game`] or [`Server::join_game`].
pub async fn play(
    server: &Server,
    game: GameId,
    seat: Seat,
    options: BotOptions,
    stop: CancellationToken,
) -> Result<Ending, PlayError> {
    let mut bot =
        Bot { player: Player::new(&seat.player_id, &options, Instant::now()), transcript: options.transcript.clone() };
    let mut rng = Rng::with_seed(options.seed);
    let (mut ticket, mut failures) = (Some(seat.ticket), 0);
    for _ in 0..=RESUMES_MAX {
        let round = async {
            let ticket = match ticket.take() {
                Some(ticket) => ticket,
                None => server.join_game(game, &options.name, Some(&seat.player_token)).await?.ticket,
            };
            server.connect(&ticket).await
        };
        let socket = tokio::select! {
            socket = round => socket,
            () = stop.cancelled() => return Ok(Ending::Left),
        };
        match socket {
            Ok(socket) => match bot.play_connection(socket, &stop).await {
                Some(ending) => return Ok(ending),
                None if bot.player.was_welcome() => failures = 0,
                None => {}
            },
            Err(error) if !error.is_transient() => return Err(error.into()),
            Err(_) => {}
        }
        failures += 1;
        let pause = PAUSE_MAX.min(PAUSE * 2_u32.saturating_pow(failures - 1));
        tokio::select! {
            () = sleep(pause.mul_f64(0.5 + rng.f64() / 2.0)) => {}
            () = stop.cancelled() => return Ok(Ending::Left),
        }
    }
    Err(PlayError::Connection)
}

struct Bot {
    player: Player,
    transcript: Option<UnboundedSender<BotMessage>>,
}

impl Bot {
    /// Plays over one connection; `None` if it ends before the game does.
    async fn play_connection(&mut self, mut socket: Socket, stop: &CancellationToken) -> Option<Ending> {
        self.player.on_connect();
        self.send(&mut socket, hello()).await?;
        let mut heard_at = Instant::now();
        loop {
            let silence_max = if self.player.was_welcome() { SILENCE_MAX } else { WELCOME_MAX };
            tokio::select! {
                message = socket.next() => {
                    heard_at = Instant::now();
                    match message? {
                        Ok(Message::Text(text)) => self.hear(text),
                        Ok(Message::Close(_)) | Err(_) => return self.player.ending(),
                        Ok(_) => continue,
                    }?;
                }
                () = sleep_until(self.player.due()) => {
                    for message in self.player.act(Instant::now()) {
                        self.send(&mut socket, message).await?;
                    }
                }
                () = sleep_until(heard_at + silence_max) => return None,
                () = stop.cancelled() => {
                    self.send(&mut socket, json!({"action": "leave"})).await;
                    self.close(socket).await;
                    return Some(Ending::Left);
                }
            }
            if let Some(ending) = self.player.ending() {
                self.close(socket).await;
                return Some(ending);
            }
        }
    }

    /// Handles one message; `None` if the hello was refused, for example because the room is busy.
    /// Then the bot says hello again over a new connection.
    fn hear(&mut self, text: Utf8Bytes) -> Option<()> {
        let heard = serde_json::from_str(&text).unwrap_or(ServerMessage::Other);
        if let Some(transcript) = &self.transcript {
            // The receiver may be gone.
            let _ = transcript.send(BotMessage::Received(text));
        }
        if matches!(&heard, ServerMessage::Error { action: Some(action) } if action == "hello") {
            return None;
        }
        self.player.hear(heard, Instant::now());
        Some(())
    }

    async fn send(&self, socket: &mut Socket, message: Value) -> Option<()> {
        let sent = timeout(SEND_MAX, socket.send(Message::text(message.to_string()))).await;
        if let Some(transcript) = &self.transcript {
            let _ = transcript.send(BotMessage::Sent(message));
        }
        sent.ok()?.ok()
    }

    /// Closes the connection, and waits a little for the answer: without it, the server would
    /// assume a lost network.
    async fn close(&self, mut socket: Socket) {
        let goodbye = async {
            let _ = socket.close(None).await;
            while let Some(Ok(_)) = socket.next().await {}
        };
        let _ = timeout(SEND_MAX, goodbye).await;
    }
}
