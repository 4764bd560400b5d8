//! DynamoDB: keys, items and access patterns, one module for each system.
//!
//! The only place that knows how a key is spelled. It knows nothing of Lambda or HTTP; what it returns is either the domain's
//! own or a plain row, and what goes wrong is a [`StoreError`] that says what the caller can do about it.

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
