//! What the operator is told: by name, with a stable type, and before anything is final.

use std::process::Command;

use aws_sdk_dynamodb::types::AttributeValue;
use tidemark_migrate::{FailureKind, PhaseOutcome};
use tidemark_tests::{Database, Migration, binary};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_comparison_names_every_item_and_finished_needs_a_clean_one() {
    let migration = Migration::new(95, 30).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    for to in ["dual", "100%"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    let items = migration.items().await.unwrap();
    let logs: Vec<_> = items.keys().filter(|(_, sort)| sort.starts_with("MEDICATION#")).take(30).collect();
    for (partition, sort) in &logs {
        let s = |text: &String| AttributeValue::S(text.clone());
        let delete = migration.database.client.delete_item().table_name(Database::OKUSURI);
        delete.key("PK", s(partition)).key("SK", s(sort)).send().await.unwrap();
    }
    assert_eq!(migration.phase("cutover", &["--to", "100%", "--compare"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let named = migration.lines("differences-cutover.jsonl").unwrap();
    assert_eq!(named.len(), logs.len());
    assert!(logs.iter().all(|(_, sort)| named.iter().any(|difference| difference["sort"] == **sort)));

    let refused = migration.phase("cutover", &["--to", "finished"]).await.unwrap_err();
    assert!(refused.kind == FailureKind::Cutover && refused.detail.contains("MEDICATION#"), "{refused}");
    assert_eq!(migration.phase("cutover", &["--to", "100%"]).await.unwrap(), PhaseOutcome::Done);
    let flags = ["--to", "finished", "--accept-differences"];
    assert_eq!(migration.phase("cutover", &flags).await.unwrap(), PhaseOutcome::NeedsReview);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistyped_column_and_missing_credentials_are_named() {
    let migration = Migration::new(96, 4).await.unwrap();
    for column in ["user.nicknam", "users.name", "user.name"] {
        for flags in [&["--ignore-column", column][..], &["--ignore-column", column, "--dry-run"]] {
            let refused = migration.phase("export", flags).await.unwrap_err();
            assert!(refused.kind == FailureKind::Options && refused.detail.contains(column), "{refused}");
        }
    }
    migration.phase("export", &[]).await.unwrap();
    migration.phase("transform", &[]).await.unwrap();
    let run = migration.folder.path().join("run");
    let output = Command::new(binary("okusuri-migrate").unwrap())
        .args(["load", "--json", "--table", Database::OKUSURI, "--run"])
        .arg(run)
        .env_clear()
        .envs([("AWS_REGION", "us-east-1"), ("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", "/nonexistent")])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains(r#""type":"table-credentials""#), "{told}{}", String::from_utf8_lossy(&output.stderr));
}
