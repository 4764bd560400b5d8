//! What the operator is told: by name, with a stable type, and before anything is final.

use std::process::Command;

use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::Migration;
use tests::binary;
use tidemark_migrate::{FailureKind, PhaseOutcome};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repair_corrects_named_differences_and_finished_needs_none() {
    let migration = Migration::new(95, 30).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    for to in ["dual", "100%"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    let items = migration.items().await.unwrap();
    let mut logs = items.iter().filter(|((_, sort), _)| sort.starts_with("MEDICATION#"));
    let s = |text: &str| AttributeValue::S(text.to_owned());
    for ((partition, sort), _) in logs.by_ref().take(30) {
        migration.delete_item(partition, sort).await.unwrap();
    }
    let ((partition, _), log) = logs.next().unwrap();
    for (sort, flag) in [("MEDICATION#1901-01-01", "HasBleeding"), (log["SK"].as_s().unwrap(), "Unknown")] {
        let mut changed = log.clone();
        changed.extend([("SK".to_owned(), s(sort)), (flag.to_owned(), s("changed"))]);
        migration.put_item(changed).await.unwrap();
    }
    let compare = &["--to", "100%", "--compare"];
    assert_eq!(migration.phase("cutover", compare).await.unwrap(), PhaseOutcome::NeedsReview);
    let named = migration.lines("differences-cutover.jsonl").unwrap();
    let count = |what: &str| named.iter().filter(|difference| difference["what"] == what).count();
    assert_eq!((count("missing"), count("unexpected"), count("changed")), (30, 1, 1), "{named:?}");

    let refused = migration.phase("cutover", &["--to", "finished"]).await.unwrap_err();
    assert!(refused.kind == FailureKind::Cutover && refused.detail.contains("repair --differences"), "{refused}");
    assert_eq!(migration.phase("repair", &["--differences"]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(migration.json("report-repair.json").unwrap()["items"], 32);
    assert!(
        migration.items().await.unwrap().iter().all(|(key, item)| items.get(key).is_none_or(|before| before == item))
    );
    assert_eq!(migration.phase("cutover", compare).await.unwrap(), PhaseOutcome::Done);

    migration.delete_item(partition, log["SK"].as_s().unwrap()).await.unwrap();
    let refused = migration.phase("cutover", &["--to", "finished"]).await.unwrap_err();
    assert!(refused.detail.contains("MEDICATION#"), "{refused}");
    assert_eq!(migration.phase("cutover", &["--to", "100%"]).await.unwrap(), PhaseOutcome::Done);
    let flags = ["--to", "finished", "--accept-differences"];
    assert_eq!(migration.phase("cutover", &flags).await.unwrap(), PhaseOutcome::NeedsReview);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repair_needs_a_known_user_or_differences() {
    let migration = Migration::new(97, 4).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let unknown = migration.phase("repair", &["--user", "nobody"]).await.unwrap_err();
    assert!(unknown.kind == FailureKind::Options && unknown.detail.contains("nobody"), "{unknown}");
    let bare =
        Command::new(binary("okusuri-migrate").unwrap()).args(migration.arguments("repair", &[])).output().unwrap();
    let told = String::from_utf8_lossy(&bare.stderr);
    assert!(told.contains("--user <ID>") && told.contains("--differences"), "{told}");
    // The check knows the export only.
    let check =
        Command::new(binary("okusuri-migrate").unwrap()).args(migration.arguments("check", &[])).output().unwrap();
    let told = String::from_utf8_lossy(&check.stdout);
    assert!(told.contains("\"isOld\":true"), "{told}");
}
