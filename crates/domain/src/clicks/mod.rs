//! The click, and the code that turns a batch of clicks into statistics exactly once.

mod checkpoint;
mod chunk;
mod click;
mod recount;

pub use checkpoint::{FirstSeen, SequenceNumber, SequenceNumberError, ShardHash};
pub use chunk::{Chunk, StatDelta, StreamClick, Sums, TRANSACTION_STATS_MAX, Visit, VisitFirstSeen, chunks};
pub use click::{Click, ClickCount, ClickCountError, ClickTime, ClickTimeError};
pub use recount::{
    ClickKey, Correction, Difference, FirstSeenStatus, Period, RecountScope, Recounted, StoredSums, TableClick,
    Visitor, corrections, differences, recount,
};
