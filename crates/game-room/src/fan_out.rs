//! Telling everybody at once: a connection that is slow, failing or gone holds up nobody else.

use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use tokio::time::timeout;

use crate::sockets::{PostError, Sockets};

/// How many connections are posted to at once.
const POSTS_MAX: usize = 64;

/// How long sending one message to one connection may take. A slower connection misses the message;
/// the next change brings the whole room again.
const POST_TIMEOUT: Duration = Duration::from_secs(2);

/// The messages for one connection, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Where to.
    pub connection_id: String,
    /// The messages, JSON.
    pub messages: Vec<Bytes>,
    /// Whether the connection is to end then.
    pub is_last: bool,
}

impl Delivery {
    /// Messages for a connection that goes on.
    pub fn new(connection_id: impl Into<String>, messages: Vec<Bytes>) -> Self {
        Self { connection_id: connection_id.into(), messages, is_last: false }
    }
}

fn late() -> PostError {
    PostError::Failed("no answer in time".to_owned())
}

/// Posts all of it, and returns the connections that are gone.
pub async fn deliver(sockets: &impl Sockets, deliveries: Vec<Delivery>) -> Vec<String> {
    let posts = deliveries.into_iter().map(|delivery| async move {
        for message in &delivery.messages {
            let post = timeout(POST_TIMEOUT, sockets.post(&delivery.connection_id, message.clone()));
            match post.await.unwrap_or_else(|_| Err(late())) {
                Ok(()) => {}
                Err(PostError::Gone) => return Some(delivery.connection_id),
                Err(PostError::Failed(error)) => {
                    // Later messages would arrive without the missed one.
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
