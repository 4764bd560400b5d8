//! The protocol of `docs/protocol.md`: what clients say, read and checked once, and what the
//! functions say.

mod client;
mod drawing;
mod problem;
mod room;
mod server;
mod shared_problem;

pub use client::{ClientMessage, decode};
pub(crate) use drawing::BatchMessage;
pub(crate) use problem::refusal_problem;
pub use problem::*;
pub use room::{RoomMessage, WORD_SOURCES};
pub(crate) use server::{Ink, ServerMessage};
pub use shared_problem::*;

/// The version that is spoken here.
pub const PROTOCOL: u32 = 1;

/// The largest message: one frame
/// ([quotas](https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html)).
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024;
