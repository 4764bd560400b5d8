//! One shard of one mapping: reads records, forms batches, delivers them in order, and moves the
//! checkpoint.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::OptionFuture;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::MappingContext;
use super::batch_response::{self, BatchResponse};
use super::buffer::{Batch, BatchLimits, Buffer, NextBatch};
use super::checkpoint::Checkpoint;
use super::failure_destination::DiscardedBatch;
use super::poll_interval::PollInterval;
use super::progress::NotedProgress;
use super::reader::{PAGE_RECORDS_MAX, ShardReader};
use super::record::StreamRecord;
use super::retry::{BatchRun, InvocationOutcome, RetryPolicy, RetryStep};
use super::source::SourceRecord;
use super::window::Windows;
use crate::clock::{Alarm, Clock, Wait};
use crate::functions::{InvokeError, PAYLOAD_BYTES_MAX};

/// Space in an event for fields other than records and state.
const ENVELOPE_BYTES: usize = 4 * 1024;

/// Pause before the first retry; each further one doubles it.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause between retries.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(10);

/// Retries of a window's final invocation if the mapping sets no limit.
const FINAL_RETRIES_MAX: u32 = 100;

pub(super) struct Worker {
    context: Arc<MappingContext>,
    shard_id: String,
    reader: ShardReader,
    poll_interval: PollInterval,
    buffer: Buffer,
    windows: Option<Windows>,
    /// The end of the batching window or of the tumbling window.
    end: Option<Alarm>,
    checkpoint: Checkpoint,
}

/// A stream event in Lambda's format; the fields of `window` exist only with a tumbling window.
#[derive(Serialize)]
struct Event<'a> {
    #[serde(rename = "Records")]
    records: Vec<&'a RawValue>,
    #[serde(flatten)]
    window: Option<WindowFields<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WindowFields<'a> {
    window: WindowSpan,
    state: Map<String, Value>,
    shard_id: &'a str,
    #[serde(rename = "eventSourceARN")]
    event_source_arn: &'a str,
    is_final_invoke_for_window: bool,
    is_window_terminated_early: bool,
}

#[derive(Serialize)]
struct WindowSpan {
    start: String,
    end: String,
}

impl Worker {
    pub(super) fn new(context: Arc<MappingContext>, shard_id: String, checkpoint: Checkpoint) -> Self {
        let after = checkpoint.sequence_number.clone();
        let reader = ShardReader::new(Arc::clone(&context.source), shard_id.clone(), after);
        let length = context.mapping.tumbling_window;
        let windows = (!length.is_zero()).then(|| Windows::new(length, checkpoint.window.clone()));
        let poll_interval = PollInterval::new(context.writes.clone(), context.polls.subscribe());
        let buffer = Buffer::default();
        Self { context, shard_id, reader, poll_interval, buffer, windows, end: None, checkpoint }
    }

    /// Runs until the shard is closed and drained, and returns its id.
    ///
    /// # Errors
    /// When a checkpoint or a failure message cannot be written: then no record may be skipped.
    pub(super) async fn run(mut self) -> std::io::Result<()> {
        loop {
            let mut page_size = 0;
            let wanted = self.poll_interval.poll_started();
            if !self.reader.is_closed() && !self.buffer.is_full(self.limits()) {
                let page = self.reader.page().await;
                if self.reader.take_lost() {
                    self.context.note_lost()?;
                }
                page_size = page.len();
                self.buffer_page(page);
            }
            self.set_end();
            let (is_due, is_over) = (self.is_due(page_size), self.window_is_over());
            self.note_progress(page_size == 0, (page_size == 0 && !is_due && !is_over).then_some(wanted));
            if is_due {
                self.deliver_batches().await?;
            }
            // Asked again: the delivery may have ended that window and opened another one.
            if self.buffer.is_empty() && (self.reader.is_closed() || self.window_is_over()) {
                self.end_window(false).await?;
            }
            if self.buffer.is_empty() && self.reader.is_closed() {
                self.checkpoint.drained = true;
                self.save().await?;
                self.context.progress.forget(&self.shard_id);
                return Ok(());
            }
            if page_size == 0 {
                tokio::select! {
                    () = self.poll_interval.wait(self.end.is_some()) => {}
                    Some(()) = OptionFuture::from(self.end.as_ref().map(Alarm::reached)) => {}
                }
            } else {
                self.poll_interval.records_found();
            }
        }
    }

    fn buffer_page(&mut self, page: Vec<SourceRecord>) {
        let filters = &self.context.filters;
        let since_ms = self.checkpoint.since_ms.unwrap_or(i64::MIN);
        let added_ms = self.clock().added_ms();
        self.buffer.extend(page.into_iter().map(|record| {
            let mut record = StreamRecord::new(record, filters);
            // Stream times are whole seconds. Deliver the whole second in which `LATEST` began,
            // rather than lose records.
            if record.created_ms.saturating_add(999) < since_ms {
                record.event = None;
            }
            // From here on the time is the stack's.
            record.created_ms = record.created_ms.saturating_add(added_ms);
            record
        }));
    }

    /// Whether to deliver now: the batch is full, its batching window has passed, or the mapping
    /// has none and the stream has no more records for now.
    fn is_due(&self, page_size: usize) -> bool {
        let window = self.context.mapping.batching_window;
        let caught_up = window.is_zero() && page_size < PAGE_RECORDS_MAX;
        let waited = !window.is_zero() && self.end.as_ref().is_some_and(Alarm::is_over);
        let only_dropped = self.buffer.waiting().0 == 0;
        !self.buffer.is_empty()
            && (caught_up || waited || only_dropped || self.reader.is_closed() || self.buffer.is_full(self.limits()))
    }

    fn window_is_over(&self) -> bool {
        self.windows.as_ref().is_some_and(|windows| windows.is_over(self.clock().now().as_millisecond()))
    }

    fn limits(&self) -> BatchLimits {
        let state = self.windows.as_ref().and_then(Windows::open).map(|open| &open.state);
        let state_bytes = state.and_then(|state| serde_json::to_vec(state).ok()).map_or(0, |state| state.len());
        BatchLimits {
            records_max: self.context.mapping.batch_size,
            size_bytes_max: PAYLOAD_BYTES_MAX - ENVELOPE_BYTES - state_bytes.min(PAYLOAD_BYTES_MAX / 2),
        }
    }

    /// Delivers the buffered batches; with a batching window, only one batch.
    async fn deliver_batches(&mut self) -> std::io::Result<()> {
        loop {
            match self.buffer.take(self.limits(), self.windows.as_ref()) {
                NextBatch::Batch(batch) => {
                    self.end = None;
                    self.deliver(batch).await?;
                    if !self.context.mapping.batching_window.is_zero() {
                        return Ok(());
                    }
                }
                NextBatch::Skipped(through) => {
                    self.checkpoint.sequence_number = Some(through);
                    self.save().await?;
                }
                NextBatch::EndWindow => self.end_window(false).await?,
                NextBatch::Nothing => return Ok(()),
            }
        }
    }

    async fn deliver(&mut self, batch: Batch) -> std::io::Result<()> {
        let created_ms = batch.records.iter().map(|record| record.created_ms).collect();
        let mut run = BatchRun::new(created_ms, RetryPolicy::of(&self.context.mapping));
        self.note("Batches", 1);
        let mut unreached = 0_u32;
        loop {
            let before = run.settled();
            match run.next(self.clock().now().as_millisecond()) {
                RetryStep::Invoke { records, failures } => {
                    let tries = failures.saturating_add(unreached);
                    self.note("Retries", usize::from(tries > 0));
                    pause_before_retry(tries).await;
                    let (bisects, length) = (run.bisects(), records.len());
                    let outcome = self.invoke(&batch, records).await;
                    unreached = if outcome == InvocationOutcome::NotInvoked { unreached.saturating_add(1) } else { 0 };
                    run.settle(outcome);
                    let failed = outcome != InvocationOutcome::Succeeded && outcome != InvocationOutcome::NotInvoked;
                    self.note("FailedInvokeEventCount", if failed { length } else { 0 });
                    self.note("Bisects", (run.bisects() - bisects) as usize);
                }
                RetryStep::Discard { records, condition, failures } => {
                    self.context.destination.send(&DiscardedBatch {
                        function_arn: &self.context.function_arn,
                        stream_kind: self.context.source.kind(),
                        stream_arn: &self.context.stream_arn,
                        shard_id: &self.shard_id,
                        condition,
                        invoke_count: failures,
                        records: &batch.records[records.clone()],
                    })?;
                    let lost = self.context.destination.queue().is_none();
                    let metric = if lost { "DroppedEventCount" } else { "OnFailureDestinationDeliveredEventCount" };
                    self.note(metric, records.len());
                    run.discarded(&records);
                }
                RetryStep::Done => return Ok(()),
            }
            let settled = run.settled();
            if settled > before {
                let whole = settled == batch.records.len();
                let through = if whole { &batch.through } else { &batch.records[settled - 1].sequence_number };
                self.checkpoint.sequence_number = Some(through.clone());
                self.save().await?;
            }
            if self.windows.as_ref().is_some_and(Windows::is_overfull) {
                self.end_window(true).await?;
            }
        }
    }

    async fn invoke(&mut self, batch: &Batch, records: std::ops::Range<usize>) -> InvocationOutcome {
        let first = records.start;
        let records = &batch.records[records];
        let window =
            self.windows.as_ref().map(|windows| self.window_fields(windows, batch.window_start_ms, false, false));
        let event = Event { records: records.iter().filter_map(|record| record.event.as_deref()).collect(), window };
        let Ok(payload) = serde_json::to_vec(&event) else { return InvocationOutcome::Failed };
        self.note("InvokedEventCount", records.len());
        if let Some(last) = records.last() {
            let age_ms = self.clock().now().as_millisecond().saturating_sub(last.created_ms).max(0);
            self.context.pool.metrics().record(&self.context.subject, "IteratorAge", age_ms as f64);
        }
        let sequence_numbers: Vec<&str> = records.iter().map(|record| record.sequence_number.as_str()).collect();
        let answer = self.call(payload.into(), first, &sequence_numbers).await;
        let progressed = match answer.outcome {
            InvocationOutcome::Succeeded => true,
            InvocationOutcome::FailedFrom(at) => at > first,
            InvocationOutcome::Failed | InvocationOutcome::NotInvoked => false,
        };
        if let (true, Some(windows), Some(state)) = (progressed, &mut self.windows, answer.state) {
            windows.carry(batch.window_start_ms, state);
        }
        answer.outcome
    }

    /// Ends the open window, if there is one, with its final invocation.
    async fn end_window(&mut self, early: bool) -> std::io::Result<()> {
        let Some((windows, open)) = self.windows.as_ref().and_then(|windows| Some((windows, windows.open()?))) else {
            return Ok(());
        };
        let window = Some(self.window_fields(windows, open.start_ms, true, early));
        let payload = serde_json::to_vec(&Event { records: Vec::new(), window }).map(Bytes::from)?;
        let retries = self.context.mapping.retry_attempts_max.unwrap_or(FINAL_RETRIES_MAX);
        let mut failures = 0;
        while failures <= retries {
            pause_before_retry(failures).await;
            if self.call(payload.clone(), 0, &[]).await.outcome == InvocationOutcome::Succeeded {
                break;
            }
            failures += 1;
        }
        if failures > retries {
            tracing::error!(
                "{}: a window's final invocation failed {failures} times; its state is discarded",
                self.context.name
            );
        }
        if let Some(windows) = &mut self.windows {
            windows.end();
        }
        self.save().await
    }

    fn window_fields(&self, windows: &Windows, start_ms: i64, is_final: bool, early: bool) -> WindowFields<'_> {
        let time = |ms| Timestamp::from_millisecond(ms).map(|time| time.to_string()).unwrap_or_default();
        WindowFields {
            window: WindowSpan { start: time(start_ms), end: time(windows.end_ms(start_ms)) },
            state: windows.state(start_ms),
            shard_id: &self.shard_id,
            event_source_arn: &self.context.stream_arn,
            is_final_invoke_for_window: is_final,
            is_window_terminated_early: early,
        }
    }

    async fn call(&self, payload: Bytes, first: usize, sequence_numbers: &[&str]) -> BatchResponse {
        let pool = &self.context.pool;
        let invocation = pool.invoke(payload.clone()).await;
        if pool.faults().delivers_twice(pool.names()) {
            tracing::warn!("{}: injected fault: the batch is delivered twice", self.context.name);
            drop(pool.invoke(payload).await);
        }
        let outcome = match invocation {
            Ok(invocation) => match invocation.outcome {
                Ok(body) => {
                    let reports = self.context.mapping.report_batch_item_failures;
                    return batch_response::read(&body, first, sequence_numbers, reports, self.windows.is_some());
                }
                Err(_) => InvocationOutcome::Failed,
            },
            Err(InvokeError::TooLarge) => InvocationOutcome::Failed,
            Err(InvokeError::Throttled | InvokeError::Stopping) => InvocationOutcome::NotInvoked,
        };
        BatchResponse { outcome, state: None }
    }

    async fn save(&mut self) -> std::io::Result<()> {
        self.checkpoint.window = self.windows.as_ref().and_then(Windows::open).cloned();
        self.context.checkpoints.save(&self.shard_id, &self.checkpoint).await
    }

    /// Records a count as a metric, unless it is 0.
    fn note(&self, metric: &str, count: usize) {
        if count > 0 {
            self.context.pool.metrics().record(&self.context.subject, metric, count as f64);
        }
    }

    /// `rests`: the last poll that somebody wanted, if there is nothing to do before the next record
    /// or the next alarm.
    fn note_progress(&self, has_read_all: bool, rests: Option<u64>) {
        let (waiting, oldest_ms) = self.buffer.waiting();
        let noted = NotedProgress {
            sequence_number: self.checkpoint.sequence_number.clone(),
            waiting,
            oldest_ms: oldest_ms.map(|oldest_ms| oldest_ms.saturating_sub(self.clock().added_ms())),
            caught_up: has_read_all && self.buffer.is_empty(),
            rests,
        };
        self.context.progress.note(&self.shard_id, noted);
    }

    fn clock(&self) -> &Arc<Clock> {
        self.context.pool.clock()
    }

    /// Sets the alarm for the end of the batching window, which begins with the first record, or of
    /// the open tumbling window.
    fn set_end(&mut self) {
        let clock = self.clock();
        let window = self.context.mapping.batching_window;
        let open = self.windows.as_ref().and_then(Windows::over_ms);
        if !window.is_zero() && self.buffer.waiting().0 > 0 {
            if self.end.as_ref().is_none_or(|end| end.wait() != Wait::Batch) {
                self.end = Some(clock.set_alarm(clock.instant() + window, Wait::Batch, &*self.context.name));
            }
        } else if let Some(over_ms) = open {
            let left_ms = over_ms.saturating_sub(clock.now().as_millisecond()).max(0).unsigned_abs();
            let over = clock.instant() + Duration::from_millis(left_ms);
            self.end = Some(clock.set_alarm(over, Wait::Time, &*self.context.name));
        } else {
            self.end = None;
        }
    }
}

/// Waits before a retry: exponential backoff from [`RETRY_PAUSE`], with jitter of up to half the
/// pause so that shards do not retry at the same moment.
async fn pause_before_retry(failures: u32) {
    let Some(doublings) = failures.checked_sub(1) else { return };
    let pause = RETRY_PAUSE.saturating_mul(1 << doublings.min(10)).min(RETRY_PAUSE_MAX);
    tokio::time::sleep(pause.mul_f64(1.0 - fastrand::f64() / 2.0)).await;
}
