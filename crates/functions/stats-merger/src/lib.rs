//! Merges the sums that are buffered per shard into the statistics.
//!
//! A run merges the shards one after the other, because all of them update the total. Sums that it
//! cannot merge, because the shard keeps counting or the time is up, stay in their checkpoint for
//! the next run.

use std::time::Duration;

use lambda_runtime::Diagnostic;
use metrics::{counter, gauge};
use serde::Serialize;
use store::clicks::{CommitError, Merger, UnmergedSums};
use store::{Retry, StoreError};
use tokio::time::Instant;

/// A run begins no shard after this long: the template's timeout is a minute, and so is the
/// schedule.
const RUN_TIME_MAX: Duration = Duration::from_secs(40);

/// What a run has done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Shards that have nothing left.
    pub shards: u64,
    /// Clicks that went from them to the statistics.
    pub clicks: u64,
    /// Shards that are left for the next run.
    pub left: u64,
}

/// Why nothing could be merged. The schedule comes again.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The shards cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<MergeError> for Diagnostic {
    fn from(error: MergeError) -> Self {
        Self { error_type: "store".to_owned(), error_message: error.to_string() }
    }
}

/// Merges what waits.
///
/// # Errors
/// [`MergeError`] when the shards cannot be read. What fails for one shard is counted, and keeps no
/// other from being merged.
pub async fn handle(merger: &Merger) -> Result<Report, MergeError> {
    let end = Instant::now() + RUN_TIME_MAX;
    let mut report = Report::default();
    for unmerged in merger.list().await? {
        let clicks = unmerged.clicks();
        match merge_shard(merger, unmerged, end).await {
            Ok(true) => {
                report.shards += 1;
                report.clicks += clicks;
            }
            Ok(false) => report.left += 1,
            Err(error) => {
                tracing::error!(%error, "a shard is left for the next run");
                report.left += 1;
            }
        }
    }
    counter!("ClicksMerged").increment(report.clicks);
    gauge!("UnmergedShards").set(report.left as f64);
    tracing::info!(shards = report.shards, clicks = report.clicks, left = report.left);
    Ok(report)
}

/// Whether all that a shard keeps could be merged.
async fn merge_shard(merger: &Merger, unmerged: UnmergedSums, end: Instant) -> Result<bool, StoreError> {
    let (shard, mut waiting) = (unmerged.shard.clone(), Some(unmerged));
    let mut retry = Retry::new();
    while let Some(unmerged) = waiting {
        if Instant::now() > end {
            return Ok(false);
        }
        waiting = match merger.merge(unmerged).await {
            Ok(left) => left,
            Err(CommitError::CheckpointMoved) => merger.read(&shard).await?,
            Err(CommitError::Store(error)) if error.is_transient() => {
                // The total is everybody's, and may be held; and whether it took effect is for the
                // next look to say.
                if !retry.wait().await {
                    return Ok(false);
                }
                merger.read(&shard).await?
            }
            Err(CommitError::Store(error)) => return Err(error),
        };
    }
    Ok(true)
}
