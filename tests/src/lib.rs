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

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use cases::sample_event;
pub use database::{Database, StreamTail};
pub use game_table::GameTable;
pub use sockets::FakeSockets;
pub use stack::{Answer, GAME_KEY, HEALTH_TOKEN, OPERATOR_TOKEN, PATIENCE, STAFF_TOKEN, Stack, binary};

/// How much of a load a test makes: a part in `make test`, and all of it in `make verify`.
pub fn load<T>(part: T, all: T) -> T {
    if std::env::var("TIDEMARK_HISTORIES").is_ok_and(|length| length == "long") { all } else { part }
}

/// Waits while the UTC day is about to end, for a test that compares the figures of one day.
pub async fn away_from_midnight() {
    const LATE_S: i64 = 120;
    while jiff::Timestamp::now().as_second() % 86_400 >= 86_400 - LATE_S {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// A free port for a server that must know it beforehand, or come back to it. The system gives
/// ports above 32767 to whoever asks for any, and so not this one.
pub fn free_port() -> u16 {
    loop {
        let port = fastrand::u16(20_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The root of the checkout.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
