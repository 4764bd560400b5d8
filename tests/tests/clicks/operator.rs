//! The command line of an operator, from its flags to its outcome.

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use jiff::Timestamp;
use rollup::Ending;
use tests::{Database, sample_event};
use tidemark_cli::{Command, CommandOutcome, run};

use super::{aggregator, aggregators};

async fn tidemark(db: &Database, arguments: &[&str]) -> anyhow::Result<CommandOutcome> {
    let endpoint = db.url();
    run(Command::parse_from([&["tidemark"], arguments, &["--endpoint", &endpoint]].concat())).await
}

async fn deliver(db: &Database, case: &str) {
    let event = serde_json::value::to_raw_value(&sample_event("stats-aggregator", case)).unwrap();
    let deadline = SystemTime::now() + Duration::from_secs(30);
    stats_aggregator::handle(&aggregators(db), event, deadline, Timestamp::UNIX_EPOCH).await.unwrap();
}

#[tokio::test]
async fn a_recount_says_whether_anything_differs() {
    let db = Database::start().await.unwrap();
    for scope in [&["--all"][..], &["--month", "2025-10"], &["--day", "2025-10-02"]] {
        let arguments = [&["recount", "--yes", "--json"], scope].concat();
        assert_eq!(tidemark(&db, &arguments).await.unwrap(), CommandOutcome::Success, "{scope:?}");
    }
    let update = db.client.update_item().table_name(Database::CLICKS);
    let update = update.key("userId", AttributeValue::S("STAT#DAILY".into()));
    let update = update.key("createDateTime", AttributeValue::S("2025-10-02".into()));
    let update = update.update_expression("SET totalClicks = :n");
    update.expression_attribute_values(":n", AttributeValue::N("5".into())).send().await.unwrap();
    for scope in [&["--all"][..], &["--month", "2025-10"], &["--day", "2025-10-02"]] {
        let arguments = [&["recount", "--yes"], scope].concat();
        let told = tidemark(&db, &arguments).await;
        if scope == ["--all"] {
            // The whole table has no click, so it may be the wrong one.
            assert!(format!("{:#}", told.unwrap_err()).contains("none of the 1 items"));
        } else {
            assert_eq!(told.unwrap(), CommandOutcome::Differences, "{scope:?}");
        }
    }
    assert_eq!(tidemark(&db, &["recount", "--yes", "--day", "2025-10-03"]).await.unwrap(), CommandOutcome::Success);
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
    let clicks = aggregator(&db);
    assert_eq!(clicks.quarantined().await.unwrap(), []);
    deliver(&db, "unreadable-records").await;

    let kept = clicks.quarantined().await.unwrap();
    assert!(kept.len() > 1);
    for record in &kept {
        assert_eq!(clicks.quarantined_record(&record.id).await.unwrap().as_ref(), Some(record));
        assert!(!record.code.is_empty() && !record.message.is_empty() && !record.record.is_empty(), "{record:?}");
        assert_eq!(record.quarantined_at, Timestamp::UNIX_EPOCH.to_string());
        assert_eq!(tidemark(&db, &["quarantine", "show", &record.id]).await.unwrap(), CommandOutcome::Success);
    }
    assert_eq!(tidemark(&db, &["quarantine", "list", "--json"]).await.unwrap(), CommandOutcome::Success);
    let error = tidemark(&db, &["quarantine", "show", "nobody"]).await.unwrap_err();
    assert_eq!(error.to_string(), "nobody is not in quarantine");
}

#[tokio::test]
async fn a_repair_never_lowers_everything_for_a_table_without_clicks() {
    let db = Database::start().await.unwrap();
    deliver(&db, "usual").await;
    let total = async || db.number("STAT#TOTAL", "METADATA", "totalClicks").await.unwrap();
    let counted = total().await;
    assert!(counted > 0);
    // Nothing of the event lies in the table, so all that was counted seems to be too much.
    for flags in [&[][..], &["--repair"], &["--repair", "--subtract"], &["--repair", "--subtract=1000"]] {
        let error = tidemark(&db, &[&["recount", "--all", "--yes"], flags].concat()).await.unwrap_err();
        assert!(format!("{error:#}").contains("not zero"), "{error:#}");
    }
    // Of a month, the clicks may have expired.
    let month = ["recount", "--month", "2025-10", "--yes", "--repair", "--date-shards", "4"];
    for flags in [&[][..], &["--subtract"], &["--subtract=1"]] {
        assert_eq!(tidemark(&db, &[&month, flags].concat()).await.unwrap(), CommandOutcome::Differences, "{flags:?}");
    }
    assert_eq!(total().await, counted);
}

#[tokio::test]
async fn subtracting_repair_requires_the_number_of_date_shards() {
    let db = Database::start().await.unwrap();
    let lower = ["recount", "--month", "2025-10", "--yes", "--repair", "--subtract"];
    let error = tidemark(&db, &lower).await.unwrap_err();
    assert!(error.to_string().contains("--date-shards"), "{error}");
    let shards: Vec<_> = lower.into_iter().chain(["--date-shards", "4"]).collect();
    assert_eq!(tidemark(&db, &shards).await.unwrap(), CommandOutcome::Success);
}

#[tokio::test]
async fn nothing_is_written_without_somebody_to_agree() {
    let db = Database::start().await.unwrap();
    for arguments in [&["recount", "--all", "--repair"][..], &["quarantine", "redrive", "--all"]] {
        let error = tidemark(&db, arguments).await.unwrap_err();
        assert!(error.to_string().contains("--yes"), "{error}");
    }
}

#[tokio::test]
async fn redrive_reports_each_record_and_keeps_unreadable_ones() {
    let db = Database::start().await.unwrap();
    let clicks = aggregator(&db);
    deliver(&db, "unreadable-records").await;
    let before = clicks.quarantined().await.unwrap();
    // None of their clicks is in the table; of those that tell no key, nobody knows.
    let (with_key, without) = before.iter().partition::<Vec<_>, _>(|kept| kept.record.contains("createDateTime"));
    assert!(!with_key.is_empty() && !without.is_empty());

    let one = ["quarantine", "redrive", "--yes", "--id", &with_key[0].id];
    assert_eq!(tidemark(&db, &one).await.unwrap(), CommandOutcome::Success);
    let ended = clicks.quarantined_record(&with_key[0].id).await.unwrap().unwrap();
    assert_eq!(ended.ending, Some(Ending::Gone));
    assert_eq!(ended.record, with_key[0].record);
    for _ in 0..2 {
        assert_eq!(
            tidemark(&db, &["quarantine", "redrive", "--yes", "--all"]).await.unwrap(),
            CommandOutcome::Unreadable
        );
        let waiting = clicks.quarantined().await.unwrap().into_iter().filter(|kept| kept.ending.is_none());
        let waiting: Vec<_> = waiting.map(|kept| kept.id).collect();
        assert_eq!(waiting, without.iter().map(|kept| kept.id.clone()).collect::<Vec<_>>());
    }
    for kept in &without {
        assert_eq!(
            tidemark(&db, &["quarantine", "dismiss", "--json", &kept.id]).await.unwrap(),
            CommandOutcome::Success
        );
    }
    assert_eq!(tidemark(&db, &["quarantine", "redrive", "--yes", "--all"]).await.unwrap(), CommandOutcome::Success);
    let error = tidemark(&db, &["quarantine", "dismiss", "nobody"]).await.unwrap_err();
    assert_eq!(error.to_string(), "nobody is not in quarantine");
}
