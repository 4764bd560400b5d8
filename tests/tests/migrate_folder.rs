//! A run's folder, its database and its options belong together: what does not is refused, and nothing is touched.

use okusuri_migrate::{Failure, Kind, Outcome};
use tidemark_tests::Migration;

/// A phase of the shift, with the options that a run is transformed with but for the zone of the logs.
async fn phase(migration: &Migration, name: &str, log_zone: &str, more: &[&str]) -> Result<Outcome, Failure> {
    let key = migration.folder.path().join("key").display().to_string();
    let (source, endpoint) = (migration.postgres.url(), migration.database.url());
    let given = ["--source", &source, "--endpoint", &endpoint, "--source-zone", "UTC", "--log-zone", log_zone];
    let all: Vec<_> = given.into_iter().chain(["--key-file", &key]).chain(more.iter().copied()).collect();
    migration.phase(name, &all).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_belong_together_is_refused_and_nothing_is_touched() {
    const ZONE: &str = "Asia/Tokyo";
    let mut migration = Migration::new(19, 8).await.unwrap();
    phase(&migration, "shift", ZONE, &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    let refused = phase(&migration, "shift", "UTC", &["--to", "dual"]).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Options, "{refused}");
    phase(&migration, "shift", ZONE, &["--to", "dual"]).await.unwrap();
    let items = migration.items().await.unwrap();

    // What is loaded once more would bring back what has been deleted meanwhile.
    for (name, more) in [("export", &["--again"][..]), ("transform", &["--again"]), ("load", &["--into-existing"])] {
        let refused = migration.phase(name, more).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Shift, "{name}: {refused}");
    }

    // Another folder, and then one whose shift is another one.
    let run = migration.folder.path().join("run");
    let elsewhere = migration.folder.path().join("elsewhere");
    std::fs::rename(&run, &elsewhere).unwrap();
    let refused = phase(&migration, "shift", ZONE, &["--to", "shadow"]).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Shift, "{refused}");
    std::fs::write(run.join("shift.json"), r#"{"run":"another","step":"open"}"#).unwrap();
    for (name, more) in [("shift", &["--to", "shadow"][..]), ("rollback", &[])] {
        let refused = phase(&migration, name, ZONE, more).await.unwrap_err();
        assert_eq!(refused.kind, Kind::Shift, "{name}: {refused}");
    }
    std::fs::remove_dir_all(&run).unwrap();
    std::fs::rename(&elsewhere, &run).unwrap();

    // A database that knows nothing of the shift, such as a copy from before it.
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("ALTER SCHEMA tidemark_migration RENAME TO elsewhere").await.unwrap();
    let refused = phase(&migration, "rollback", ZONE, &[]).await.unwrap_err();
    assert_eq!(refused.kind, Kind::Shift, "{refused}");
    assert_eq!(migration.items().await.unwrap(), items);
    client.batch_execute("ALTER SCHEMA elsewhere RENAME TO tidemark_migration").await.unwrap();
    assert_eq!(phase(&migration, "rollback", ZONE, &[]).await.unwrap(), Outcome::Done);
    assert_eq!(migration.items().await.unwrap().len(), 0);
}
