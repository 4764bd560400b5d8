//! Stops moves while a standby of PostgreSQL is behind: each move writes to PostgreSQL.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::pace::Pace;
use crate::source::{Server, connect, source_failure};
use crate::{Failure, FailureKind};

/// How often the lag is measured.
const INTERVAL: Duration = Duration::from_millis(500);

/// Measures the lag until it is dropped.
#[derive(Debug)]
pub(super) struct StandbyLag(JoinHandle<()>);

impl Drop for StandbyLag {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins to hold the pace while the slowest standby is more than `seconds_max` behind.
///
/// # Errors
/// `option` if the role may not see the lag; and if PostgreSQL does not answer.
pub(super) async fn watch(server: &Server, seconds_max: u32, pace: &Arc<Pace>) -> Result<StandbyLag, Failure> {
    // A connection of its own, so that a long statement does not delay the measurement.
    let mut client = connect(server).await?;
    let rights = client.query_one("SELECT pg_has_role('pg_read_all_stats', 'USAGE')", &[]).await;
    if !rights.map_err(source_failure)?.get::<_, bool>(0) {
        let why = "--max-standby-lag needs a role that sees the standbys: GRANT pg_read_all_stats TO the role";
        return Err(FailureKind::Options.because(why));
    }
    let (server, pace) = (server.clone(), Arc::clone(pace));
    pace.show_lag(lag_seconds(&client).await?, seconds_max);
    Ok(StandbyLag(tokio::spawn(async move {
        loop {
            tokio::time::sleep(INTERVAL).await;
            match lag_seconds(&client).await {
                Ok(lag) => pace.show_lag(lag, seconds_max),
                // The moves themselves fail if PostgreSQL is gone for longer.
                Err(_) => {
                    if let Ok(again) = connect(&server).await {
                        client = again;
                    }
                }
            }
        }
    })))
}

/// How far the slowest connected standby is behind; 0 if there is none.
async fn lag_seconds(client: &Client) -> Result<f64, Failure> {
    let sql = "SELECT coalesce(max(extract(epoch FROM replay_lag)), 0)::float8 FROM pg_stat_replication";
    Ok(client.query_one(sql, &[]).await.map_err(source_failure)?.get(0))
}
