//! A run's folder, its database and its options belong together. A wrong combination is refused and
//! changes nothing.

use migration_tests::Migration;
use tidemark_migrate::{FailureKind, PhaseOutcome};

use super::cutover::assert_untouched;

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_combination_of_folder_database_and_options_is_refused() {
    let mut migration = Migration::new(19, 8).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    let elsewhere = |argument| if argument == "log_zone=Asia/Tokyo" { "log_zone=UTC".to_owned() } else { argument };
    let other_zone = migration.arguments("cutover", &["--to", "dual"]).into_iter().map(elsewhere).collect();
    let refused = migration.run_arguments(other_zone).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Options, "{refused}");
    let key = migration.folder.path().join("key");
    let right = std::fs::read_to_string(&key).unwrap();
    for (name, more) in [("cutover", &["--to", "dual"][..]), ("rollback", &[])] {
        std::fs::write(&key, right.to_uppercase()).unwrap();
        let refused = migration.phase(name, more).await.unwrap_err();
        assert!(refused.kind == FailureKind::Options && !refused.detail.contains(&right), "{name}: {refused}");
        std::fs::write(&key, &right).unwrap();
        let refused = migration.phase(name, &[more, &["--table", "other"]].concat()).await.unwrap_err();
        let is_named = refused.detail.contains("--table okusuri");
        assert!(refused.kind == FailureKind::Options && is_named, "{name}: {refused}");
    }
    let mapping = migration.folder.path().join("other.toml");
    std::fs::write(&mapping, format!("{}\n# Changed.", migration.product.mapping.unwrap())).unwrap();
    let refused = migration.phase("check", &["--mapping", &mapping.display().to_string()]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Options, "{refused}");
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let items = migration.items().await.unwrap();

    // Loading again would restore items that were deleted meanwhile.
    for (name, more) in [("export", &[][..]), ("transform", &[]), ("load", &["--into-existing"])] {
        let refused = migration.phase(name, more).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Cutover, "{name}: {refused}");
    }

    // Another folder, and then a folder with another cutover.
    let run = migration.folder.path().join("run");
    let elsewhere = migration.folder.path().join("elsewhere");
    std::fs::rename(&run, &elsewhere).unwrap();
    let refused = migration.phase("cutover", &["--to", "1%"]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Cutover, "{refused}");
    std::fs::copy(elsewhere.join("run.json"), run.join("run.json")).unwrap();
    std::fs::write(run.join("cutover.json"), r#"{"run":"another","stage":"dual-writes"}"#).unwrap();
    for (name, more) in [("cutover", &["--to", "1%"][..]), ("rollback", &[])] {
        let refused = migration.phase(name, more).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Cutover, "{name}: {refused}");
    }
    std::fs::remove_dir_all(&run).unwrap();
    std::fs::rename(&elsewhere, &run).unwrap();

    // A database without the cutover, such as an older copy.
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("ALTER SCHEMA tidemark_migration RENAME TO elsewhere").await.unwrap();
    let refused = migration.phase("rollback", &[]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Cutover, "{refused}");
    assert_eq!(migration.items().await.unwrap(), items);
    client.batch_execute("ALTER SCHEMA elsewhere RENAME TO tidemark_migration").await.unwrap();
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(migration.items().await.unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn commands_with_copies_of_a_folder_exclude_each_other() {
    let mut migration = Migration::new(95, 8).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    // As another command does.
    let other = migration.postgres.client().await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    other.batch_execute("SELECT pg_advisory_lock(1953064037)").await.unwrap();
    let waits = "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)";
    let release = async {
        while !client.query_one(waits, &[]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        other.batch_execute("SELECT pg_advisory_unlock(1953064037)").await.unwrap();
    };
    let (rolled_back, ()) = tokio::join!(migration.phase("rollback", &[]), release);
    assert_eq!(rolled_back.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_is_rolled_back_before_the_table_exists() {
    let mut migration = Migration::new(96, 8).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    migration.phase("rollback", &["--table", "nowhere", "--dry-run"]).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    client.query_one("SELECT FROM tidemark_migration.plan", &[]).await.unwrap();
    assert_eq!(migration.phase("rollback", &["--table", "nowhere"]).await.unwrap(), PhaseOutcome::Done);
    assert_untouched(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn load_after_a_rollback_loads_all_items_again() {
    let migration = Migration::new(92, 8).await.unwrap();
    for name in ["export", "transform", "load", "check"] {
        migration.phase(name, &[]).await.unwrap();
    }
    let items = migration.items().await.unwrap();
    migration.phase("rollback", &["--dry-run"]).await.unwrap();
    assert!(migration.path("report-load.json").exists());
    migration.phase("rollback", &[]).await.unwrap();
    assert!(!migration.path("report-load.json").exists() && !migration.path("report-check.json").exists());
    migration.phase("load", &[]).await.unwrap();
    assert_eq!(migration.items().await.unwrap(), items);
    assert_eq!(migration.json("report-load.json").unwrap()["new"], items.len());
    assert_eq!(migration.phase("check", &["--strict"]).await.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn run_folder_restored_from_json_continues_and_rolls_back() {
    let migration = Migration::new(94, 8).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    for entry in std::fs::read_dir(migration.path("")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else if path.extension().is_none_or(|extension| extension != "json") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let to = ["--to", "100%", "--compare"];
    assert_eq!(migration.phase("cutover", &to).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(migration.items().await.unwrap().len(), 0);
}
