//! Takes the sums that lanes keep to the statistics, where readers look for them.
//!
//! A run goes through the lanes one after the other, as all of them meet at the total. What it cannot fold, as a lane counts further each time
//! or time runs out, stays where it is, and the next run finds it.

use std::time::Duration;

use lambda_runtime::Diagnostic;
use metrics::{counter, gauge};
use serde::Serialize;
use store::StoreError;
use store::clicks::{CommitError, Folder, Unfolded};
use tokio::time::{Instant, sleep};

/// A run begins no lane after this long: the template's timeout is a minute, and so is the schedule.
const RUN_TIME_MAX: Duration = Duration::from_secs(40);

/// How often a lane is tried in a run, and the longest wait before the second try; it doubles with each further one.
const TRIES_MAX: u32 = 8;
const WAIT_MS: u64 = 20;

/// What a run has done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Lanes that have nothing left.
    pub lanes: u64,
    /// Clicks that went from them to the statistics.
    pub clicks: u64,
    /// Lanes that are left for the next run.
    pub left: u64,
}

/// Why nothing could be folded. The schedule comes again.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// The lanes cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FoldError> for Diagnostic {
    fn from(error: FoldError) -> Self {
        Self { error_type: "store".to_owned(), error_message: error.to_string() }
    }
}

/// Folds what waits.
///
/// # Errors
/// [`FoldError`] when the lanes cannot be read. What fails for one lane is counted, and keeps no other from being folded.
pub async fn handle(folder: &Folder) -> Result<Report, FoldError> {
    let end = Instant::now() + RUN_TIME_MAX;
    let mut report = Report::default();
    for unfolded in folder.waiting().await? {
        let clicks = unfolded.clicks();
        match fold(folder, unfolded, end).await {
            Ok(true) => {
                report.lanes += 1;
                report.clicks += clicks;
            }
            Ok(false) => report.left += 1,
            Err(error) => {
                tracing::error!(%error, "a lane is left for the next run");
                report.left += 1;
            }
        }
    }
    counter!("ClicksFolded").increment(report.clicks);
    gauge!("LanesLeft").set(report.left as f64);
    tracing::info!(lanes = report.lanes, clicks = report.clicks, left = report.left);
    Ok(report)
}

/// Whether all that a lane keeps could be folded.
async fn fold(folder: &Folder, unfolded: Unfolded, end: Instant) -> Result<bool, StoreError> {
    let (lane, mut waiting) = (unfolded.lane.clone(), Some(unfolded));
    for attempt in 0..TRIES_MAX {
        let Some(unfolded) = waiting else { return Ok(true) };
        if Instant::now() > end {
            return Ok(false);
        }
        waiting = match folder.fold(unfolded).await {
            Ok(left) => left,
            Err(CommitError::LaneMoved) => folder.kept(&lane).await?,
            Err(CommitError::Store(error)) if error.is_transient() => {
                // The total is everybody's, and may be held; and whether it took effect is for the next look to say.
                sleep(Duration::from_millis(fastrand::u64(..=WAIT_MS << attempt))).await;
                folder.kept(&lane).await?
            }
            Err(CommitError::Store(error)) => return Err(error),
        };
    }
    Ok(waiting.is_none())
}
