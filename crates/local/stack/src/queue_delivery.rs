//! The one place through which rules, topics and destinations send messages to queues.

use std::collections::BTreeMap;

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
#[derive(Debug, Default)]
pub(crate) struct QueueDelivery;

impl QueueDelivery {
    /// Sends a message to the queue with this ARN. Queues cannot be read on this machine yet, so
    /// the message is only logged.
    #[expect(clippy::unused_self, reason = "the queues of the stack belong here once they exist")]
    pub(crate) fn send(&self, queue: &str, message: QueueMessage) {
        let QueueMessage { body, attributes } = message;
        tracing::info!("message to {queue} {attributes:?}: {body}");
    }
}
