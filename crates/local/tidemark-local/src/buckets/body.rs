//! The body of a request that is answered before its end.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

/// How much of a refused upload is read.
const REST_BYTES_MAX: usize = 64 << 20;

/// How long a refused upload is read.
const REST_TIME_MAX: Duration = Duration::from_secs(10);

/// A body that the server's crate reads first, and this handler to its end.
#[derive(Clone)]
pub(super) struct Upload {
    body: Arc<Mutex<Body>>,
    /// The client waits for `100 Continue`, and sends nothing after another answer.
    waits: bool,
}

impl Upload {
    pub(super) fn new(headers: &HeaderMap, body: Body) -> Self {
        Self { body: Arc::new(Mutex::new(body)), waits: headers.contains_key(header::EXPECT) }
    }

    fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is left. Without this a client that still sends gets a closed connection instead
    /// of the answer.
    pub(super) async fn read_rest(self) {
        if self.waits {
            return;
        }
        let mut left = REST_BYTES_MAX;
        let rest = std::future::poll_fn(|context| {
            loop {
                match ready!(Pin::new(&mut *self.body()).poll_frame(context)) {
                    Some(Ok(frame)) if frame.data_ref().map_or(0, Bytes::len) <= left => {
                        left -= frame.data_ref().map_or(0, Bytes::len);
                    }
                    _ => return Poll::Ready(()),
                }
            }
        });
        drop(tokio::time::timeout(REST_TIME_MAX, rest).await);
    }
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *self.body()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body().size_hint()
    }
}
