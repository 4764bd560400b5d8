//! The check: it continues where it was killed, compares a sample, and its differences are repaired.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::Migration;
use tests::{Database, binary};
use tidemark_engine::EngineFaults;
use tidemark_migrate::{FailureKind, PhaseOutcome};

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

async fn loaded(seed: u64, users: usize) -> Migration {
    let migration = Migration::new(seed, users).await.unwrap();
    for phase in ["export", "transform", "load"] {
        migration.phase(phase, &[]).await.unwrap();
    }
    migration
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
async fn a_killed_check_goes_on_with_the_segments_that_it_has_not_read() {
    let migration = loaded(131, 40).await;
    let spoilt = spoil(&migration, 50).await;
    let slow = EngineFaults { delay_ms: 400, ..EngineFaults::default() };
    migration.database.engine().faults().set(slow);
    let mut check = Command::new(binary("okusuri-migrate").unwrap())
        .args(migration.arguments("check", &["--parallel", "1"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let read = || {
        let state = migration.json("check.json").ok()?;
        Some((state["read"].as_object()?.len(), usize::try_from(state["segments"].as_u64()?).ok()?))
    };
    let start = Instant::now();
    while read().is_none_or(|(read, _)| read < 2) {
        assert!(start.elapsed() < Duration::from_secs(30) && check.try_wait().unwrap().is_none());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    check.kill().unwrap();
    check.wait().unwrap();
    let (segments, all) = read().unwrap();
    assert!((2..all).contains(&segments), "{segments} of {all}");
    migration.database.engine().faults().set(EngineFaults::default());

    // What is read is not read again: an item of a finished segment that goes now is not missed.
    let before = migration.items().await.unwrap();
    let mut in_finished = 0;
    for (partition, sort) in before.keys().filter(|(_, sort)| sort.starts_with("MEDICATION#")) {
        let files: Vec<_> = (0..all).map(|n| migration.path(&format!("check/segment-{n:04}.jsonl"))).collect();
        let name = serde_json::to_string(&format!("{partition} {sort}")).unwrap();
        let known = |path: &std::path::PathBuf| std::fs::read_to_string(path).is_ok_and(|text| text.contains(&name));
        if files.iter().any(known) && !before[&(partition.clone(), sort.clone())].contains_key("Spoilt") {
            let delete = migration.database.client.delete_item().table_name(Database::OKUSURI);
            delete.key("PK", s(partition)).key("SK", s(sort)).send().await.unwrap();
            in_finished += 1;
            if in_finished == 3 {
                break;
            }
        }
    }
    assert_eq!(in_finished, 3);
    let differences = async |flags: &[&str]| {
        assert_eq!(migration.phase("check", flags).await.unwrap(), PhaseOutcome::NeedsReview);
        let found = migration.json("report-check.json").unwrap()["differences"].clone();
        ["missing", "changed", "extra"].map(|kind| found[kind].as_u64().unwrap())
    };
    assert_eq!(differences(&[]).await, [spoilt, spoilt, 0]);
    assert!(!migration.path("check.json").exists() && !migration.path("check").exists());
    // The next check reads everything.
    assert_eq!(differences(&[]).await, [spoilt + 3, spoilt, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn differences_are_repaired_before_dual_and_a_sample_finds_its_share() {
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

    assert_eq!(migration.phase("check", &["--sample", "30%"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let report = migration.json("report-check.json").unwrap();
    let count = |kind: &str| report["differences"][kind].as_u64().unwrap();
    for kind in ["missing", "changed"] {
        assert!((spoilt / 10..spoilt / 2).contains(&count(kind)), "{spoilt}: {report}");
    }
    let same = report["same"].as_u64().unwrap() as usize;
    assert!((whole.len() / 5..whole.len() * 2 / 5).contains(&same), "{}: {report}", whole.len());
    let changed = migration.lines("differences.jsonl").unwrap();
    assert!(changed.iter().any(|difference| difference["attributes"] == serde_json::json!(["Spoilt"])));

    assert_eq!(migration.phase("check", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    assert_eq!(migration.phase("load", &["--differences"]).await.unwrap(), PhaseOutcome::Done);
    let report = migration.json("report-load-differences.json").unwrap();
    assert_eq!((&report["new"], &report["known"], &report["kept"]), (&spoilt.into(), &spoilt.into(), &0.into()));
    assert_eq!(migration.phase("check", &["--sample", "100%"]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(migration.phase("check", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    let left = migration.lines("differences.jsonl").unwrap();
    assert_eq!((left.len(), &left[0]["kind"], &left[0]["item"]), (1, &"extra".into(), &"made up made up".into()));
    let mut items = migration.items().await.unwrap();
    items.remove(&("made up".to_owned(), "made up".to_owned()));
    assert!(items == whole);

    // Afterwards an item may be missing because its row is gone.
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let refused = migration.phase("load", &["--differences"]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::Cutover, "{refused}");
}
