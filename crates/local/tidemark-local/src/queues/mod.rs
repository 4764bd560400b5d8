//! The queues of a template: an SQS in memory, and the mappings that invoke functions with its
//! messages.
//!
//! Messages are lost when the stack stops.

mod api;
mod mapping;
mod md5;
mod queue;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

pub(crate) use self::api::{PATH, router};
pub(crate) use self::mapping::QueueMappings;
pub(crate) use self::queue::{MESSAGE_BYTES_MAX, SendError};
use self::queue::{NewMessage, Queue};
use crate::stack;

/// All queues of a stack, by name.
#[derive(Debug, Default)]
pub(crate) struct Queues(BTreeMap<String, Arc<Queue>>);

impl Queues {
    /// Empty queues.
    #[must_use]
    pub(crate) fn new(queues: &[stack::Queue]) -> Self {
        Self(queues.iter().map(|queue| (queue.name.clone(), Arc::new(Queue::new(queue.clone())))).collect())
    }

    /// A queue by name, ARN or URL: each ends with the name.
    fn get(&self, id: &str) -> Option<&Arc<Queue>> {
        self.0.get(id.rsplit(['/', ':']).next().unwrap_or(id))
    }

    /// Sends a message to the queue with this ARN, for another service.
    ///
    /// # Errors
    /// [`SendError`] if there is no such queue, or it is full.
    pub(crate) fn send(&self, arn: &str, body: &str, attributes: &BTreeMap<String, String>) -> Result<(), SendError> {
        let queue = self.get(arn).ok_or(SendError::NoQueue)?;
        let attribute = |value: &String| json!({ "DataType": "String", "StringValue": value });
        let message = NewMessage {
            body: body.to_owned(),
            attributes: attributes.iter().map(|(name, value)| (name.clone(), attribute(value))).collect(),
            // A FIFO queue needs a group; all messages of other services share one.
            group: queue.definition.fifo.then(|| "default".to_owned()),
            ..NewMessage::default()
        };
        queue.send(message, Instant::now()).map(|_| ())
    }

    /// Name, waiting and received messages of each queue.
    #[must_use]
    pub(crate) fn counts(&self) -> Vec<Value> {
        let counts = |queue: &Arc<Queue>| {
            let (waiting, in_flight, delayed) = queue.counts(Instant::now());
            json!({ "name": queue.definition.name, "waiting": waiting, "inFlight": in_flight, "delayed": delayed })
        };
        self.0.values().map(counts).collect()
    }

    /// Moves messages that were received too often to their dead-letter queue.
    fn redrive(&self, dead: Vec<queue::Message>, target: Option<&str>) {
        let Some(target) = target.and_then(|arn| self.get(arn)) else { return };
        for message in dead {
            target.take_over(message, Instant::now());
        }
    }

    /// Receives messages, and redrives those that were received too often.
    fn receive(&self, queue: &Queue, count: usize, visibility: Option<std::time::Duration>) -> Vec<queue::Received> {
        let (received, dead) = queue.receive(count, visibility, Instant::now());
        if !dead.is_empty() {
            self.redrive(dead, queue.definition.redrive.as_ref().map(|redrive| redrive.target_arn.as_str()));
        }
        received
    }
}
