//! Clicks: what a click is, and how a batch of them becomes statistics exactly once.

mod click;
mod lane;
mod part;
mod recount;

pub use click::{Click, ClickCount, ClickCountError, ClickTime, TimeError};
pub use lane::{Claim, LaneId, SequenceNumber, SequenceNumberError};
pub use part::{Part, Standing, StatDelta, StreamClick, Sums, TRANSACTION_STATS_MAX, Visit, parts};
pub use recount::{
    ClickKey, Correction, Difference, Mark, Period, Recounted, Scope, StoredSums, TableClick, Visitor, corrections,
    differences, recount,
};
