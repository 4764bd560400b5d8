//! Invokes a function: for its whole result, with its log, or part by part.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;

use super::invocation::{Invocation, InvokeError, StreamedInvocation};
use super::pool::Pool;
use super::runtime_api::PAYLOAD_BYTES_MAX;

impl Pool {
    /// Invokes the function and waits for its whole result.
    ///
    /// # Errors
    /// As [`invoke_streaming`](Self::invoke_streaming).
    pub async fn invoke(self: &Arc<Self>, payload: Bytes) -> Result<Invocation, InvokeError> {
        Ok(self.start(payload, false).await?.whole().await)
    }

    /// Invokes the function, and returns the end of its log too.
    ///
    /// # Errors
    /// As [`invoke_streaming`](Self::invoke_streaming).
    pub async fn invoke_with_log(self: &Arc<Self>, payload: Bytes) -> Result<Invocation, InvokeError> {
        Ok(self.start(payload, true).await?.whole().await)
    }

    /// Invokes the function and waits for its result, or for the beginning of one that it streams.
    ///
    /// As on AWS, the invocation runs to its end even if the caller stops waiting. With
    /// `ReservedConcurrentExecutions`, calls above the limit are throttled. Without it, a call
    /// waits for a free instance; their number depends on this machine's cores. With `--debug` all calls
    /// wait for the only one.
    ///
    /// # Errors
    /// [`InvokeError`] if the function was not reached. A failure of the function is part of the
    /// result.
    pub async fn invoke_streaming(self: &Arc<Self>, payload: Bytes) -> Result<StreamedInvocation, InvokeError> {
        self.start(payload, false).await
    }

    async fn start(self: &Arc<Self>, payload: Bytes, wants_log: bool) -> Result<StreamedInvocation, InvokeError> {
        if payload.len() > PAYLOAD_BYTES_MAX {
            return Err(InvokeError::TooLarge);
        }
        let permits = Arc::clone(&self.permits);
        let permit = if self.function().reserved_concurrency.is_some() && !self.function().is_debugged {
            permits.try_acquire_owned().map_err(|_| {
                self.note("Throttles", 1.0);
                InvokeError::Throttled
            })?
        } else {
            permits.acquire_owned().await.map_err(|_| InvokeError::Stopping)?
        };
        let pool = Arc::clone(self);
        let (answer, answered) = oneshot::channel();
        let work = self.begin();
        tokio::spawn(async move {
            pool.run(payload, wants_log, permit, answer).await;
            drop(work);
        });
        answered.await.map_err(|_| InvokeError::Stopping)
    }
}
