//! The protocol of `docs/protocol.md`: the messages of clients, with their checks, and those of the
//! functions.

mod client;
mod drawing;
mod problem;
mod room;
mod server;
mod shared_problem;

pub use client::{ClientMessage, Reaction, decode};
pub(crate) use drawing::BatchMessage;
pub(crate) use problem::refusal_problem;
pub use problem::*;
pub use room::{RoomMessage, WORD_SOURCES};
pub(crate) use server::{Ink, ServerMessage};
pub use shared_problem::*;

/// The protocol's version.
pub const PROTOCOL: u32 = 1;

/// The largest message: one frame
/// ([quotas](https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html)).
pub const MESSAGE_BYTES_MAX: usize = 32 * 1024;
