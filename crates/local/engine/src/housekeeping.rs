//! DynamoDB's background work: deletes expired items, and trims stream records older than a day.

use std::sync::Weak;
use std::time::Duration;

use crate::proxy::Proxy;

/// Interval of the sweeps. AWS deletes expired items within a few days. A minute is short enough to
/// watch, and long enough that reading every table with a TTL costs little.
const INTERVAL: Duration = Duration::from_secs(60);

/// Runs until the proxy is gone.
pub(crate) async fn run(proxy: Weak<Proxy>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(proxy) = proxy.upgrade() else { return };
        match tokio::task::spawn_blocking(move || proxy.sweep()).await {
            Ok(Ok(0)) => {}
            Ok(Ok(expired)) => tracing::info!(expired, "deleted expired items"),
            Ok(Err(error)) => tracing::warn!(%error, "could not sweep"),
            Err(error) => tracing::warn!(%error, "the sweep panicked"),
        }
    }
}
