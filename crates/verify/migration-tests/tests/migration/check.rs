//! The differences that a check finds are repaired by another load.

use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::Migration;
use tests::Database;
use tidemark_migrate::{FailureKind, PhaseOutcome};

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// Deletes every so manieth log, and changes the log after it; gives the number of each.
async fn spoil(migration: &Migration, every: usize) -> u64 {
    let items = migration.items().await.unwrap();
    let logs: Vec<_> = items.keys().filter(|(_, sort)| sort.starts_with("MEDICATION#")).collect();
    let client = &migration.database.client;
    for pair in logs.chunks(every).filter(|chunk| chunk.len() > 1) {
        let [(partition, sort), (other, other_sort), ..] = pair else { continue };
        let delete = client.delete_item().table_name(Database::OKUSURI).key("PK", s(partition)).key("SK", s(sort));
        delete.send().await.unwrap();
        let update = client.update_item().table_name(Database::OKUSURI).key("PK", s(other)).key("SK", s(other_sort));
        let update = update.update_expression("SET Spoilt = :yes");
        update.expression_attribute_values(":yes", AttributeValue::Bool(true)).send().await.unwrap();
    }
    logs.chunks(every).filter(|chunk| chunk.len() > 1).count() as u64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn differences_are_repaired_before_dual_by_another_load() {
    let migration = Migration::new(132, 100).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for phase in ["export", "transform", "load"] {
        migration.phase(phase, &[]).await.unwrap();
    }
    let whole = migration.items().await.unwrap();
    let spoilt = spoil(&migration, 10).await;
    let extra = migration.database.client.put_item().table_name(Database::OKUSURI);
    let extra = extra.item("PK", s("made up")).item("SK", s("made up"));
    extra.item("MigratedVersion", AttributeValue::N("1".to_owned())).send().await.unwrap();

    assert_eq!(migration.phase("check", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    let report = migration.json("report-check.json").unwrap();
    let count = |kind: &str| report["differences"][kind].as_u64().unwrap();
    assert_eq!(["missing", "changed", "extra"].map(count), [spoilt, spoilt, 1], "{report}");

    assert_eq!(migration.phase("load", &["--again"]).await.unwrap(), PhaseOutcome::Done);
    let report = migration.json("report-load.json").unwrap();
    let known = whole.len() as u64 - spoilt;
    assert_eq!((&report["new"], &report["known"], &report["kept"]), (&spoilt.into(), &known.into(), &0.into()));
    assert_eq!(migration.phase("check", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    let left = migration.lines("differences.jsonl").unwrap();
    assert_eq!((left.len(), &left[0]["kind"], &left[0]["item"]), (1, &"extra".into(), &"made up made up".into()));
    let mut items = migration.items().await.unwrap();
    items.remove(&("made up".to_owned(), "made up".to_owned()));
    assert!(items == whole);

    // Afterwards an item may be missing because its row is gone.
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let refused = migration.phase("load", &["--again"]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Cutover, "{refused}");
}
