//! DynamoDB's background work: deletes expired items, and trims stream records older than a day.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;

use crate::proxy::Proxy;
use crate::{EngineError, blocking};

/// Interval of the sweeps. AWS deletes expired items within a few days. A minute is short enough to
/// watch, and long enough that reading every table with a TTL costs little.
const INTERVAL: Duration = Duration::from_secs(60);

/// Does the background work of an engine. It does not keep the engine alive.
#[derive(Debug, Clone)]
pub struct Housekeeper(Weak<Proxy>);

impl Housekeeper {
    pub(crate) fn new(proxy: &Arc<Proxy>) -> Self {
        Self(Arc::downgrade(proxy))
    }

    /// Deletes expired items and trims streams now; this also runs every minute. Returns the number
    /// of deleted items: 0 when the engine has stopped.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn sweep(&self) -> Result<usize, EngineError> {
        self.sweep_at(Timestamp::now()).await
    }

    /// The same, with the items that have expired at another time. Streams keep their records.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn sweep_at(&self, now: Timestamp) -> Result<usize, EngineError> {
        let Some(proxy) = self.0.upgrade() else { return Ok(0) };
        blocking(move || proxy.sweep(now)).await?
    }

    /// Whether the last write found the disk full.
    pub fn is_storage_full(&self) -> bool {
        self.0.upgrade().is_some_and(|proxy| proxy.is_storage_full.load(Ordering::Relaxed))
    }

    /// Runs until it is aborted.
    pub(crate) async fn run(self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            match self.sweep().await {
                Ok(0) => {}
                Ok(expired) => tracing::info!(expired, "deleted expired items"),
                Err(error) => tracing::warn!(%error, "could not sweep"),
            }
        }
    }
}
