//! The aggregator against a real engine: batches that come twice, late, at once, and with requests
//! that fail.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::AttributeValue;
use clicks_store::CountedClick;
use jiff::Timestamp;
use rollup::{AggregateError, Aggregator};
use serde_json::json;
use tests::{Database, sample_event};
use tidemark_engine::{Chance, EngineFaults};

use super::aggregator;

const DAY: &str = "2025-10-02";

async fn deliver(
    aggregator: &Aggregator<CountedClick>,
    event: &serde_json::Value,
) -> Result<serde_json::Value, AggregateError> {
    deliver_within(Duration::from_secs(30), aggregator, event).await
}

async fn deliver_within(
    time: Duration,
    aggregator: &Aggregator<CountedClick>,
    event: &serde_json::Value,
) -> Result<serde_json::Value, AggregateError> {
    let event = serde_json::value::to_raw_value(event).unwrap();
    let deadline = SystemTime::now() + time;
    let reply =
        stats_aggregator::handle(std::slice::from_ref(aggregator), event, deadline, Timestamp::UNIX_EPOCH).await?;
    Ok(serde_json::to_value(reply).unwrap())
}

fn sample(case: &str) -> serde_json::Value {
    sample_event("stats-aggregator", case)
}

/// A batch of one shard: for each click its place, its user and its time.
fn batch(shard: &str, clicks: impl IntoIterator<Item = (u64, String, String)>) -> serde_json::Value {
    let records = clicks.into_iter().map(|(n, user, time)| {
        let image = json!({
            "userId": {"S": user}, "createDateTime": {"S": time}, "dateKey": {"S": format!("DATE#{}", &time[..10])},
            "recordSort": {"S": format!("CLICK#{time}#{user}")},
        });
        json!({"eventName": "INSERT", "dynamodb": {"SequenceNumber": format!("{n:021}"), "NewImage": image}})
    });
    let records: Vec<_> = records.collect();
    json!({"Records": records, "shardId": shard, "eventSourceARN": "arn:stream", "state": {}})
}

/// Clicks and unique users of the day, and of its month, and clicks of all.
async fn stats(db: &Database) -> [u64; 5] {
    let (month, total) = (&DAY[..7], db.number("STAT#TOTAL", "METADATA", "totalClicks").await.unwrap());
    [
        db.number("STAT#DAILY", DAY, "totalClicks").await.unwrap(),
        db.number("STAT#DAILY", DAY, "uniqueUsers").await.unwrap(),
        db.number("STAT#MONTHLY", month, "totalClicks").await.unwrap(),
        db.number("STAT#MONTHLY", month, "uniqueUsers").await.unwrap(),
        total,
    ]
}

fn done() -> serde_json::Value {
    json!({"batchItemFailures": [], "state": {}})
}

#[tokio::test]
async fn a_batch_counts_once_however_often_it_comes() {
    let db = Database::start().await.unwrap();
    let warm = aggregator(&db);
    for _ in 0..3 {
        assert_eq!(deliver(&warm, &sample("usual")).await.unwrap(), done());
        assert_eq!(deliver(&aggregator(&db), &sample("usual")).await.unwrap(), done());
        assert_eq!(stats(&db).await, [4, 2, 4, 2, 4]);
    }
}

#[tokio::test]
async fn of_a_batch_that_overlaps_only_the_rest_counts() {
    let db = Database::start().await.unwrap();
    let aggregator = aggregator(&db);
    deliver(&aggregator, &sample("usual")).await.unwrap();
    deliver(&aggregator, &sample("overlaps-an-earlier-batch")).await.unwrap();
    assert_eq!(stats(&db).await, [9, 3, 9, 3, 9]);
}

#[tokio::test]
async fn a_visitor_whom_another_shard_has_seen_is_not_new() {
    let db = Database::start().await.unwrap();
    let aggregator = aggregator(&db);
    deliver(&aggregator, &sample("usual")).await.unwrap();
    deliver(&aggregator, &sample("another-shard")).await.unwrap();
    assert_eq!(stats(&db).await, [6, 3, 6, 3, 6]);
}

#[tokio::test]
async fn clicks_around_midnight_belong_to_two_days_and_two_months() {
    let db = Database::start().await.unwrap();
    deliver(&aggregator(&db), &sample("over-midnight")).await.unwrap();
    let number = |partition, sort, attribute| db.number(partition, sort, attribute);
    assert_eq!(number("STAT#DAILY", "2025-10-31", "totalClicks").await.unwrap(), 1);
    assert_eq!(number("STAT#DAILY", "2025-11-01", "totalClicks").await.unwrap(), 2);
    assert_eq!(number("STAT#DAILY", "2025-11-01", "uniqueUsers").await.unwrap(), 1);
    assert_eq!(number("STAT#MONTHLY", "2025-10", "uniqueUsers").await.unwrap(), 1);
    assert_eq!(number("STAT#MONTHLY", "2025-11", "uniqueUsers").await.unwrap(), 1);
}

#[tokio::test]
async fn clicks_of_foreign_clients_count_whatever_their_date() {
    let db = Database::start().await.unwrap();
    deliver(&aggregator(&db), &sample("foreign-client")).await.unwrap();
    assert_eq!(db.number("STAT#TOTAL", "METADATA", "totalClicks").await.unwrap(), 1_000_002);
    for (day, clicks) in [("0001-01-01", 1_000_000), (DAY, 1), ("2099-12-31", 1)] {
        assert_eq!(db.number("STAT#DAILY", day, "totalClicks").await.unwrap(), clicks, "{day}");
    }
}

#[tokio::test]
async fn other_records_count_nothing_and_window_state_is_returned() {
    let db = Database::start().await.unwrap();
    assert_eq!(deliver(&aggregator(&db), &sample("nothing-to-count")).await.unwrap(), done());
    let end = deliver(&aggregator(&db), &sample("end-of-window")).await.unwrap();
    assert_eq!(end, json!({"batchItemFailures": [], "state": {"kept": "as it came"}}));
    assert_eq!(stats(&db).await, [0; 5]);
}

#[tokio::test]
async fn unreadable_records_are_kept_and_the_others_count() {
    let db = Database::start().await.unwrap();
    for _ in 0..2 {
        assert_eq!(deliver(&aggregator(&db), &sample("unreadable-records")).await.unwrap(), done());
    }
    assert_eq!(stats(&db).await, [2, 2, 2, 2, 2]);
    let request = db.client.query().table_name(Database::CLICKS).key_condition_expression("userId = :q");
    let quarantine = aws_sdk_dynamodb::types::AttributeValue::S("ROLLUP#clicks#QUARANTINE".into());
    let items = request.expression_attribute_values(":q", quarantine).send().await.unwrap().items.unwrap();
    let mut reasons: Vec<_> = items.iter().map(|item| item["code"].as_s().unwrap().as_str()).collect();
    reasons.sort_unstable();
    let expected = [
        "click-count",
        "create-date-time",
        "date-key",
        "record",
        "record",
        "record-sort",
        "sequence-number",
        "user-id",
    ];
    assert_eq!(reasons, expected);
}

#[tokio::test]
async fn event_without_a_shard_or_of_another_kind_is_refused() {
    let db = Database::start().await.unwrap();
    let refusal = deliver(&aggregator(&db), &sample("without-shard-id")).await;
    assert!(matches!(&refusal, Err(error @ AggregateError::NoShard) if error.to_string().contains("tumbling window")));
    assert!(matches!(deliver(&aggregator(&db), &sample("not-a-batch")).await, Err(AggregateError::NotABatch(_))));
    assert_eq!(stats(&db).await, [0; 5]);
}

#[tokio::test]
async fn batch_over_200_days_is_counted_in_several_transactions() {
    let db = Database::start().await.unwrap();
    let days = std::iter::successors(Some(jiff::civil::date(2025, 10, 2)), |day| day.tomorrow().ok()).take(200);
    let clicks = days.zip(1..).map(|(day, n)| (n, format!("user-{}", n % 7), format!("{day}T12:00:00.000Z")));
    let event = batch("shard", clicks);
    let warm = aggregator(&db);
    for _ in 0..2 {
        assert_eq!(deliver(&warm, &event).await.unwrap(), done());
    }
    assert_eq!(db.number("STAT#TOTAL", "METADATA", "totalClicks").await.unwrap(), 200);
    assert_eq!(db.number("STAT#MONTHLY", "2025-11", "uniqueUsers").await.unwrap(), 7);
    assert_eq!(db.number("STAT#DAILY", "2026-04-19", "uniqueUsers").await.unwrap(), 1);
}

#[tokio::test]
async fn two_invocations_at_once_on_a_shard_count_once() {
    let db = Database::start().await.unwrap();
    let events: Vec<_> = (0..4)
        .map(|size| {
            batch("shard", (1..=10 + size).map(|n| (n, format!("user-{}", n % 4), format!("{DAY}T00:00:00.{n:03}Z"))))
        })
        .collect();
    let aggregators: Vec<_> = events.iter().map(|_| aggregator(&db)).collect();
    let deliveries = events.iter().zip(&aggregators).map(|(event, aggregator)| deliver(aggregator, event));
    let outcomes = futures::future::join_all(deliveries).await;
    assert!(outcomes.iter().any(Result::is_ok));
    deliver(&aggregator(&db), &events[3]).await.unwrap();
    assert_eq!(stats(&db).await, [13, 4, 13, 4, 13]);
}

/// Fails `operation` the next so many times, before or after it takes effect.
fn fail(db: &Database, operation: &str, next: u32, applied: bool) {
    let chance = BTreeMap::from([(operation.to_owned(), Chance { next, probability: 0.0 })]);
    let none = BTreeMap::new();
    let (fail_before, fail_after) = if applied { (none, chance) } else { (chance, none) };
    db.engine().faults().set(EngineFaults { fail_before, fail_after, ..EngineFaults::default() });
}

#[tokio::test]
async fn failed_requests_and_lost_replies_leave_sums_exact() {
    let operations = ["GetItem", "BatchGetItem", "UpdateItem", "TransactWriteItems"];
    let cases = operations
        .map(|operation| [(operation, false, 2), (operation, false, 40), (operation, true, 2), (operation, true, 40)]);
    let runs = cases.into_iter().flatten().map(async |(operation, applied, times)| {
        let db = Database::start().await.unwrap();
        fail(&db, operation, times, applied);
        let event = sample("usual");
        // Whether it is retried inside or comes again from outside: at some point it is counted,
        // once.
        let _ = deliver_within(Duration::from_secs(1), &aggregator(&db), &event).await;
        db.engine().faults().set(EngineFaults::default());
        deliver(&aggregator(&db), &event).await.unwrap();
        assert_eq!(stats(&db).await, [4, 2, 4, 2, 4], "{operation}, applied: {applied}, {times} times");
    });
    futures::future::join_all(runs).await;
}

#[tokio::test]
async fn transaction_conflicts_are_retried_inside_the_invocation() {
    let db = Database::start().await.unwrap();
    db.engine()
        .faults()
        .set(EngineFaults { transaction_conflicts: Chance { next: 3, probability: 0.0 }, ..EngineFaults::default() });
    assert_eq!(deliver(&aggregator(&db), &sample("usual")).await.unwrap(), done());
    assert_eq!(stats(&db).await, [4, 2, 4, 2, 4]);
}

#[tokio::test]
async fn half_failed_batch_asks_only_for_its_rest() {
    let db = Database::start().await.unwrap();
    let days = std::iter::successors(Some(jiff::civil::date(2025, 10, 2)), |day| day.tomorrow().ok()).take(150);
    let clicks = days.zip(1..).map(|(day, n)| (n, "ann".to_owned(), format!("{day}T12:00:00.000Z")));
    let event = batch("shard", clicks);
    let aggregator = aggregator(&db);
    // DynamoDB refuses to add to a text, so the part with the last day fails at once.
    let key = [("userId", "STAT#DAILY"), ("createDateTime", "2026-02-28")]
        .map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
    let text = [("uniqueUsers".to_owned(), AttributeValue::S("many".to_owned()))];
    let item = key.iter().cloned().chain(text).collect();
    db.client.put_item().table_name(Database::CLICKS).set_item(Some(item)).send().await.unwrap();
    let reply = deliver(&aggregator, &event).await.unwrap();
    let counted = db.number("STAT#TOTAL", "METADATA", "totalClicks").await.unwrap();
    assert!((1..150).contains(&counted), "{counted}");
    assert_eq!(reply["batchItemFailures"][0]["itemIdentifier"], format!("{:021}", counted + 1));
    db.client.delete_item().table_name(Database::CLICKS).set_key(Some(key.into())).send().await.unwrap();
    deliver(&aggregator, &event).await.unwrap();
    assert_eq!(db.number("STAT#TOTAL", "METADATA", "totalClicks").await.unwrap(), 150);
}
