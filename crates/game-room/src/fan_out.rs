//! Fan-out to all listeners. A slow, failing or dead connection does not delay the others.

use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use tokio::time::timeout;

use crate::sockets::{PostError, Sockets};

/// The number of connections that are posted to at the same time.
const POSTS_MAX: usize = 64;

/// The time limit for one message to one connection. A connection that exceeds it misses the
/// message; the next change sends the whole room again.
const POST_TIMEOUT: Duration = Duration::from_secs(2);

/// The messages for one connection, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The connection.
    pub connection_id: String,
    /// The messages in JSON.
    pub messages: Vec<Bytes>,
    /// Whether to close the connection afterwards.
    pub is_last: bool,
}

impl Delivery {
    /// Messages for a connection that stays open.
    pub fn new(connection_id: impl Into<String>, messages: Vec<Bytes>) -> Self {
        Self { connection_id: connection_id.into(), messages, is_last: false }
    }
}

fn late() -> PostError {
    PostError::Failed("no answer in time".to_owned())
}

/// Sends all deliveries and returns the ids of dead connections.
pub async fn deliver(sockets: &impl Sockets, deliveries: Vec<Delivery>) -> Vec<String> {
    let posts = deliveries.into_iter().map(|delivery| async move {
        for message in &delivery.messages {
            let post = timeout(POST_TIMEOUT, sockets.post(&delivery.connection_id, message.clone()));
            match post.await.unwrap_or_else(|_| Err(late())) {
                Ok(()) => {}
                Err(PostError::Gone) => return Some(delivery.connection_id),
                Err(PostError::Failed(error)) => {
                    // Stops here: later messages may depend on the lost one.
                    tracing::warn!(connection_id = delivery.connection_id, error, "a message could not be posted");
                    break;
                }
            }
        }
        if delivery.is_last {
            let close = timeout(POST_TIMEOUT, sockets.close(&delivery.connection_id)).await;
            if let Err(PostError::Failed(error)) = close.unwrap_or_else(|_| Err(late())) {
                tracing::warn!(connection_id = delivery.connection_id, error, "a connection could not be closed");
            }
        }
        None
    });
    stream::iter(posts).buffer_unordered(POSTS_MAX).filter_map(std::future::ready).collect().await
}
