//! A rollback belongs to one run: it removes nothing that another run or the application wrote, and
//! it asks for the run's id.

use std::collections::BTreeSet;

use migration_tests::okusuri_source::fill;
use migration_tests::{Migration, Postgres};
use tidemark_migrate::{FailureKind, PhaseOutcome};

async fn loaded(migration: &Migration) {
    migration.loaded().await.unwrap();
}

/// A migration whose users are all in DynamoDB.
async fn production(seed: u64) -> Migration {
    let migration = Migration::new(seed, 8).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    loaded(&migration).await;
    for to in ["dual", "100%"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    migration
}

/// The arguments of a rollback, with another folder, and with this confirmation.
fn rollback(migration: &Migration, folder: &str, confirm: Option<&str>) -> Vec<String> {
    let run = migration.folder.path().join("run").display().to_string();
    let other = migration.folder.path().join(folder).display().to_string();
    let mut arguments = Vec::new();
    let mut given = migration.arguments("rollback", &[]).into_iter();
    while let Some(argument) = given.next() {
        match argument {
            argument if argument == "--confirm" => drop(given.next()),
            argument if argument == run => arguments.push(other.clone()),
            argument => arguments.push(argument),
        }
    }
    arguments.extend(confirm.into_iter().flat_map(|id| ["--confirm".to_owned(), id.to_owned()]));
    arguments
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rollback_without_the_folder_of_the_run_removes_nothing() {
    let mut migration = production(51).await;
    let items = migration.items().await.unwrap();
    let refused = migration.run_arguments(rollback(&migration, "empty", None)).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::RunIncomplete, "{refused}");

    // Another database, which was never in a cutover, and an empty folder.
    let mut other = Postgres::start().await.unwrap();
    fill(&other.client().await.unwrap(), 52, 8).await.unwrap();
    let ours = std::mem::replace(&mut migration.postgres, other);
    let refused = migration.run_arguments(rollback(&migration, "empty", None)).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::RunIncomplete, "{refused}");

    // A run of the other database, with its own id.
    let own = migration.folder.path().join("run");
    std::fs::rename(&own, migration.folder.path().join("ours")).unwrap();
    migration.phase("export", &[]).await.unwrap();
    let id = migration.run_id().unwrap();
    let done = migration.run_arguments(rollback(&migration, "run", Some(&id))).await.unwrap();
    assert_eq!(done, PhaseOutcome::Done);
    assert_eq!(migration.items().await.unwrap(), items);

    // The folder of our run, with the other database.
    std::fs::remove_dir_all(&own).unwrap();
    std::fs::rename(migration.folder.path().join("ours"), &own).unwrap();
    let id = migration.run_id().unwrap();
    let refused = migration.run_arguments(rollback(&migration, "run", Some(&id))).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Cutover, "{refused}");
    assert_eq!(migration.items().await.unwrap(), items);

    // Without a confirmation, and with that of another run.
    migration.postgres = ours;
    for confirm in [None, Some("0123456789abcdef")] {
        let refused = migration.run_arguments(rollback(&migration, "run", confirm)).await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Options, "{refused}");
        assert!(refused.detail.contains(&id), "{refused}");
    }
    assert_eq!(migration.items().await.unwrap(), items);
    let done = migration.run_arguments(rollback(&migration, "run", Some(&id))).await.unwrap();
    assert_eq!(done, PhaseOutcome::Done);
    assert_eq!(migration.items().await.unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rollback_keeps_items_of_another_run_in_the_table() {
    let mut migration = Migration::new(53, 8).await.unwrap();
    loaded(&migration).await;
    let first: BTreeSet<_> = migration.items().await.unwrap().into_keys().collect();
    std::fs::rename(migration.path(""), migration.folder.path().join("first")).unwrap();
    let mut other = Postgres::start().await.unwrap();
    fill(&other.client().await.unwrap(), 54, 8).await.unwrap();
    migration.postgres = other;
    for (name, flags) in [("export", &[][..]), ("transform", &[]), ("load", &["--into-existing"])] {
        migration.phase(name, flags).await.unwrap();
    }
    let both = migration.items().await.unwrap();
    assert!(both.len() > first.len());
    let claimed: BTreeSet<_> = both
        .iter()
        .filter(|(_, item)| item["MigratedBy"].as_s().ok() == migration.run_id().as_ref())
        .map(|(key, _)| key.clone())
        .collect();
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    let left: BTreeSet<_> = migration.items().await.unwrap().into_keys().collect();
    assert_eq!(left, both.keys().filter(|key| !claimed.contains(*key)).cloned().collect());
    assert!(!left.is_empty() && left.is_subset(&first));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn finished_cutover_removes_its_own_items_and_blocks_rollback() {
    let mut migration = production(55).await;
    migration.phase("cutover", &["--to", "finished"]).await.unwrap();
    let items = migration.items().await.unwrap();
    let run = migration.run_id().unwrap();
    let of_cutover: Vec<_> = items.keys().filter(|(partition, _)| partition.starts_with("MIGRATION#")).collect();
    assert_eq!(of_cutover, [&("MIGRATION#FINISHED".to_owned(), run.clone())]);
    // A second call changes nothing.
    assert_eq!(migration.phase("cutover", &["--to", "finished"]).await.unwrap(), PhaseOutcome::Done);
    let report = migration.json("report-cutover.json").unwrap();
    assert_eq!((&report["state"]["between"], &report["state"]["inPostgres"]), (&0.into(), &0.into()), "{report}");
    assert_eq!(migration.items().await.unwrap(), items);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap_err().kind, FailureKind::Cutover);

    // A restored database and a folder from before the cutover.
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("DROP SCHEMA tidemark_migration CASCADE").await.unwrap();
    std::fs::remove_file(migration.path("cutover.json")).unwrap();
    let refused = migration.phase("rollback", &[]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Cutover, "{refused}");
    assert_eq!(migration.items().await.unwrap(), items);

    // Another load of the same rows claims no item of the finished run.
    std::fs::remove_dir_all(migration.path("")).unwrap();
    for (name, flags) in [("export", &[][..]), ("transform", &[]), ("load", &["--into-existing"])] {
        migration.phase(name, flags).await.unwrap();
    }
    migration.phase("rollback", &[]).await.unwrap();
    assert_eq!(migration.items().await.unwrap(), items);
}
