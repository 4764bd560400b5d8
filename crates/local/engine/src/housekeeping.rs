//! What DynamoDB does in the background: expired items are deleted, stream records older than a day are trimmed.

use std::sync::Weak;
use std::time::Duration;

use crate::proxy::Proxy;

/// How often. AWS deletes expired items within a few days; here it is prompt enough to watch, and rare enough that
/// reading every table with a TTL costs nothing.
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
            Err(error) => tracing::warn!(%error, "the sweep ended badly"),
        }
    }
}
