//! Keeps the statistics exact over a stream that delivers at least once.
//!
//! A batch takes four steps. The checkpoint says which records are already counted. The records
//! after it are added up in chunks. The distinct values of each chunk are recorded. One write adds
//! the chunk and moves the checkpoint.

mod commit;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use backon::Retryable;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::SequenceNumber;
use crate::additions::Additions;
use crate::batch::{Batch, Decode, DecodeError, Reader, decode_item};
use crate::chunk::{Chunk, chunks};
use crate::declaration::Rollup;
use crate::declared::Declared;
use crate::distinct::first_seen::FirstSeenRecords;
use crate::distinct::holdings::{Holdings, Position};
use crate::distinct::{self, DistinctChanges};
use crate::error::StoreError;
use crate::event::{Event, Reply};
use crate::extremes::Extremes;
use crate::layout::Layout;
use crate::quarantine::{self, QuarantinedRecord};
use crate::report::{AggregateError, Handled, Report};
use crate::rules::Rules;
use crate::shard::{Checkpoint, CommitError, Shard};
use crate::table::{Table, patient_backoff};
use crate::trail::Trail;

/// How often a batch starts over because its checkpoint moved. A lost reply or a second delivery
/// causes one restart. More restarts mean that the mapping runs several batches of one shard at
/// once.
const CHECKPOINT_TRIES_MAX: u32 = 5;

/// The part of the invocation's time that is reserved for the reply.
const REPLY_TIME: Duration = Duration::from_millis(500);

/// Keeps the statistics of a rollup. Make one when the function starts, and give it each event.
pub struct Aggregator<T> {
    pub(crate) rollup: Rollup<T>,
    pub(crate) table: Table,
    decode: Decode<T>,
    layout: Layout,
    state: Mutex<Cached>,
    pub(crate) rules: Rules,
    pub(crate) declared: Declared,
    /// Of the declaration.
    pub(crate) fingerprint: String,
    pub(crate) also_counting: BTreeSet<String>,
    /// Whether the reader was compared with the records in quarantine.
    pub(crate) is_reader_known: AtomicBool,
}

/// What an instance knows from earlier batches.
#[derive(Debug, Default)]
struct Cached {
    first_seen_records: FirstSeenRecords,
    holdings: Holdings,
    extremes: Extremes,
}

impl<T> Aggregator<T> {
    /// Keeps the statistics in `table`. Images are read with serde; [`Self::decoding`] takes
    /// another reader.
    pub fn new(rollup: Rollup<T>, table: Table) -> Self
    where
        T: DeserializeOwned + 'static,
    {
        Self::decoding(rollup, table, decode_item)
    }

    /// Reads images with `decode`, which gets an item in [DynamoDB's
    /// JSON](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.LowLevelAPI.html#Programming.LowLevelAPI.DataTypeDescriptors),
    /// and returns `None` for an item that is not counted.
    pub fn decoding(
        rollup: Rollup<T>,
        table: Table,
        decode: impl Fn(&RawValue) -> Result<Option<T>, DecodeError> + Send + Sync + 'static,
    ) -> Self {
        let declared = Declared::of(&rollup);
        Self {
            fingerprint: declared.fingerprint(),
            declared,
            also_counting: BTreeSet::new(),
            is_reader_known: AtomicBool::new(false),
            rollup,
            table,
            decode: Box::new(decode),
            layout: Layout::default(),
            state: Mutex::default(),
            rules: Rules::default(),
        }
    }

    /// Chooses when batches are added to the statistics. It may be changed at any time.
    pub fn layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// The declaration.
    pub fn rollup(&self) -> &Rollup<T> {
        &self.rollup
    }

    /// The table of the statistics.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Opens the connection to DynamoDB with the smallest possible read. Call it when the function
    /// starts, while Lambda gives it full CPU.
    pub async fn connect(&self) -> Result<(), StoreError> {
        Shard::new("none", "none").checkpoint(&self.table, &self.rollup.name).await.map(drop)
    }

    /// The records in quarantine, waiting and settled.
    pub async fn quarantined(&self) -> Result<Vec<QuarantinedRecord>, StoreError> {
        quarantine::list(&self.table, &self.rollup.name).await
    }

    /// The record in quarantine with this id, if there is one.
    pub async fn quarantined_record(&self, id: &str) -> Result<Option<QuarantinedRecord>, StoreError> {
        quarantine::get(&self.table, &self.rollup.name, id).await
    }

    /// Deletes a record from quarantine, settled or not. The item that it tells of must be gone.
    pub async fn forget_quarantined(&self, id: &str) -> Result<(), StoreError> {
        quarantine::delete(&self.table, &self.rollup.name, id).await
    }

    /// Deletes what is recorded of one value of a distinct count. Its items must be gone, and taken
    /// out of the statistics. An instance may remember the value for as long as it runs, and then
    /// does not count it as a new one: do not use the value again.
    pub async fn forget_value(&self, measure: &str, value: &str) -> Result<(), StoreError> {
        for item in self.table.partition(&distinct::value_partition(&self.rollup, measure, value), None).await? {
            if let Some((partition, sort)) = self.table.key_of(&item) {
                self.table.delete(self.table.key(partition, sort)).await?;
            }
        }
        Ok(())
    }

    /// Counts one batch, given as its event's JSON, before `deadline`.
    ///
    /// # Errors
    /// When nothing of the batch was counted. Return the error from the function, so that Lambda
    /// delivers the batch again.
    pub async fn handle(&self, event: &RawValue, deadline: SystemTime) -> Result<Handled, AggregateError> {
        // Boxed: as one type, the nested futures would be too deep for the compiler's default
        // limit.
        Box::pin(self.handle_at(event, deadline, Timestamp::now())).await
    }

    /// [`Self::handle`] at a given time.
    pub async fn handle_at(
        &self,
        event: &RawValue,
        deadline: SystemTime,
        now: Timestamp,
    ) -> Result<Handled, AggregateError> {
        let time_left = deadline.duration_since(SystemTime::now()).unwrap_or_default();
        self.handle_within(event, time_left, now).await
    }

    /// [`Self::handle_at`] without a look at the real clock.
    pub(crate) async fn handle_within(
        &self,
        event: &RawValue,
        time_left: Duration,
        now: Timestamp,
    ) -> Result<Handled, AggregateError> {
        let deadline = Instant::now() + time_left.saturating_sub(REPLY_TIME);
        AggregateError::check_attributes(&self.rollup, &self.table)?;
        let event: Event<'_> = serde_json::from_str(event.get())?;
        let shard = match (&event.stream_arn, &event.shard_id) {
            (Some(stream), Some(shard)) => Shard::new(&**stream, &**shard),
            _ => return Err(AggregateError::NoShard),
        };
        let batch = Batch::of(&self.reader(), &event.records).map_err(|_| AggregateError::NoImages)?;
        let mut report = Report {
            shard_id: shard.id().to_owned(),
            records: event.records.len(),
            ignored: batch.ignored,
            ..Report::default()
        };
        self.count(&shard, &batch, now, deadline, &mut report).await?;
        if event.is_final && report.failed_from.is_none() {
            // In either layout: there may be buffers from before the layout was changed.
            self.flush_all(&shard, now, deadline).await?;
        }
        Ok(Handled { reply: Reply::new(&event, report.failed_from.clone()), report })
    }

    fn reader(&self) -> Reader<'_, T> {
        Reader { rollup: &self.rollup, table: &self.table, decode: &self.decode, rules: self.rules }
    }

    /// Reads an item in DynamoDB's JSON; `None` if it is not counted.
    ///
    /// # Errors
    /// If the item cannot be read, or cannot be counted.
    pub fn read(&self, image: &RawValue) -> Result<Option<T>, DecodeError> {
        self.reader().read(image)
    }

    #[cfg(feature = "recount")]
    pub(crate) fn read_item(&self, item: crate::table::Item) -> Result<Option<T>, DecodeError> {
        let item = serde_dynamo::Item::from(item);
        let image = serde_json::to_string(&item).and_then(RawValue::from_string);
        self.read(&image.map_err(|error| DecodeError::new("image", error))?)
    }

    /// Counts the records that the shard has not counted yet.
    async fn count(
        &self,
        shard: &Shard,
        batch: &Batch<'_>,
        now: Timestamp,
        deadline: Instant,
        report: &mut Report,
    ) -> Result<(), AggregateError> {
        let name = &self.rollup.name;
        let Some(last) = batch.last.filter(|_| !(batch.changes.is_empty() && batch.unreadable.is_empty())) else {
            return Ok(self.quarantine_unreadable(shard, batch, &Checkpoint::default(), now, report).await?);
        };
        for attempt in 0..CHECKPOINT_TRIES_MAX {
            let mut reached = shard.checkpoint(&self.table, name).await?;
            self.admit(shard, &mut reached, now).await?;
            let checkpoint = reached.number;
            let changes = batch.changes.iter().map(|change| change.number);
            if let Some(foreign) = reached.trail.foreign(checkpoint, &batch.numbers, changes) {
                return Err(AggregateError::Interleaved(foreign));
            }
            reached.has_quarantined |= !batch.unreadable.is_empty();
            if attempt == 0 {
                let is_old = |number| checkpoint.is_some_and(|checkpoint| number <= checkpoint);
                report.duplicates = batch.changes.iter().filter(|change| is_old(change.number)).count() as u64;
                self.quarantine_unreadable(shard, batch, &reached, now, report).await?;
            }
            if batch.first_after(checkpoint).is_none() {
                return Ok(());
            }
            let new = batch.changes.iter().filter(|change| checkpoint.is_none_or(|at| change.number > at));
            let new = new.map(|change| (change.number, &change.contributions));
            let outcome = self
                .count_chunks(shard, (chunks(&self.rollup, new, last), &batch.numbers), &mut reached, now, deadline)
                .await;
            if reached.number != checkpoint {
                report.lag = batch.lag(checkpoint, now);
                let is_counted = |number| Some(number) > checkpoint && Some(number) <= reached.number;
                report.counted += batch.changes.iter().filter(|change| is_counted(change.number)).count() as u64;
            }
            match outcome {
                Ok(()) => return Ok(()),
                Err(CommitError::CheckpointMoved) => {}
                Err(CommitError::Store(error)) if reached.number == checkpoint => return Err(error.into()),
                Err(CommitError::Store(error)) => {
                    // The earlier chunks are committed; only the rest must be delivered again.
                    tracing::error!(%error, "some chunks of the batch were counted; the rest is left for the next delivery");
                    report.failed_from = batch.first_after(reached.number);
                    return Ok(());
                }
            }
        }
        Err(AggregateError::Contended(CHECKPOINT_TRIES_MAX))
    }

    async fn count_chunks(
        &self,
        shard: &Shard,
        (chunks, numbers): (Vec<Chunk>, &[SequenceNumber]),
        reached: &mut Checkpoint,
        now: Timestamp,
        deadline: Instant,
    ) -> Result<(), CommitError> {
        for chunk in chunks {
            let recorded = (|| self.record_values(shard, reached, &chunk, now)).retry(patient_backoff());
            let distinct = with_deadline(deadline, recorded.when(CommitError::is_transient)).await?;
            let additions = Additions::of(&self.rollup, &chunk, &distinct);
            reached.trail = chunk.through.map_or_else(Trail::default, |through| Trail::of(numbers, through));
            *reached = self.add(shard, reached, chunk.through, additions, now, deadline).await?;
        }
        Ok(())
    }

    /// Records the values of a chunk. Returns what it adds to the distinct counts.
    async fn record_values(
        &self,
        shard: &Shard,
        checkpoint: &Checkpoint,
        chunk: &Chunk,
        now: Timestamp,
    ) -> Result<DistinctChanges, CommitError> {
        let mut cached = self.state.lock().await;
        cached.extremes.write(&self.table, &self.rollup, chunk).await?;
        let items = distinct::items(&self.rollup, chunk);
        let Some(through) = chunk.through.filter(|_| !items.is_empty()) else { return Ok(DistinctChanges::new()) };
        let counted = self.rules.claimed(checkpoint.number);
        if self.rollup.retracts() {
            let rollup = &self.rollup.name;
            let position = Position { rollup, shard, checkpoint: counted, through, rules: self.rules };
            return cached.holdings.apply(&self.table, position, &items, now).await;
        }
        Ok(cached.first_seen_records.record(&self.table, shard.hash(), counted, &items, self.rules).await?)
    }

    /// Runs before the checkpoint moves past these records. A crash between the two then writes a
    /// record twice under one key; in the other order it would be lost.
    async fn quarantine_unreadable(
        &self,
        shard: &Shard,
        batch: &Batch<'_>,
        checkpoint: &Checkpoint,
        now: Timestamp,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        for record in &batch.unreadable {
            let number = record.number.as_ref().map(|(number, _)| *number);
            if number.zip(checkpoint.number).is_some_and(|(number, checkpoint)| number <= checkpoint) {
                continue;
            }
            quarantine::put(&self.table, &self.rollup.name, shard, record, now).await?;
            report.quarantined += 1;
            let (code, message) = (&record.why.code, &record.why.message);
            tracing::error!(shard_id = shard.id(), sequence_number = ?number, code, message, "a record is quarantined");
        }
        Ok(())
    }
}

/// Stops a step at the deadline, so that the reply can still report the counted chunks. A stopped
/// request may have taken effect; the next delivery finds out.
async fn with_deadline<A, E: From<StoreError>>(
    deadline: Instant,
    step: impl IntoFuture<Output = Result<A, E>>,
) -> Result<A, E> {
    let out_of_time = |_| Err(StoreError::Unavailable("the invocation has no time left".to_owned()).into());
    timeout_at(deadline, step.into_future()).await.unwrap_or_else(out_of_time)
}
