//! The clicks table: partition key `userId`, sort key `createDateTime`, index `DateIndex` on
//! `dateKey` and `recordSort`.
//!
//! | item | `userId` | `createDateTime` | in the index |
//! |---|---|---|---|
//! | click | the user | time, to the millisecond | `DATE#<day>`, `CLICK#<time>#<user>` |
//! | statistic of a day | `STAT#DAILY` | `<day>` | `DATE#<day>`, `STAT#DAILY` |
//! | statistic of a month | `STAT#MONTHLY` | `<month>` | `MONTH#<month>`, `STAT#MONTHLY` |
//! | total | `STAT#TOTAL` | `METADATA` | `STAT#TOTAL`, `METADATA` |
//! | visitors of all time | `STAT#VISITORS` | `METADATA` | no |
//! | checkpoints, first-seen records and quarantine of the `rollup` crate | `ROLLUP#...` | | no |
//! | largest number of index partitions that a day has been spread over | `LAYOUT#CLICKS` | `dateShards` | no |
//! | since when there is a demo | `LAYOUT#CLICKS` | `demo` | no |
//!
//! The first five kinds are a public format: other programs read them from the table. The others
//! are internal. They have no index attributes, so they cost nothing in the index.

mod date_shards;
mod demo_mark;
mod details_reader;
mod image;
mod keys;
mod operator_event;
mod reader;
#[cfg(feature = "recount")]
mod recount_scope;
mod statistics;
mod withdrawal;
mod writer;

pub use demo_mark::{DemoMark, DemoState};
pub use details_reader::{ClickDetailsReader, NamedStats};
pub use keys::{DateShards, RESERVED_PREFIXES};
pub use operator_event::{OperatorEvent, OperatorEventImage};
pub use reader::{ClickPosition, ClicksReader, Stat, Stats, StoredClick};
#[cfg(feature = "recount")]
pub use recount_scope::RecountScope;
pub use statistics::{CountedClick, click_aggregators, click_details, click_statistics, read_click, rollup_table};
pub use withdrawal::{Counts, WithdrawError, Withdrawal, click_keys};
pub use writer::{ClickWriter, PutClick};
