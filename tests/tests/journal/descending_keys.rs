//! The article's method for a newest-first log does not work. A partition holds one day; its key is
//! the negative Unix time of the day's midnight. The sort key is a UUIDv7 with every bit inverted.
//! A Scan of these keys does not return the newest entries first, and a day in one partition is
//! full where a day in several is not.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use domain::EntryId;
use domain::journal::{Retention, SuiteEvent};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use journal_store::{Journal, JournalShards};
use store_base::StoreError;
use tests::Database;
use tidemark_engine::EngineFaults;
use uuid::{Uuid, Variant};

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// The partition key of a moment: the negative Unix time, in seconds, of the midnight of its day.
/// `offset` is the offset from UTC of the time zone of the day. The article's figures are for days
/// in Japan.
fn negative_unix_day(at: Timestamp, offset: Offset) -> i64 {
    let shift = i64::from(offset.seconds());
    shift - (at.as_second() + shift).div_euclid(DAY_SECONDS) * DAY_SECONDS
}

/// The sort key of an id: every bit inverted. Inverting twice gives the id back.
fn inverted(id: Uuid) -> Uuid {
    Uuid::from_u128(!id.as_u128())
}

/// The keys of the article's log, with the newest first.
fn log() -> Vec<(i64, Uuid)> {
    let first: Timestamp = "2024-01-01T00:00:00+09:00".parse().unwrap();
    let at = |half_day: i64| first + SignedDuration::from_hours(12 * half_day);
    let key = |at: Timestamp| (negative_unix_day(at, Offset::constant(9)), EntryId::derived(at, "log").uuid());
    (0..20).rev().map(|half_day| key(at(half_day))).collect()
}

#[test]
fn the_keys_match_the_figures_of_the_article() {
    let japan = Offset::constant(9);
    for at in ["2024-01-01T00:00:00+09:00", "2024-01-01T12:00:00+09:00", "2024-01-01T23:59:59.999999999+09:00"] {
        assert_eq!(negative_unix_day(at.parse().unwrap(), japan), -1_704_034_800, "{at}");
    }
    let (before, after) = (
        "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse::<Uuid>().unwrap(),
        "fe6f5b32-2c18-8ddd-6066-0248b01118ad".parse::<Uuid>().unwrap(),
    );
    assert_eq!((inverted(before), inverted(after)), (after, before));
}

#[test]
fn days_before_1970_begin_at_midnight_too() {
    let utc = Offset::UTC;
    assert_eq!(negative_unix_day("1970-01-01T23:59:59Z".parse().unwrap(), utc), 0);
    assert_eq!(negative_unix_day("1970-01-02T00:00:00Z".parse().unwrap(), utc), -86_400);
    assert_eq!(negative_unix_day("1969-12-31T23:59:59Z".parse().unwrap(), utc), 86_400);
}

#[test]
fn a_later_id_sorts_before_an_earlier_one() {
    let (earlier, later) = (
        "0190a4b6-20c5-7130-a690-187196ac3d3d".parse::<Uuid>().unwrap(),
        "0190a4b6-a361-71cc-9e01-7ec23d9e3d3d".parse::<Uuid>().unwrap(),
    );
    assert!(earlier < later && inverted(later) < inverted(earlier));
    assert!(inverted(later).to_string() < inverted(earlier).to_string());
}

#[test]
fn inverted_id_is_no_longer_a_uuid_v7() {
    let id = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse::<Uuid>().unwrap();
    assert_eq!((id.get_version_num(), id.get_variant()), (7, Variant::RFC4122));
    assert_eq!((inverted(id).get_version_num(), inverted(id).get_variant()), (8, Variant::NCS));
}

#[tokio::test]
async fn scan_of_the_articles_table_is_not_newest_first() {
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

    // One segment of one. The engine reads segments in the order of the hashes of the partition
    // keys, as DynamoDB does. It happens to answer a Scan without segments in the order of the
    // keys, which DynamoDB does not do.
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
    assert_eq!(all, wanted, "the scan returns everything");
    let days: Vec<_> = scanned.iter().map(|(day, _)| *day).collect();
    assert!(!days.is_sorted(), "the days come in order: {days:?}");
    assert!(!days.iter().rev().is_sorted(), "the days come in order: {days:?}");
    // Within a day, and nowhere else, ids are in order.
    assert!(scanned.chunk_by(|(a, _), (b, _)| a == b).all(|day| day.len() == 2 && day.is_sorted()), "{scanned:?}");
}

/// Appends entries within one second, which the test holds still, and returns the number of refused
/// ones. Nothing is retried.
async fn refused(shards: u8, entries: u32) -> usize {
    let db = Database::start().await.unwrap();
    db.engine().throttle_clock().hold();
    db.engine().faults().set(EngineFaults { throttle: true, ..EngineFaults::default() });
    let config = db.client.config().to_builder().retry_config(RetryConfig::disabled()).build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let shards = JournalShards::new(shards).unwrap();
    let journal = Journal::new(&store_base::Table::new(client, Database::JOURNAL), shards, Retention::default());
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
async fn journal_shard_takes_a_thousand_entries_per_second() {
    assert_eq!(refused(1, 1_200).await, 200);
    assert_eq!(refused(4, 1_200).await, 0);
}
