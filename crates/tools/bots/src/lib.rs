//! Bots that play the drawing game as people do: over HTTP and a real WebSocket, with the same
//! information as a browser.
//!
//! `player` makes the decisions and does no I/O. [`play`] connects it to a socket, and reconnects
//! if the connection ends.

mod guessing;
mod options;
mod picture;
mod play;
mod player;
mod protocol;
mod server;

pub use options::{BotMessage, BotOptions, Pace, SharedAnswers};
pub use play::{PlayError, play};
pub use player::Ending;
pub use protocol::Standing;
pub use server::{Seat, Server, ServerError, Socket};

/// Names for bots. No word to guess contains any of these characters.
pub const NAMES: [&str; 10] = ["渚", "汐", "凪", "岬", "澪", "湊", "珊瑚", "波", "灯台", "潮"];
