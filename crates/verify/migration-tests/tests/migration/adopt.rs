//! The run's folder is lost in the middle of a cutover, and is restored from the database.

use migration_tests::okusuri_traffic::Traffic;
use migration_tests::{Migration, Postgres};
use tests::Database;
use tidemark_migrate::{FailureKind, PhaseOutcome};

use super::cutover::{assert_untouched, loaded, run_of, sides_of, users};

fn lose_folder(migration: &Migration) {
    std::fs::remove_dir_all(migration.path("")).unwrap();
}

async fn refused(migration: &Migration, phase: &str, flags: &[&str]) -> String {
    let refused = migration.phase(phase, flags).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Cutover, "{phase}: {refused}");
    refused.detail
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lost_folder_is_restored_and_the_cutover_goes_on_and_back() {
    let mut migration = Migration::new(111, 16).await.unwrap();
    let users = users(&mut migration).await;
    let oracle = loaded(&mut migration, 111, &users).await;
    let run = run_of(&mut migration).await;
    let mut traffic = Traffic::start(112, &users, sides_of(&migration, &run, users.len()).await, &oracle);
    for to in ["dual", "30%"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        traffic.more(20).await.unwrap();
    }
    lose_folder(&migration);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap_err().kind, FailureKind::RunIncomplete);
    assert_eq!(migration.phase("adopt", &[]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(migration.run_id().as_ref(), Some(&run));
    assert_eq!(migration.phase("adopt", &[]).await.unwrap_err().kind, FailureKind::RunExists);

    // The restored folder refuses what the lost one refused.
    for (name, flags) in [("export", &["--again"][..]), ("load", &["--into-existing"])] {
        let why = refused(&migration, name, flags).await;
        assert!(why.contains("dual"), "{why}");
    }
    let elsewhere = |argument| if argument == "log_zone=Asia/Tokyo" { "log_zone=UTC".to_owned() } else { argument };
    let other_zone = migration.arguments("cutover", &["--to", "50%"]).into_iter().map(elsewhere).collect();
    assert_eq!(migration.run_arguments(other_zone).await.unwrap_err().kind, FailureKind::Options);
    migration.phase("cutover", &["--to", "60%"]).await.unwrap();
    traffic.more(20).await.unwrap();

    lose_folder(&migration);
    migration.phase("adopt", &[]).await.unwrap();
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    traffic.more(20).await.unwrap();
    let oracle = traffic.stop().await.unwrap();
    println!("{oracle}");
    let client = migration.postgres.client().await.unwrap();
    oracle.verify(&client).await.unwrap();
    assert_untouched(&client).await;
    assert_eq!(migration.items().await.unwrap().len(), 0);
    lose_folder(&migration);
    let why = refused(&migration, "adopt", &[]).await;
    assert!(why.contains("no cutover"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_folder_that_is_lost_before_dual_can_begin_again() {
    let mut migration = Migration::new(113, 8).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    lose_folder(&migration);
    migration.phase("adopt", &[]).await.unwrap();
    for name in ["export", "transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    // The rows of this folder are lost with it, so they are exported again.
    lose_folder(&migration);
    migration.phase("adopt", &[]).await.unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "dual"]).await.unwrap_err().kind, FailureKind::RunIncomplete);
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("DELETE FROM medication_logs WHERE id % 3 = 0").await.unwrap();
    for (name, flags) in [("export", &[][..]), ("transform", &[]), ("load", &["--into-existing"])] {
        migration.phase(name, flags).await.unwrap();
    }
    assert_eq!(migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap(), PhaseOutcome::Done);
    migration.phase("rollback", &[]).await.unwrap();
    assert_eq!(migration.items().await.unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn another_database_and_another_table_are_refused() {
    let mut migration = Migration::new(114, 8).await.unwrap();
    let users = users(&mut migration).await;
    let oracle = loaded(&mut migration, 114, &users).await;
    for to in ["dual", "50%"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    // A physical copy of this state, which is older than the table soon.
    let mut older = migration.postgres.replica().await.unwrap();
    older.client().await.unwrap().batch_execute("SELECT pg_promote()").await.unwrap();
    let run = run_of(&mut migration).await;
    let mut traffic = Traffic::start(115, &users, sides_of(&migration, &run, users.len()).await, &oracle);
    traffic.more(60).await.unwrap();
    let oracle = traffic.stop().await.unwrap();
    migration.phase("cutover", &["--to", "50%"]).await.unwrap();
    lose_folder(&migration);
    let items = migration.items().await.unwrap();

    // An empty database, and a logical copy.
    let mut empty = Postgres::start().await.unwrap();
    empty.client().await.unwrap().batch_execute("SELECT").await.unwrap();
    let copy = migration.postgres.copy("copy").await.unwrap();
    for source in [empty.url(), copy] {
        let mut arguments = migration.arguments("adopt", &[]);
        let at = arguments.iter().position(|argument| argument == "--source").unwrap();
        arguments[at + 1] = source;
        let refused = migration.run_arguments(arguments).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Cutover, "{refused}");
    }
    let ours = std::mem::replace(&mut migration.postgres, older);
    let why = refused(&migration, "adopt", &[]).await;
    assert!(why.contains("older"), "{why}");
    migration.postgres = ours;

    // Another table.
    let theirs = std::mem::replace(&mut migration.database, Database::start().await.unwrap());
    let why = refused(&migration, "adopt", &[]).await;
    assert!(why.contains("table"), "{why}");
    migration.database = theirs;

    assert!(migration.run_id().is_none());
    assert_eq!(migration.items().await.unwrap(), items);
    migration.phase("adopt", &[]).await.unwrap();
    migration.phase("rollback", &[]).await.unwrap();
    oracle.verify(&migration.postgres.client().await.unwrap()).await.unwrap();
    assert_eq!(migration.items().await.unwrap().len(), 0);
}
