//! An export from a standby of the source.

use std::time::Duration;

use migration_tests::Migration;
use tidemark_migrate::{FailureKind, PhaseOutcome};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn export_from_a_standby_without_the_capture_is_refused() {
    let mut migration = Migration::new(71, 4).await.unwrap();
    let mut replica = migration.postgres.replica().await.unwrap();
    let standby = replica.client().await.unwrap();
    standby.batch_execute("SELECT pg_wal_replay_pause()").await.unwrap();
    // The standby lacks this change, and no trigger has recorded it.
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("UPDATE medication_logs SET has_bleeding = true, updated_at = now()").await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();

    std::mem::swap(&mut migration.postgres, &mut replica);
    let refused = migration.phase("export", &[]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::SourceBehind, "{refused}");
    assert!(!migration.path("manifest.json").exists());
    standby.batch_execute("SELECT pg_wal_replay_resume()").await.unwrap();
    let caught_up = async {
        while migration.phase("export", &[]).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), caught_up).await.unwrap();
    std::mem::swap(&mut migration.postgres, &mut replica);
    for name in ["transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    assert_eq!(migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap(), PhaseOutcome::Done);
}
