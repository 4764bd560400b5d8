//! Counting a batch: claims, then one commit for each part.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable};
use domain::clicks::{Part, SequenceNumber, Standing, parts};
use jiff::{SignedDuration, Timestamp};
use store::StoreError;
use store::Table;
use store::clicks::{CommitError, KnownClaims, Lane, Lanes, Markers, Quarantine, StatLayout};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::AggregateError;
use crate::batch::Batch;

/// How often a batch starts over because its lane moved. Once is a lost reply or a second delivery; more is a mapping that
/// runs several batches of a shard at once.
const LANE_TRIES_MAX: u32 = 5;

/// The most tries of one step. The pauses between them add up to half a minute, unless the deadline cuts them short.
const STEP_TRIES_MAX: usize = 12;
const STEP_DELAY_MIN: Duration = Duration::from_millis(25);
const STEP_DELAY_MAX: Duration = Duration::from_secs(5);

/// Counts batches, and remembers between them which claims stand.
#[derive(Debug)]
pub struct Aggregator {
    lanes: Lanes,
    markers: Markers,
    quarantine: Quarantine,
    known: Mutex<KnownClaims>,
}

/// What came of a batch.
#[derive(Debug, Default)]
pub(crate) struct Counted<'a> {
    /// Sum of the counts of what was counted.
    pub(crate) clicks: u64,
    /// Clicks that had been counted before.
    pub(crate) duplicates: u64,
    /// Visitors of days and months that this batch was the first to see.
    pub(crate) claims: u64,
    /// Claims that another lane had made before.
    pub(crate) claims_lost: u64,
    /// Records kept because they could not be read.
    pub(crate) quarantined: u64,
    /// How long the oldest of the clicks counted had been in the table.
    pub(crate) lag: Option<SignedDuration>,
    /// The record from which on the batch has to come again.
    pub(crate) failed_from: Option<&'a str>,
}

impl Aggregator {
    /// Counts into `table`, in the given layout.
    pub fn new(table: &Table, layout: StatLayout) -> Self {
        Self {
            lanes: Lanes::new(table).in_layout(layout),
            markers: Markers::new(table),
            quarantine: Quarantine::new(table),
            known: Mutex::default(),
        }
    }

    /// Counts what the lane has not counted yet.
    pub(crate) async fn count<'a>(
        &self,
        lane: &Lane,
        batch: &Batch<'a>,
        now: Timestamp,
        time: Duration,
    ) -> Result<Counted<'a>, AggregateError> {
        let mut counted = Counted::default();
        let Some(last) = batch.last.filter(|_| !(batch.clicks.is_empty() && batch.unreadable.is_empty())) else {
            self.keep_unreadable(lane, batch, None, now, &mut counted).await?;
            return Ok(counted);
        };
        let deadline = Instant::now() + time;
        for attempt in 0..LANE_TRIES_MAX {
            let checkpoint = self.lanes.checkpoint(lane).await?;
            let is_new = |number: SequenceNumber| checkpoint.is_none_or(|checkpoint| number > checkpoint);
            if attempt == 0 {
                counted.duplicates = batch.clicks.iter().filter(|click| !is_new(click.sequence_number)).count() as u64;
                self.keep_unreadable(lane, batch, checkpoint, now, &mut counted).await?;
            }
            if batch.first_after(checkpoint).is_none() {
                return Ok(counted);
            }
            let new = batch.clicks.iter().copied().filter(|click| is_new(click.sequence_number));
            let mut reached = checkpoint;
            let outcome = self.count_parts(lane, parts(new, last), &mut reached, now, deadline, &mut counted).await;
            if reached != checkpoint {
                counted.lag = batch.lag(checkpoint, now);
            }
            match outcome {
                Ok(()) => return Ok(counted),
                Err(CommitError::LaneMoved) => {}
                Err(CommitError::Store(error)) if reached == checkpoint => return Err(error.into()),
                Err(CommitError::Store(error)) => {
                    // What the earlier parts added is in and stays in; only the rest has to come again.
                    tracing::error!(%error, "a part of the batch was counted, the rest is left for the next delivery");
                    counted.failed_from = batch.first_after(reached);
                    return Ok(counted);
                }
            }
        }
        Err(AggregateError::Contended(LANE_TRIES_MAX))
    }

    async fn count_parts(
        &self,
        lane: &Lane,
        parts: Vec<Part<'_>>,
        reached: &mut Option<SequenceNumber>,
        now: Timestamp,
        deadline: Instant,
        counted: &mut Counted<'_>,
    ) -> Result<(), CommitError> {
        for part in parts {
            let claim = (|| self.claim(lane, *reached, &part)).retry(backoff()).when(StoreError::is_transient);
            let standing = in_time(deadline, claim).await?;
            let delta = part.delta(lane.id(), *reached, &standing);
            let commit = (|| self.lanes.commit(lane, *reached, part.through, &delta, now))
                .retry(backoff())
                .when(|error| matches!(error, CommitError::Store(error) if error.is_transient()));
            in_time(deadline, commit).await?;
            *reached = Some(part.through);
            counted.clicks += delta.total_clicks;
            for claim in standing.iter().flat_map(|standing| standing.days.iter().chain([&standing.month])).flatten() {
                if claim.lane == lane.id() { counted.claims += 1 } else { counted.claims_lost += 1 }
            }
        }
        Ok(())
    }

    async fn claim(
        &self,
        lane: &Lane,
        checkpoint: Option<SequenceNumber>,
        part: &Part<'_>,
    ) -> Result<Vec<Standing>, StoreError> {
        let mut known = self.known.lock().await;
        self.markers.claim(&mut known, lane.id(), checkpoint, &part.visits).await
    }

    /// Before the lane moves past them, so that a crash between the two keeps them twice under one key and not never.
    async fn keep_unreadable(
        &self,
        lane: &Lane,
        batch: &Batch<'_>,
        checkpoint: Option<SequenceNumber>,
        now: Timestamp,
        counted: &mut Counted<'_>,
    ) -> Result<(), StoreError> {
        for (number, record) in &batch.unreadable {
            if number.zip(checkpoint).is_some_and(|(number, checkpoint)| number <= checkpoint) {
                continue;
            }
            self.quarantine.put(lane, record, now).await?;
            counted.quarantined += 1;
            crate::log_quarantined(lane, record);
        }
        Ok(())
    }
}

/// Jittered, growing delays.
fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_jitter()
        .with_min_delay(STEP_DELAY_MIN)
        .with_max_delay(STEP_DELAY_MAX)
        .with_max_times(STEP_TRIES_MAX)
}

/// Gives a step up at the deadline, so that the answer can still tell what was counted. A request that is given up may have
/// taken effect; the next delivery finds out.
async fn in_time<T, E: From<StoreError>>(
    deadline: Instant,
    step: impl IntoFuture<Output = Result<T, E>>,
) -> Result<T, E> {
    let out_of_time = |_| Err(StoreError::Unavailable("the invocation has no time left".to_owned()).into());
    timeout_at(deadline, step.into_future()).await.unwrap_or_else(out_of_time)
}
