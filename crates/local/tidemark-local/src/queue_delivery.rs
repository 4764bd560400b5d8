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
    /// A delivery to these queues.
    #[must_use]
    pub(crate) fn new(queues: &Arc<Queues>) -> Self {
        Self(Arc::clone(queues))
    }

    /// Sends a message to the queue with this ARN. The log shows a message that cannot be sent.
    pub(crate) fn send(&self, queue: &str, message: &QueueMessage) {
        let QueueMessage { body, attributes } = message;
        if let Err(error) = self.0.send(queue, body, attributes) {
            tracing::error!("a message to {queue} is lost: {error}");
        }
    }
}
