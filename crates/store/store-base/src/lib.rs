//! The one way to a table of DynamoDB: requests, retries, errors, pages and seals.
//!
//! The crate of each system (`clicks-store`, `game-store`, ...) builds its keys, items and access
//! patterns on it. It knows no system, no Lambda and no HTTP. Its errors are [`StoreError`]s, which
//! tell the caller whether a retry may help.

mod canceled;
#[cfg(feature = "endpoint")]
pub mod endpoint;
mod item;
mod retry;
mod row_reader;
pub mod seal;
mod series;
pub mod shard_count;
mod table;

pub use item::{Item, n, s};
pub use retry::{Retry, backoff};
pub use rollup::{StoreError, patient_backoff, unless_condition_failed};
pub use row_reader::{Placed, RowReader, merge_placed};
pub use series::{Direction, DirectionError, Page, Rows, merge, shard};
pub use table::{BATCH_GET_MAX, BATCH_WRITE_MAX, Table, TransactionOutcome};
