//! Rate limits for guesses, chat lines and other commands that are sent to everybody. The state is
//! in the table, with the listener, so a bot whose messages reach many instances has only one
//! allowance. An instance takes several tokens at a time, so most lines cost no write.

use domain::game::rate_limit::{GUESSES, RateLimit, SPECTATOR_TALK, TALK};
use domain::game::{Command, Refusal, Room};
use game_store::{Listener, MessageKind};

use crate::game_room::{Failure, GameRoom, lock, remember};
use crate::play::PlayRequest;
use crate::protocol::refusal_problem;
use crate::sockets::Sockets;

/// An instance takes one part in this many of the burst at a time.
const SHARE: u64 = 3;

impl<S: Sockets> GameRoom<S> {
    /// Takes one token for the command from the sender's allowance.
    pub(crate) async fn take_allowance(
        &self,
        room: &Room,
        listeners: &[Listener],
        request: &PlayRequest<'_>,
        now_ms: u64,
    ) -> Result<(), Failure> {
        let (Some(connection_id), Some(command)) = (request.asker, &request.command) else { return Ok(()) };
        let Some(listener) = listeners.iter().find(|listener| listener.connection_id == connection_id) else {
            return Ok(());
        };
        let Some((what, limit)) = rate_limit_of(room, listener, command) else { return Ok(()) };
        let taken = format!("{connection_id} {what:?}");
        if let Some(left) = lock(&self.allowances).get_mut(&taken).filter(|left| **left > 0) {
            *left -= 1;
            return Ok(());
        }
        let too_fast = |wait_ms| Failure::from(refusal_problem(Refusal::TooFast(wait_ms)));
        let share = (limit.burst / SHARE).max(1);
        let until_ms = limit.take(listener.until_ms(what), share, now_ms).map_err(too_fast)?;
        if !self.connections.take(room.id, listener, what, until_ms).await? {
            return Err(too_fast(limit.every_ms));
        }
        remember(&self.allowances, taken, share - 1);
        Ok(())
    }
}

/// The rate limit of a command; `None` if it is not sent to others or happens only once.
fn rate_limit_of(room: &Room, listener: &Listener, command: &Command) -> Option<(MessageKind, RateLimit)> {
    match (listener.who.player(), command) {
        (_, Command::Tick { .. } | Command::Leave) => None,
        (None, _) => Some((MessageKind::Talk, SPECTATOR_TALK)),
        (Some(player), Command::Say { .. }) if room.is_guessing(player) => Some((MessageKind::Guess, GUESSES)),
        (Some(_), _) => Some((MessageKind::Talk, TALK)),
    }
}
