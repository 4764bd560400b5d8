//! The queues of a template: an SQS in memory, and the mappings that invoke functions with its
//! messages.
//!
//! Messages are lost when the stack stops.

mod api;
mod attributes;
mod batch;
mod error;
mod management;
mod mapping;
mod md5;
mod peek;
mod queue;
mod receiving;
mod request;
mod sending;

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub(crate) use self::api::{PATH, router};
pub(crate) use self::attributes::GROUP_LIMIT_WITHOUT_GROUPS;
pub(crate) use self::error::SendError;
pub(crate) use self::management::url;
pub(crate) use self::mapping::QueueMappings;
use self::queue::Queue;
pub(crate) use self::queue::{MESSAGE_BYTES_MAX, NewMessage, content_id};
pub(crate) use self::sending::is_number;
use crate::clock::Clock;
use crate::stack;

/// All queues of a stack, by name.
#[derive(Debug)]
pub(crate) struct Queues {
    by_name: RwLock<BTreeMap<String, Arc<Queue>>>,
    clock: Arc<Clock>,
}

impl Queues {
    /// Empty queues on a clock.
    pub(crate) fn new(queues: &[stack::Queue], clock: &Arc<Clock>) -> Self {
        let queue = |queue: &stack::Queue| (queue.name.clone(), Arc::new(Queue::new(queue.clone())));
        Self { by_name: RwLock::new(queues.iter().map(queue).collect()), clock: Arc::clone(clock) }
    }

    /// A queue by name, ARN or URL: each ends with the name.
    fn get(&self, id: &str) -> Option<Arc<Queue>> {
        let all = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        all.get(id.rsplit(['/', ':']).next().unwrap_or(id)).map(Arc::clone)
    }

    /// All queues in the order of their names.
    fn all(&self) -> Vec<Arc<Queue>> {
        self.by_name.read().unwrap_or_else(PoisonError::into_inner).values().map(Arc::clone).collect()
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Arc<Queue>>> {
        self.by_name.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a message to the queue with this ARN, for another service.
    pub(crate) fn send(&self, arn: &str, mut message: NewMessage) -> Result<(), SendError> {
        let queue = self.get(arn).ok_or(SendError::NoQueue)?;
        let fifo = queue.definition().fifo;
        // A FIFO queue needs a group; the messages of senders that name none share one.
        message.group = message.group.or_else(|| fifo.then(|| "default".to_owned()));
        message.deduplication = message.deduplication.filter(|_| fifo);
        queue.send(message, self.clock.instant()).map(|_| ())
    }

    /// Name, waiting and received messages of each queue.
    pub(crate) fn counts(&self) -> Vec<Value> {
        let counts = |queue: &Arc<Queue>| {
            let (waiting, in_flight, delayed) = queue.counts(self.clock.instant());
            let definition = queue.definition();
            let dead_letters = definition.redrive.as_ref().and_then(|redrive| redrive.target_arn.rsplit(':').next());
            json!({
                "name": definition.name,
                "waiting": waiting,
                "inFlight": in_flight,
                "delayed": delayed,
                "deadLetterQueue": dead_letters,
            })
        };
        self.all().iter().map(counts).collect()
    }

    /// The number of messages that the queue `id` can give out now, and the time from which it can
    /// give out another.
    pub(crate) fn waiting(&self, id: &str) -> (usize, Option<Instant>) {
        let Some(queue) = self.get(id) else { return (0, None) };
        let now = self.clock.instant();
        (queue.receivable(now), queue.next_visible(now))
    }

    /// The bodies of all messages of a queue, in the order of sending; `None` without such a queue.
    pub(crate) fn bodies(&self, id: &str) -> Option<Vec<String>> {
        Some(self.get(id)?.first(usize::MAX, self.clock.instant()).into_iter().map(|message| message.body).collect())
    }

    /// Receives messages, and moves those that were received too often to the dead-letter queue.
    fn receive(&self, queue: &Queue, count: usize, visibility: Option<Duration>, now: Instant) -> Vec<queue::Received> {
        let (received, dead) = queue.receive(count, visibility, now);
        let definition = queue.definition();
        let target = definition.redrive.as_ref().and_then(|redrive| self.get(&redrive.target_arn));
        for (message, target) in dead.into_iter().zip(target.iter().cycle()) {
            target.take_over(message, &definition.arn, now);
        }
        received
    }
}
