//! What the tests of the whole suite share: an engine with the template's tables, and the stack as
//! a process.

pub mod browser;
pub mod cases;
mod database;
pub mod foreign_client;
pub mod game_table;
pub mod games;
pub mod journal;
pub mod oidc;
pub mod okusuri;
pub mod push;
pub mod samples;
pub mod shop;
pub mod shop_records;
mod sockets;
mod stack;

use std::path::{Path, PathBuf};

pub use cases::sample_event;
pub use database::{Database, StreamTail};
pub use game_table::GameTable;
pub use sockets::FakeSockets;
pub use stack::{Answer, GAME_KEY, HEALTH_TOKEN, OPERATOR_TOKEN, STAFF_TOKEN, Stack, binary};

/// How much of a load a test makes: a part in `make test`, and all of it in `make verify`.
pub fn load<T>(part: T, all: T) -> T {
    if std::env::var("TIDEMARK_HISTORIES").is_ok_and(|length| length == "long") { all } else { part }
}

/// The root of the checkout.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
