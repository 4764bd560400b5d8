//! The article's way of reading a log backwards, a Scan over negative days and inverted ids, does
//! not bring it backwards; and a day that is one partition is full where a day of several is not.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use domain::journal::descending_keys::{inverted, negative_unix_day};
use domain::journal::{EntryId, Retention, SuiteEvent};
use engine::EngineFaults;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use store::StoreError;
use store::journal::{Journal, JournalShards};
use tidemark_tests::Database;
use uuid::Uuid;

/// What the article wants: the newest first.
fn log() -> Vec<(i64, Uuid)> {
    let first: Timestamp = "2024-01-01T00:00:00+09:00".parse().unwrap();
    let at = |half_day: i64| first + SignedDuration::from_hours(12 * half_day);
    let key = |at: Timestamp| (negative_unix_day(at, Offset::constant(9)), EntryId::derived(at, "log").uuid());
    (0..20).rev().map(|half_day| key(at(half_day))).collect()
}

#[tokio::test]
async fn a_scan_of_the_articles_table_does_not_bring_the_newest_first() {
    let db = Database::start().await.unwrap();
    let attribute =
        |name: &str, kind| AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build().unwrap();
    let schema = |name: &str, kind| KeySchemaElement::builder().attribute_name(name).key_type(kind).build().unwrap();
    db.client
        .create_table()
        .table_name("article")
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("partition_key", ScalarAttributeType::N))
        .attribute_definitions(attribute("sort_key", ScalarAttributeType::S))
        .key_schema(schema("partition_key", KeyType::Hash))
        .key_schema(schema("sort_key", KeyType::Range))
        .send()
        .await
        .unwrap();
    let wanted: Vec<_> = log().into_iter().map(|(day, id)| (day, inverted(id).to_string())).collect();
    // The keys are as the article says: as numbers and as texts, the newest comes first.
    assert!(wanted.is_sorted());
    for (day, id) in wanted.iter().rev() {
        let request = db.client.put_item().table_name("article").item("sort_key", AttributeValue::S(id.clone()));
        request.item("partition_key", AttributeValue::N(day.to_string())).send().await.unwrap();
    }

    // As one segment of one. The engine walks segments by the hash of the partition key, as
    // DynamoDB does; a Scan without segments it happens to answer in the order of the keys, which
    // DynamoDB promises nobody and does not do.
    let request = db.client.scan().table_name("article").segment(0).total_segments(1);
    let items = request.send().await.unwrap().items.unwrap();
    let scanned: Vec<_> = items
        .iter()
        .map(|item| {
            let day: i64 = item["partition_key"].as_n().unwrap().parse().unwrap();
            (day, item["sort_key"].as_s().unwrap().clone())
        })
        .collect();
    let mut all = scanned.clone();
    all.sort();
    assert_eq!(all, wanted, "the scan brings everything");
    let days: Vec<_> = scanned.iter().map(|(day, _)| *day).collect();
    assert!(!days.is_sorted(), "the days come in order: {days:?}");
    assert!(!days.iter().rev().is_sorted(), "the days come in order: {days:?}");
    // Within a day, and nowhere else, ids are in order.
    assert!(scanned.chunk_by(|(a, _), (b, _)| a == b).all(|day| day.len() == 2 && day.is_sorted()), "{scanned:?}");
}

/// Appends so many entries in one second that the test holds still, and gives how many were
/// refused. Nothing is retried.
async fn refused(shards: u8, entries: u32) -> usize {
    let db = Database::start().await.unwrap();
    db.engine().throttle_clock().hold();
    db.engine().faults().set(EngineFaults { throttle: true, ..EngineFaults::default() });
    let config = db.client.config().to_builder().retry_config(RetryConfig::disabled()).build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let shards = JournalShards::new(shards).unwrap();
    let journal = Journal::new(&store::Table::new(client, Database::JOURNAL), shards, Retention::default());
    let now = Timestamp::now();
    let mut refused = 0;
    for number in 0..entries {
        match journal.append(&SuiteEvent::StatisticsRepaired.entry(now, &number.to_string()), now).await {
            Ok(_) => {}
            Err(StoreError::Busy(_)) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    refused
}

#[tokio::test]
async fn a_day_of_one_shard_takes_a_thousand_entries_a_second_and_four_take_more() {
    assert_eq!(refused(1, 1_200).await, 200);
    assert_eq!(refused(4, 1_200).await, 0);
}
