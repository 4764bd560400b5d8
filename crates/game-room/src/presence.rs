//! Presence. The game's listeners decide which players are connected; the room only stores since
//! when a player is away.
//!
//! So it does not matter which function notices that a connection began or ended, or whether a
//! function died between the two writes. The next function that works on the game finds the
//! difference and corrects the room.

use domain::game::{Command, Participant, PlayerId, Refusal, Room};
use game_store::{Connection, Freshness, GreetOutcome, Listener, may_spectate};
use lambda_kit::problem::Problem;
use store_base::StoreError;

use crate::fan_out::{Delivery, deliver};
use crate::game_room::{Asker, Failure, GameRoom, MessageOutcome};
use crate::outgoing::PlayOutcome;
use crate::outgoing::room_for;
use crate::play::PlayRequest;
use crate::protocol::{Echo, GAME_NOT_FOUND, RefusedMessage, ServerMessage, refusal_problem};
use crate::sockets::Sockets;

/// The number of chat lines that a new connection gets. Source: the original design.
const LINES: u16 = 50;

impl<S: Sockets> GameRoom<S> {
    /// Handles hello: from now on the connection gets the game's messages, starting with the room
    /// and the chat.
    pub(crate) async fn hello(&self, asker: Asker<'_>, connection: &Connection) -> Result<(), Failure> {
        let Asker { connection_id, game_id, now_ms } = asker;
        let live = self.rooms.live(game_id, Freshness::Consistent).await?.ok_or(GAME_NOT_FOUND)?;
        if let Some(refusal) = place_refusal(&live.room, &live.listeners, &connection.who()) {
            return self.reject_connection(asker, connection, refusal_problem(refusal)).await;
        }
        let is_new = live.listeners.iter().all(|listener| listener.connection_id != connection_id);
        if is_new {
            match self.connections.greet(connection_id, connection, &live.listeners, &live.room, now_ms).await? {
                GreetOutcome::Yes => {}
                GreetOutcome::NoPlace => {
                    return self
                        .reject_connection(asker, connection, refusal_problem(Refusal::TooManySpectators))
                        .await;
                }
                GreetOutcome::Ended => return Err(Failure::NotConnected),
            }
        }
        let request = PlayRequest { asker: Some(connection_id), ..PlayRequest::default() };
        let mut played = self.play(game_id, &request, now_ms).await?;
        let Some(who) = played.asker.take() else { return Err(Failure::NotConnected) };
        self.close_older_connections(&played.listeners, connection_id).await;

        let room = room_for(&played.game, &who, played.spectators, now_ms);
        let role = match who.player() {
            Some(_) => game_store::Role::Player,
            None => game_store::Role::Spectator,
        };
        let page = self.chat.page(game_id, LINES, None).await?;
        let may_read = |turn| played.game.room.may_read(who.player(), turn);
        let lines = page.items.iter().rev().filter(|stored| may_read(stored.solvers_of)).map(|stored| &stored.line);
        let welcome = ServerMessage::welcome(who.id(), role, room).encode();
        let delivery = Delivery::new(connection_id, vec![welcome, ServerMessage::chat(lines).encode()]);
        let gone = deliver(&self.sockets, vec![delivery]).await;
        let listeners = played.listeners.clone();
        self.remove_dead_connections(game_id, &listeners, gone, now_ms).await;

        // The asker has the room and the chat now. The others are told only if something changed
        // for them.
        played.listeners.retain(|listener| listener.connection_id != connection_id);
        let is_news = played.has_changed || !played.effects.is_empty() || is_new && who.player().is_none();
        if is_news { self.broadcast(PlayOutcome { has_changed: true, ..played }, None, now_ms).await } else { Ok(()) }
    }

    /// Closes the connection that this one replaced.
    async fn close_older_connections(&self, listeners: &[Listener], connection_id: &str) {
        let own = listeners.iter().find(|listener| listener.connection_id == connection_id);
        if let Some(older) = own.and_then(|own| own.replaces.as_deref()) {
            let messages = vec![ServerMessage::Replaced.encode()];
            deliver(&self.sockets, vec![Delivery { is_last: true, ..Delivery::new(older, messages) }]).await;
        }
    }

    /// Handles the end of a connection. API Gateway reports it late, and not always.
    pub async fn disconnected(&self, connection_id: &str, now_ms: u64) -> MessageOutcome {
        match self.handle_disconnect(connection_id, now_ms).await {
            Ok(outcome) => MessageOutcome { status: 200, outcome },
            Err(Failure::Problem(problem)) => MessageOutcome { status: problem.status(), outcome: problem.name() },
            Err(Failure::NotConnected | Failure::HelloTimeout(_) | Failure::RateLimited) => MessageOutcome::DONE,
        }
    }

    async fn handle_disconnect(&self, connection_id: &str, now_ms: u64) -> Result<&'static str, Failure> {
        let Some(connection) = self.connections.get(connection_id).await? else { return Ok("known") };
        if !self.connections.disconnect(connection_id, &connection, now_ms).await? {
            return Ok("replaced");
        }
        let played = self.play(connection.game_id, &PlayRequest::default(), now_ms).await?;
        // The leaving of a spectator does not change the room, but everybody sees their number.
        self.broadcast(PlayOutcome { has_changed: true, ..played }, None, now_ms).await?;
        Ok("away")
    }

    /// Handles a `leave` whose connection has already ended: API Gateway reports a message and the
    /// end of its connection in any order.
    pub(crate) async fn leave_after_end(&self, connection_id: &str, now_ms: u64) -> Result<(), Failure> {
        let ended = self.connections.ended(connection_id).await?;
        let (game_id, player) = ended.ok_or(Failure::NotConnected)?;
        let ended = Some(Participant::Player(player));
        let request = PlayRequest { ended, command: Some(Command::Leave), ..PlayRequest::default() };
        let played = self.play(game_id, &request, now_ms).await?;
        self.broadcast(played, None, now_ms).await
    }

    /// The commands that bring the room's presence up to date with the listeners.
    pub(crate) async fn presence_commands(
        &self,
        room: &Room,
        listeners: &[Listener],
    ) -> Result<Vec<(PlayerId, Command)>, StoreError> {
        let mut commands = Vec::new();
        for player in &room.players {
            let listens = listeners.iter().any(|listener| listener.who.player() == Some(player.id));
            if listens && !player.is_connected() {
                commands.push((player.id, Command::Connect));
            }
            // The listeners were read a moment before the room. A player who connected in between
            // has a connection in the table, and is not away.
            if !listens && player.is_connected() && !self.connections.is_connected(room.id, player.id).await? {
                commands.push((player.id, Command::Disconnect));
                let draws = room.turn().filter(|turn| turn.drawer == player.id && room.may_see_drawing(turn.id));
                if let Some(turn) = draws
                    && self.strokes.is_empty(room.id, turn.id).await?
                {
                    commands.push((player.id, Command::DrewNothing));
                }
            }
        }
        Ok(commands)
    }

    /// Sends a problem to one connection and closes it.
    async fn reject_connection(
        &self,
        asker: Asker<'_>,
        connection: &Connection,
        problem: Problem,
    ) -> Result<(), Failure> {
        let Asker { connection_id, now_ms, .. } = asker;
        let refused = RefusedMessage { problem, echo: Echo { action: Some("hello".to_owned()), ..Echo::default() } };
        let messages = vec![ServerMessage::from(refused).encode()];
        deliver(&self.sockets, vec![Delivery { is_last: true, ..Delivery::new(connection_id, messages) }]).await;
        self.connections.disconnect(connection_id, connection, now_ms).await?;
        Ok(())
    }
}

/// Why a ticket holder gets no place: the seat is gone, or there are too many spectators.
fn place_refusal(room: &Room, listeners: &[Listener], who: &Participant) -> Option<Refusal> {
    let Some(player) = who.player() else {
        return (!may_spectate(listeners, who.id())).then_some(Refusal::TooManySpectators);
    };
    let refusal = if room.kicked.contains(&player) { Refusal::Kicked } else { Refusal::NotSeated };
    room.player(player).is_none().then_some(refusal)
}
