//! Moves the sums that shards buffer to the statistics, where readers see them.
//!
//! A run handles one shard after the other, because all of them update the total. Sums stay in a
//! shard's checkpoint if the checkpoint moves at each attempt, or if time runs out; the next run
//! merges them.

use std::time::Duration;

use lambda_runtime::Diagnostic;
use metrics::{counter, gauge};
use serde::Serialize;
use store::clicks::{CommitError, Merger, UnmergedSums};
use store::{Retry, StoreError};
use tokio::time::Instant;

/// No shard is begun after this time. The template's timeout and schedule are one minute.
const RUN_TIME_MAX: Duration = Duration::from_secs(40);

/// The results of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Shards whose sums were all merged.
    pub shards: u64,
    /// Clicks that were moved from these shards to the statistics.
    pub clicks: u64,
    /// Shards that are left for the next run.
    pub left: u64,
}

/// Why a run failed as a whole. The schedule starts the next one.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The unmerged sums could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<MergeError> for Diagnostic {
    fn from(error: MergeError) -> Self {
        Self { error_type: "store".to_owned(), error_message: error.to_string() }
    }
}

/// Merges all buffered sums.
///
/// # Errors
/// [`MergeError`] if the unmerged sums cannot be read. A failure for one shard is counted and does
/// not affect the other shards.
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

/// Whether all sums of a shard were merged.
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
                // All shards update the total, so the write may conflict or be throttled. Whether
                // it took effect anyway is visible after reading the shard again.
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
