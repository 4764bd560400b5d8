//! When a recount must not judge: it would call right statistics wrong, and a repair would lower
//! them.

use super::read::Read;
use super::snapshot::Snapshot;
use super::{Counted, Measurement, Scope};

/// Why a recount does not judge the statistics.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecountRefusal {
    /// The rollup has counted another stream, and this one has only records that are not counted.
    /// Most often the client has another region than the function.
    #[error(
        "no record of the stream {stream_arn} was counted, but statistics exist{}: use the region of the function, or \
         wait until it has counted a record",
        counted.iter().map(|arn| format!(", from the stream {arn}")).collect::<String>()
    )]
    OtherStream {
        /// The stream of the table, in the region of the client.
        stream_arn: String,
        /// The streams that were counted, as far as they are known. A part of a table is recounted
        /// without looking for them.
        counted: Vec<String>,
    },
    /// The whole table was read, no item counts, and some statistics are not zero. The table, its
    /// keys or the declaration may be wrong.
    #[error(
        "none of the {items} items that were read counts, but {statistics} numbers of statistics are not zero: is this \
         the table of the items, and does the declaration read them? If all items have expired, their statistics are \
         right"
    )]
    NoItems {
        /// The number of items read, of any kind.
        items: u64,
        /// The number of numbers that are not zero.
        statistics: usize,
    },
    /// Statistics are too high, and the stream still has to deliver most items.
    #[error(
        "statistics are too high, but {pending} of {items} items are still to be counted: repeat the recount when the function has caught up"
    )]
    MostlyPending {
        /// The items that were read and are not counted.
        pending: u64,
        /// All items that were read and count.
        items: u64,
    },
    /// The keys of the table are not those that were declared.
    #[error("the table {table} cannot be recounted: its keys are not `{partition_key}` and `{sort_key}`")]
    OtherKeys {
        /// The table of the items.
        table: String,
        /// The declared name of the partition key.
        partition_key: String,
        /// The declared name of the sort key.
        sort_key: String,
    },
}

/// Refuses a stream other than the one that was counted.
pub(super) fn check_stream<T>(
    stream_arn: &str,
    scope: &Scope,
    read: &Read<T>,
    moment: &Snapshot,
    counted: &Counted<T>,
) -> Result<(), RecountRefusal> {
    let is_other = match scope {
        Scope::All => !read.streams.is_empty(),
        // Only reading the whole table would find other checkpoints.
        Scope::Part { .. } => !moment.stats.is_empty(),
    };
    if moment.checkpoints.is_empty() && counted.has_uncounted && is_other {
        let counted = read.streams.iter().cloned().collect();
        return Err(RecountRefusal::OtherStream { stream_arn: stream_arn.to_owned(), counted });
    }
    Ok(())
}

/// Refuses differences that tell of the reading, not of the statistics. `left` is the number of
/// items that are counted, and `pending` of those that are still to be counted.
pub(super) fn check_items(
    scope: &Scope,
    measured: &Measurement,
    [left, pending]: [u64; 2],
) -> Result<(), RecountRefusal> {
    let statistics = measured.differences.len();
    if statistics == 0 {
        return Ok(());
    }
    // A day without items is usual: they have expired.
    if left == 0 && matches!(scope, Scope::All) {
        return Err(RecountRefusal::NoItems { items: measured.progress.items, statistics });
    }
    // What is too low is safe to judge and to add, however far the function is behind.
    if pending > measured.items / 2 && measured.too_high() > 0 {
        return Err(RecountRefusal::MostlyPending { pending, items: measured.items });
    }
    Ok(())
}
