//! The body of a request that is answered before its end.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, header};
use futures::StreamExt;
use futures::stream::poll_fn;

/// How much of a refused upload is read.
const REST_BYTES_MAX: usize = 64 << 20;

/// How long a refused upload is read.
const REST_TIME_MAX: Duration = Duration::from_secs(10);

/// A body that the server's crate and this handler read.
#[derive(Clone)]
pub(super) struct Upload {
    stream: Arc<Mutex<BodyDataStream>>,
    /// The client waits for `100 Continue`, and sends nothing after another answer.
    waits: bool,
}

impl Upload {
    /// The body, and the same body for the server's crate.
    pub(super) fn of(headers: &HeaderMap, body: Body) -> (Self, Body) {
        let upload = Self {
            stream: Arc::new(Mutex::new(body.into_data_stream())),
            waits: headers.contains_key(header::EXPECT),
        };
        let shared = Arc::clone(&upload.stream);
        let stream = poll_fn(move |context| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).poll_next_unpin(context)
        });
        (upload, Body::from_stream(stream))
    }

    /// Reads what is left. Without this a client that still sends gets a closed connection instead
    /// of the answer.
    pub(super) async fn read_rest(self) {
        if self.waits {
            return;
        }
        let mut left = REST_BYTES_MAX;
        let rest = std::future::poll_fn(|context| {
            let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                match stream.poll_next_unpin(context) {
                    Poll::Ready(Some(Ok(bytes))) if bytes.len() <= left => left -= bytes.len(),
                    Poll::Ready(_) => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        });
        drop(tokio::time::timeout(REST_TIME_MAX, rest).await);
    }
}
