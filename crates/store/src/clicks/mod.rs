//! The clicks table: partition key `userId`, sort key `createDateTime`, index `DateIndex` on
//! `dateKey` and `recordSort`.
//!
//! | item | `userId` | `createDateTime` | in the index |
//! |---|---|---|---|
//! | click | the user | time, to the millisecond | `DATE#<day>`, `CLICK#<time>#<user>` |
//! | statistic of a day | `STAT#DAILY` | `<day>` | `DATE#<day>`, `STAT#DAILY` |
//! | statistic of a month | `STAT#MONTHLY` | `<month>` | `MONTH#<month>`, `STAT#MONTHLY` |
//! | total | `STAT#TOTAL` | `METADATA` | `STAT#TOTAL`, `METADATA` |
//! | first-seen record: the first stream records of a user in a month and on its days | `FIRSTSEEN#<user>` | `<month>` | no |
//! | checkpoint of a shard, and its sums that are not merged yet | `CHECKPOINT#<stream ARN>` | shard id | no |
//! | checkpoint of the repairs | `CHECKPOINT#operator` | `repair` | no |
//! | checkpoint of a click that was redriven from the quarantine | `CHECKPOINT#operator` | `redrive#<hash of its key>` | no |
//! | quarantined record | `QUARANTINE#CLICKS` | `<shard id>#<sequence number>` | no |
//! | largest number of index partitions that a day has been spread over | `LAYOUT#CLICKS` | `dateShards` | no |
//!
//! The first four kinds are a public format: other programs read them from the table. The others
//! are internal. They have no index attributes, so they cost nothing in the index.

mod checkpoints;
mod date_shards;
mod first_seen;
#[cfg(feature = "recount")]
mod first_seen_scan;
mod image;
mod keys;
mod merge;
mod operator_event;
#[cfg(feature = "recount")]
mod pending;
mod quarantine;
mod reader;
#[cfg(feature = "recount")]
mod recount;
#[cfg(feature = "recount")]
mod redrive;
#[cfg(feature = "recount")]
mod repair;
#[cfg(feature = "recount")]
mod scan;
#[cfg(feature = "recount")]
mod snapshot;
mod unmerged;
mod writer;

pub use checkpoints::{Checkpoints, CommitError, ShardCheckpoint, StatLayout};
pub use first_seen::{FirstSeenCache, FirstSeenRecords};
pub use image::{ClickImage, UnreadableClick};
pub use keys::{DateShards, RESERVED_PREFIXES};
pub use merge::{Merger, UnmergedSums};
pub use operator_event::{OperatorEvent, OperatorEventImage};
pub use quarantine::{NewQuarantinedRecord, Quarantine, QuarantineEnding, QuarantinedRecord};
pub use reader::{ClickPosition, ClicksReader, Stat, Stats, StoredClick};
#[cfg(feature = "recount")]
pub use recount::{ClicksRead, Measurement, RecountError, Recounter, TableSize};
#[cfg(feature = "recount")]
pub use redrive::{RedriveOutcome, Redriver};
#[cfg(feature = "recount")]
pub use repair::{REPAIR_STATS_MAX, RepairError, RepairReport, Repairer};
pub use writer::{ClickWriter, PutClick};

/// Opens the connection to DynamoDB with the smallest possible read, so that the first request does
/// not wait for the handshake.
pub async fn connect(table: &crate::Table) -> Result<(), crate::StoreError> {
    let total = keys::key(keys::TOTAL, keys::TOTAL_SORT);
    table.connect(total).await
}
