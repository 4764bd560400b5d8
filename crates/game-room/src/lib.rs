//! A game's room over its players' sockets: what comes in is read, the rules decide, the room is persisted, and then everybody is told.
//!
//! There is no server that holds a room. Any number of functions may work on one game at a time; each reads the room, brings it up
//! to now, decides, and writes on the condition that nobody has been faster. Who loses reads again and decides again. Only what
//! has been written is told.

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
