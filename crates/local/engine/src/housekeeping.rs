//! What DynamoDB does in the background: expired items are deleted, stream records older than a day are trimmed.

use std::sync::Weak;
use std::time::Duration;

use crate::front::Front;

/// How often. AWS deletes expired items within a few days; here it is prompt enough to watch, and rare enough that
/// reading every table with a TTL costs nothing.
const INTERVAL: Duration = Duration::from_secs(60);

/// Runs until the front is gone.
pub(crate) async fn run(front: Weak<Front>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(front) = front.upgrade() else { return };
        match tokio::task::spawn_blocking(move || front.sweep()).await {
            Ok(Ok(0)) => {}
            Ok(Ok(expired)) => tracing::info!(expired, "deleted expired items"),
            Ok(Err(error)) => tracing::warn!(%error, "could not sweep"),
            Err(error) => tracing::warn!(%error, "the sweep ended badly"),
        }
    }
}
