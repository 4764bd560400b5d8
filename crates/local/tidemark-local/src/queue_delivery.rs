//! The one place through which rules, topics and destinations send messages to queues.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::queues::{NewMessage, Queues};

/// Message attributes of the type `String`.
pub(crate) fn text_attributes(texts: BTreeMap<String, String>) -> Map<String, Value> {
    texts.into_iter().map(|(name, text)| (name, json!({ "DataType": "String", "StringValue": text }))).collect()
}

/// Sends messages to the queues of the stack.
#[derive(Debug)]
pub(crate) struct QueueDelivery(Arc<Queues>);

impl QueueDelivery {
    /// A delivery to these queues.
    pub(crate) fn new(queues: &Arc<Queues>) -> Self {
        Self(Arc::clone(queues))
    }

    /// Sends a message to the queue with this ARN. The log shows a message that cannot be sent.
    pub(crate) fn send(&self, queue: &str, message: NewMessage) {
        if let Err(error) = self.0.send(queue, message) {
            tracing::error!("a message to {queue} is lost: {error}");
        }
    }
}
