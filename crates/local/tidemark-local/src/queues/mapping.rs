//! Event source mappings on queues: invoke a function with batches of messages.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html>. A batch
//! whose function fails stays in the queue, and becomes visible after the visibility time-out.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::OptionFuture;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::queue::{Queue, Received};
use super::{Queues, md5, receiving};
use crate::arn;
use crate::clock::{Alarm, Wait, Work};
use crate::event_source_mapping::filter::{FilterError, Filters};
use crate::functions::{Functions, Invocation, PAYLOAD_BYTES_MAX, Pool};
use crate::policies::{Policies, Request};
use crate::stack::{DEBUG_TIME_MAX, QueueMapping};

/// Batches of a mapping that run at a time, if `MaximumConcurrency` does not say: Lambda begins
/// with five.
const CONCURRENCY: usize = 5;

/// The size of an event without records.
const EVENT_OVERHEAD_BYTES: usize = 16;

/// The running mappings of a stack's queues.
#[derive(Debug)]
pub(crate) struct QueueMappings {
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// Why a mapping does not start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueueMappingError {
    /// A filter is invalid.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The function's role does not let it read the queue.
    #[error("the function's role must allow what a mapping does: {0}")]
    Role(String),
    /// There is no such queue.
    #[error("there is no queue {0}")]
    NoQueue(String),
}

/// One mapping of one function.
struct Mapping {
    /// In messages about work that is under way.
    name: Arc<str>,
    queues: Arc<Queues>,
    queue: Arc<Queue>,
    pool: Arc<Pool>,
    definition: QueueMapping,
    filters: Filters,
    /// Whether a pattern looks into the body as JSON.
    filters_json_body: bool,
    /// One worker at a time gathers a batch. Otherwise each would gather a part of it.
    gathering: Mutex<()>,
}

impl QueueMappings {
    /// Starts the mappings of all functions.
    ///
    /// # Errors
    /// [`QueueMappingError`] for the first mapping that cannot run, with its function.
    pub(crate) fn start(
        functions: &Functions,
        queues: &Arc<Queues>,
        policies: &Policies,
    ) -> Result<Self, (String, QueueMappingError)> {
        let mappings = Self { stop: CancellationToken::new(), tasks: TaskTracker::new() };
        for pool in functions.all() {
            let enabled = pool.function().queue_mappings.iter().filter(|mapping| mapping.enabled);
            for definition in enabled {
                let name = || format!("mapping {} of {}", definition.event_id, pool.function().short_name());
                let mapping = Mapping::new(pool, queues, definition, policies).map_err(|error| (name(), error))?;
                let mapping = Arc::new(mapping);
                for _ in 0..definition.concurrency_max.unwrap_or(CONCURRENCY) {
                    let work = Arc::clone(&mapping).work();
                    mappings.tasks.spawn(mappings.stop.clone().run_until_cancelled_owned(work));
                }
            }
        }
        mappings.tasks.close();
        Ok(mappings)
    }

    /// Stops all mappings. Received messages become visible again after their time-out.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Queues {
    /// Receives messages, and waits up to `wait` for the first one.
    pub(super) async fn receive_waiting(
        &self,
        queue: &Queue,
        count: usize,
        visibility: Option<Duration>,
        wait: Duration,
    ) -> Vec<Received> {
        let end = tokio::time::Instant::now() + wait;
        loop {
            // Registered before the queue is read, so that no message is missed between.
            let arrived = queue.arrived.notified();
            // One time for both: a message that becomes visible between them would be missed.
            let now = self.clock.instant();
            let received = self.receive(queue, count, visibility, now);
            if !received.is_empty() || tokio::time::Instant::now() >= end {
                return received;
            }
            tokio::select! {
                () = arrived => {}
                () = self.next_visible(queue, now) => {}
                () = tokio::time::sleep_until(end) => {}
            }
        }
    }

    /// Waits until the next message becomes visible by itself after `now`.
    async fn next_visible(&self, queue: &Queue, now: Instant) {
        match queue.next_visible(now) {
            Some(time) => self.clock.reached(time).await,
            None => std::future::pending().await,
        }
    }
}

impl Mapping {
    fn new(
        pool: &Arc<Pool>,
        queues: &Arc<Queues>,
        definition: &QueueMapping,
        policies: &Policies,
    ) -> Result<Self, QueueMappingError> {
        let queue =
            queues.get(&definition.queue).ok_or_else(|| QueueMappingError::NoQueue(definition.queue.clone()))?;
        for action in ["ReceiveMessage", "DeleteMessage", "GetQueueAttributes"] {
            let request = Request {
                action: format!("sqs:{action}"),
                resource: queue.definition().arn.clone(),
                ..Request::default()
            };
            policies.allow(&pool.function().name, &request).map_err(QueueMappingError::Role)?;
        }
        let name = format!("messages of {} for {}", queue.definition().name, pool.function().short_name());
        Ok(Self {
            name: name.into(),
            queues: Arc::clone(queues),
            queue,
            pool: Arc::clone(pool),
            filters: Filters::compile(&definition.filters)?,
            filters_json_body: definition
                .filters
                .iter()
                .any(|pattern| pattern.get("body").is_some_and(Value::is_object)),
            definition: definition.clone(),
            gathering: Mutex::default(),
        })
    }

    async fn work(self: Arc<Self>) {
        loop {
            let (batch, _work) = self.batch().await;
            self.invoke(&batch).await;
        }
    }

    /// The next batch: full, or as long in gathering as the batching window. It is under way from
    /// before its messages are received, so that nobody sees a moment between.
    async fn batch(&self) -> (Vec<Received>, Work) {
        let _gathering = self.gathering.lock().await;
        let (clock, window) = (self.pool.clock(), self.definition.batching_window);
        let mut batch = Vec::new();
        let mut end: Option<Alarm> = None;
        loop {
            // Registered before the queue is read, so that no message is missed between.
            let arrived = self.queue.arrived.notified();
            let work = clock.begin(Arc::clone(&self.name));
            let is_over = window.is_zero() || end.as_ref().is_some_and(Alarm::is_over);
            // One time for both: a message that becomes visible between them would be missed.
            let now = clock.instant();
            self.gather(&mut batch, now);
            if batch.len() >= self.definition.batch_size || (is_over && !batch.is_empty()) {
                return (batch, work);
            }
            if !batch.is_empty() && end.is_none() {
                end = Some(clock.set_alarm(now + window, Wait::Batch, Arc::clone(&self.name)));
            }
            drop(work);
            tokio::select! {
                () = arrived => {}
                () = self.queues.next_visible(&self.queue, now) => {}
                Some(()) = OptionFuture::from(end.as_ref().map(Alarm::reached)) => {}
            }
        }
    }

    /// Adds messages to a batch. Those that do not pass the filters are deleted, as Lambda does.
    fn gather(&self, batch: &mut Vec<Received>, now: Instant) {
        while batch.len() < self.definition.batch_size {
            let visibility = self.pool.function().is_debugged.then_some(DEBUG_TIME_MAX);
            let count = self.definition.batch_size - batch.len();
            let received = self.queues.receive(&self.queue, count, visibility, now);
            if received.is_empty() {
                return;
            }
            let (passed, filtered): (Vec<_>, Vec<_>) = received.into_iter().partition(|received| self.passes(received));
            filtered.iter().for_each(|received| self.queue.delete(&received.receipt));
            batch.extend(passed);
        }
    }

    fn passes(&self, received: &Received) -> bool {
        let mut record = self.record(received);
        if self.filters_json_body {
            let Ok(body) = serde_json::from_str::<Value>(&received.message.body) else { return false };
            record["body"] = body;
        }
        self.filters.pass(&record)
    }

    /// Invokes the function with a batch. A batch that is too large for one invocation becomes two or
    /// more.
    async fn invoke(&self, batch: &[Received]) {
        let records: Vec<String> = batch.iter().map(|received| self.record(received).to_string()).collect();
        let (mut batch, mut records) = (batch, records.as_slice());
        while !batch.is_empty() {
            let mut bytes = EVENT_OVERHEAD_BYTES;
            let fitting = records.iter().take_while(|record| {
                bytes += record.len() + 1;
                bytes <= PAYLOAD_BYTES_MAX
            });
            let (now, later) = batch.split_at(fitting.count().max(1));
            let (its_records, other_records) = records.split_at(now.len());
            self.invoke_with(now, &format!("{{\"Records\":[{}]}}", its_records.join(","))).await;
            (batch, records) = (later, other_records);
        }
    }

    async fn invoke_with(&self, batch: &[Received], event: &str) {
        self.deliver(batch, event).await;
        if self.pool.function().is_debugged {
            let (visibility, now) = (self.queue.definition().visibility_timeout, self.pool.clock().instant());
            for received in batch {
                self.queue.change_visibility(&received.receipt, visibility, now);
            }
        }
    }

    async fn deliver(&self, batch: &[Received], event: &str) {
        let outcome = match self.pool.invoke(event.to_owned().into()).await {
            Ok(Invocation { outcome: Ok(body), .. }) => body,
            // The messages stay until their visibility time-out ends.
            Ok(_) | Err(_) => return,
        };
        let Some(failed) = self.failed(&outcome, batch) else { return };
        for received in batch.iter().filter(|received| !failed.contains(&received.message.id)) {
            self.queue.delete(&received.receipt);
        }
    }

    /// The ids of the messages that the function reported as failures; `None` if all count as
    /// failed, because an id is not one of the batch.
    fn failed(&self, response: &[u8], batch: &[Received]) -> Option<BTreeSet<String>> {
        if !self.definition.report_batch_item_failures {
            return Some(BTreeSet::new());
        }
        let response: Value = serde_json::from_slice(response).unwrap_or_default();
        let failures =
            response.get("batchItemFailures").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let id = |failure: &Value| {
            let id = failure.get("itemIdentifier")?.as_str()?;
            batch.iter().any(|received| received.message.id == id).then(|| id.to_owned())
        };
        failures.iter().map(id).collect()
    }

    /// The record of a message.
    ///
    /// Source: <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>.
    fn record(&self, received: &Received) -> Value {
        let Received { message, receipt } = received;
        json!({
            "messageId": message.id,
            "receiptHandle": receipt,
            "body": message.body,
            "attributes": receiving::system_attributes(message),
            "messageAttributes": lower_case(&message.attributes),
            "md5OfBody": md5::of_body(&message.body),
            "eventSource": "aws:sqs",
            "eventSourceARN": self.queue.definition().arn,
            "awsRegion": arn::region(),
        })
    }
}

/// Message attributes with the field names of Lambda's event.
fn lower_case(attributes: &Map<String, Value>) -> Value {
    let attribute = |(name, value): (&String, &Value)| {
        let mut fields = json!({
            "stringListValues": [],
            "binaryListValues": [],
            "dataType": value.get("DataType").cloned().unwrap_or_default(),
        });
        for (from, to) in [("StringValue", "stringValue"), ("BinaryValue", "binaryValue")] {
            if let Some(value) = value.get(from) {
                fields[to] = value.clone();
            }
        }
        (name.clone(), fields)
    };
    Value::Object(attributes.iter().map(attribute).collect())
}
