//! An export from a standby of the source.

use std::time::Duration;

use migration_tests::Migration;
use tidemark_migrate::{FailureKind, PhaseOutcome};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_export_from_a_standby_that_lacks_the_capture_is_refused() {
    let mut migration = Migration::new(71, 4).await.unwrap();
    let mut replica = migration.postgres.replica().await.unwrap();
    let standby = replica.client().await.unwrap();
    standby.batch_execute("SELECT pg_wal_replay_pause()").await.unwrap();
    // The standby lacks this change, and no trigger has recorded it.
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("UPDATE medication_logs SET has_bleeding = true, updated_at = now()").await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();

    std::mem::swap(&mut migration.postgres, &mut replica);
    for flags in [&[][..], &["--dry-run"]] {
        let refused = migration.phase("export", flags).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::SourceBehind, "{refused}");
    }
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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn moves_wait_while_a_standby_is_too_far_behind() {
    let migration = &mut Migration::new(72, 6).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let mut replica = migration.postgres.replica().await.unwrap();
    let standby = replica.client().await.unwrap();
    let lag = async |sql: &str| -> bool { client.query_one(sql, &[]).await.unwrap().get(0) };
    let until = async |condition: &str| {
        let sql = format!("SELECT coalesce(bool_or({condition}), false) FROM pg_stat_replication");
        while !lag(&sql).await {
            client.batch_execute("UPDATE tidemark_migration.plan SET changed_at = now()").await.unwrap();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    // The lag is known once the standby has replayed something.
    tokio::time::timeout(Duration::from_secs(60), until("replay_lag IS NOT NULL")).await.unwrap();
    standby.batch_execute("SELECT pg_wal_replay_pause()").await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), until("replay_lag > interval '2 seconds'")).await.unwrap();
    let moving = migration.phase("cutover", &["--to", "100%", "--max-standby-lag", "1"]);
    let moved = "SELECT EXISTS (SELECT FROM tidemark_migration.ownerships WHERE epoch > 0)";
    let held = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(!lag(moved).await);
        standby.batch_execute("SELECT pg_wal_replay_resume()").await.unwrap();
    };
    let (outcome, ()) = tokio::join!(moving, held);
    assert_eq!(outcome.unwrap(), PhaseOutcome::Done);
    assert!(lag(moved).await);
    assert!(migration.json("report-cutover.json").unwrap()["standbyLagSecondsMax"].as_f64().unwrap() > 1.0);
}
