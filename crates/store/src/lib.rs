//! DynamoDB: keys, items and access patterns, with one module for each system.
//!
//! Only this crate builds keys. It has no code for Lambda or HTTP. It returns types of the
//! domain or plain rows. Its errors are [`StoreError`]s, which tell the caller whether a retry may
//! help.

pub mod clicks;
#[cfg(feature = "endpoint")]
pub mod endpoint;
mod error;
pub mod game;
mod item;
pub mod journal;
pub mod okusuri;
mod retry;
mod row_reader;
pub mod seal;
mod series;
mod shard_count;
pub mod shop;
mod table;

pub use error::StoreError;
pub use error::unless_condition_failed;
pub use item::{Item, n, s};
pub use retry::{Retry, backoff, patient_backoff};
pub use series::{Direction, DirectionError, Page};
pub use table::{BATCH_GET_MAX, BATCH_WRITE_MAX, Table, TransactionOutcome};
