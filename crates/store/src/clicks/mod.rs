//! The clicks table: PK `userId`, SK `createDateTime`, index `DateIndex` on `dateKey` and `recordSort`.
//!
//! | item | `userId` | `createDateTime` | in the index |
//! |---|---|---|---|
//! | click | the user | time, to the millisecond | `DATE#<day>`, `CLICK#<time>#<user>` |
//! | day's statistic | `STAT#DAILY` | `<day>` | `DATE#<day>`, `STAT#DAILY` |
//! | month's statistic | `STAT#MONTHLY` | `<month>` | `MONTH#<month>`, `STAT#MONTHLY` |
//! | total | `STAT#TOTAL` | `METADATA` | `STAT#TOTAL`, `METADATA` |
//! | marker: who saw a user first in a month and on its days | `SEEN#<user>` | `<month>` | no |
//! | lane: up to where a shard is counted, and sums that it keeps until they are folded | `LANE#<stream ARN>` | shard id | no |
//! | lane of all repairs | `LANE#operator` | `repair` | no |
//! | lane of a click counted from the quarantine | `LANE#operator` | `redrive#<hash of its key>` | no |
//! | quarantined record | `QUARANTINE#CLICKS` | `<shard id>#<sequence number>` | no |
//! | the most index partitions that a day was ever spread over | `LAYOUT#CLICKS` | `dateShards` | no |
//!
//! The first four are the promise to readers (the table's own clients); the others are ours, and cost nothing in the index.

mod fold;
mod image;
mod keys;
mod lanes;
mod layout;
mod markers;
#[cfg(feature = "recount")]
mod marks;
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
mod snapshot;
mod unfolded;
mod watch;
mod writer;

pub use fold::{Folder, Unfolded};
pub use image::{ClickImage, UnreadableClick};
pub use keys::{DateShards, RESERVED_PREFIXES};
pub use lanes::{CommitError, Lane, Lanes, StatLayout};
pub use markers::{KnownClaims, Markers};
pub use quarantine::{Ending, Kept, Quarantine, QuarantinedRecord};
pub use reader::{ClickPosition, ClicksReader, Stat, Stats, StoredClick};
#[cfg(feature = "recount")]
pub use recount::{ClicksRead, Measured, RecountError, Recounter, TableSize};
#[cfg(feature = "recount")]
pub use redrive::{Redriven, Redriver};
#[cfg(feature = "recount")]
pub use repair::{REPAIR_STATS_MAX, RepairError, Repaired, Repairer};
pub use watch::{Watched, WatchedImage};
pub use writer::{ClickWriter, PutClick};

/// Opens the connection to DynamoDB with the smallest of reads, so that the first request does not pay for the handshake.
pub async fn connect(table: &crate::Table) -> Result<(), crate::StoreError> {
    let total = keys::key(keys::TOTAL, keys::TOTAL_SORT);
    table.connect(total).await
}
