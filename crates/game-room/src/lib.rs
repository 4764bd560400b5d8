//! A game's room over its players' sockets. A function reads a message, applies the rules, writes
//! the room and then sends the changes to all listeners.
//!
//! No server holds a room in memory. Any number of functions may work on one game at the same time,
//! with optimistic locking. Each reads the room, advances it to now, decides, and writes on the
//! condition that the version is unchanged. The loser reads and decides again. Only a change that
//! was written is sent.

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

/// An unpredictable number from the random source of the operating system.
pub fn random_u64() -> u64 {
    let mut bytes = [0; 8];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::error!(%error, "the system gives no randomness; a weaker source has to do");
        return fastrand::u64(..);
    }
    u64::from_ne_bytes(bytes)
}
