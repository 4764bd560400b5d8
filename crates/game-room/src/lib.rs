//! A game's room over its players' sockets: reads a message, applies the rules, persists the room,
//! and then broadcasts the changes.
//!
//! No server holds a room. Any number of functions may work on one game at a time. Each reads the
//! room, applies overdue steps, decides, and writes under optimistic locking. After a conflict it
//! reads and decides again. Only persisted changes are broadcast.

mod command_allowance;
mod draw;
mod fan_out;
mod game_room;
mod outgoing;
mod play;
mod presence;
pub mod protocol;
mod rate_limiter;
mod sockets;

pub use fan_out::{Delivery, deliver};
pub use game_room::HELLO_WAIT_MS;
pub use game_room::{GameRoom, MessageOutcome};
pub use rate_limiter::{Budget, CONNECTION, RateLimitVerdict, RateLimiter, SPECTATORS};
pub use sockets::{ApiGateway, PostError, Sockets};

/// Something that nobody can foretell, out of the system's own source.
pub fn random_u64() -> u64 {
    let mut bytes = [0; 8];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!(%error, "the system gives no randomness; a weaker source has to do");
        return fastrand::u64(..);
    }
    u64::from_ne_bytes(bytes)
}
