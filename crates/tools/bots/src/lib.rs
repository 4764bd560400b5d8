//! Bots that play the drawing game as people do: over HTTP and a real socket, knowing no more than
//! a browser is told.
//!
//! `player` decides and has no I/O; [`play`] is its eyes and hands, and comes back when a
//! connection ends.

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

/// Names for bots, of the sea. None has a letter that a word to guess could have.
pub const NAMES: [&str; 10] = ["渚", "汐", "凪", "岬", "澪", "湊", "珊瑚", "波", "灯台", "潮"];
