//! The one place through which rules, topics and destinations send messages to queues.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::queues::Queues;

/// A message for a queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct QueueMessage {
    /// The body.
    pub(crate) body: String,
    /// Message attributes of the type `String`, by name.
    pub(crate) attributes: BTreeMap<String, String>,
}

impl QueueMessage {
    /// A message without attributes.
    pub(crate) fn of(body: String) -> Self {
        Self { body, ..Self::default() }
    }
}

/// Sends messages to the queues of the stack.
#[derive(Debug)]
pub(crate) struct QueueDelivery(Arc<Queues>);

impl QueueDelivery {
    /// Sends to these queues.
    pub(crate) fn new(queues: &Arc<Queues>) -> Self {
        Self(Arc::clone(queues))
    }

    /// Sends a message to the queue with this ARN. A message that the queue refuses is dropped. The
    /// queue gets no message attributes yet.
    pub(crate) fn send(&self, queue: &str, message: &QueueMessage) {
        if let Err(error) = self.0.send(queue, &message.body, None) {
            tracing::warn!("a message to {queue} was dropped: {error}");
        }
    }
}
