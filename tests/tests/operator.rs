//! The command line of an operator, from its flags to its outcome.

#![allow(clippy::unwrap_used)]

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use jiff::Timestamp;
use stats_aggregator::Aggregator;
use store::clicks::Quarantine;
use tidemark_cli::{Command, Outcome, quarantine, run};
use tidemark_tests::{Database, sample_event};

async fn tidemark(db: &Database, arguments: &[&str]) -> anyhow::Result<Outcome> {
    let endpoint = db.engine.url();
    run(Command::parse_from([&["tidemark"], arguments, &["--endpoint", &endpoint]].concat())).await
}

async fn deliver(db: &Database, case: &str) {
    let event = serde_json::value::to_raw_value(&sample_event("stats-aggregator", case)).unwrap();
    let deadline = SystemTime::now() + Duration::from_secs(30);
    let aggregator = Aggregator::new(db.client.clone(), Database::CLICKS);
    stats_aggregator::handle(&aggregator, event, deadline, Timestamp::UNIX_EPOCH).await.unwrap();
}

#[tokio::test]
async fn a_recount_says_whether_anything_differs() {
    let db = Database::start().await.unwrap();
    for scope in [&["--all"][..], &["--month", "2025-10"], &["--day", "2025-10-02"]] {
        let arguments = [&["recount", "--yes", "--json"], scope].concat();
        assert_eq!(tidemark(&db, &arguments).await.unwrap(), Outcome::Fine, "{scope:?}");
    }
    let update = db.client.update_item().table_name(Database::CLICKS);
    let update = update.key("userId", AttributeValue::S("STAT#DAILY".into()));
    let update = update.key("createDateTime", AttributeValue::S("2025-10-02".into()));
    let update = update.update_expression("SET totalClicks = :n");
    update.expression_attribute_values(":n", AttributeValue::N("5".into())).send().await.unwrap();
    for scope in [&["--all"][..], &["--month", "2025-10"], &["--day", "2025-10-02"]] {
        let arguments = [&["recount", "--yes"], scope].concat();
        assert_eq!(tidemark(&db, &arguments).await.unwrap(), Outcome::Differences, "{scope:?}");
    }
    assert_eq!(tidemark(&db, &["recount", "--yes", "--day", "2025-10-03"]).await.unwrap(), Outcome::Fine);
}

#[tokio::test]
async fn a_recount_of_no_table_cannot_tell() {
    let db = Database::start().await.unwrap();
    let error = tidemark(&db, &["recount", "--all", "--yes", "--table", "nowhere"]).await.unwrap_err();
    assert!(format!("{error:#}").contains("the table nowhere"), "{error:#}");
}

#[tokio::test]
async fn the_quarantine_is_listed_and_each_of_its_records_shown() {
    let db = Database::start().await.unwrap();
    let shelf = Quarantine::new(db.client.clone(), Database::CLICKS);
    assert_eq!(quarantine::list(&shelf).await.unwrap(), []);
    deliver(&db, "unreadable-records").await;

    let kept = quarantine::list(&shelf).await.unwrap();
    assert!(kept.len() > 1);
    for record in &kept {
        assert_eq!(shelf.get(&record.id).await.unwrap().as_ref(), Some(record));
        assert!(!record.reason.is_empty() && !record.detail.is_empty() && !record.record.is_empty(), "{record:?}");
        assert_eq!(record.quarantined_at, Timestamp::UNIX_EPOCH.to_string());
        assert_eq!(tidemark(&db, &["quarantine", "show", &record.id]).await.unwrap(), Outcome::Fine);
    }
    assert_eq!(tidemark(&db, &["quarantine", "list", "--json"]).await.unwrap(), Outcome::Fine);
    let error = tidemark(&db, &["quarantine", "show", "nobody"]).await.unwrap_err();
    assert_eq!(error.to_string(), "nobody is not in quarantine");
}
