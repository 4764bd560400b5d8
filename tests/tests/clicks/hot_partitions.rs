//! What happens when a day is hotter than one index partition can take, and what the number of date
//! shards does about it.

use std::collections::BTreeSet;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use clicks_store::{ClickWriter, DateShards};
use domain::UserId;
use domain::clicks::{Click, ClickCount, ClickTime};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::json;
use store_base::StoreError;
use tests::{Database, OPERATOR_TOKEN, Stack};
use tidemark_engine::EngineFaults;

const TIME: &str = "2025-10-02T10:30:00.000Z";

/// A second's clicks, half as many again as one partition takes.
const OFFERED: std::ops::Range<usize> = 0..1_500;

/// A database that throttles by a clock that stands still, so that each partition has one second's
/// units to give.
async fn throttling_database() -> Database {
    let db = Database::start().await.unwrap();
    db.engine().throttle_clock().hold();
    db.engine().faults().set(EngineFaults { throttle: true, ..EngineFaults::default() });
    db
}

/// Puts a click of each user, and returns the number of refusals. Throttled requests are not
/// retried.
async fn offer(db: &Database, date_shards: u8, users: impl Iterator<Item = usize>) -> Vec<StoreError> {
    let config = db.client.config().to_builder().retry_config(RetryConfig::disabled()).build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let writer = ClickWriter::new(
        &store_base::Table::new(client, Database::CLICKS),
        DateShards::new(date_shards).unwrap(),
        None,
    );
    let mut refusals = Vec::new();
    for user in users {
        let user_id = UserId::new(format!("user-{user}")).unwrap();
        let click =
            Click { user_id, time: ClickTime::parse(TIME).unwrap(), count: ClickCount::default(), target: None };
        refusals.extend(writer.put(&click, "id").await.err());
    }
    refusals
}

#[tokio::test]
async fn one_date_shard_throttles_beyond_a_thousand_clicks_per_second() {
    let db = throttling_database().await;
    let refusals = offer(&db, 1, OFFERED).await;
    assert_eq!(refusals.len(), 500);
    // Each click has a partition of the table to itself; it is the day's partition of the index
    // that is full.
    for refusal in &refusals {
        assert!(matches!(refusal, StoreError::Busy(why) if why.contains("IndexWriteKeyRangeThroughputExceeded")));
    }
    assert_eq!(db.number("user-999", TIME, "clickCount").await.unwrap(), 1);
    assert_eq!(db.number("user-1000", TIME, "clickCount").await.unwrap(), 0);
    assert_eq!(db.engine().faults().injected()["throttle"], 500);
    // A tenth of a second brings a tenth of the units.
    db.engine().throttle_clock().advance(Duration::from_millis(100));
    assert_eq!(offer(&db, 1, 1_000..1_200).await.len(), 100);
}

#[tokio::test]
async fn four_date_shards_take_what_one_does_not() {
    let db = throttling_database().await;
    assert_eq!(offer(&db, 4, OFFERED).await.len(), 0);
    assert_eq!(db.engine().faults().injected().get("throttle"), None);
}

#[tokio::test]
async fn readers_stay_right_across_a_change_of_date_shards() {
    const USERS: u64 = 20;
    // The clicks' times are in their keys, and all in one second: midnight does not come between
    // them.
    let second = Timestamp::now().as_second().unsigned_abs();
    let click = async |stack: &Stack, n: u64| {
        // The later clicks lie between the earlier ones: a page has some of both.
        let millisecond = second * 1_000 + n % USERS * 10 + n / USERS;
        let key = uuid::Builder::from_unix_timestamp_millis(millisecond, &[7; 10]).into_uuid().to_string();
        let body = json!({"userId": format!("user-{}", n % USERS)}).to_string();
        let headers = [("idempotency-key", key.as_str()), ("content-type", "application/json")];
        let answer = stack.request(Method::POST, "/clicks", &headers, Some(body)).await.unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    };
    let mut sent = Vec::new();
    let stack = Stack::with(&[]).await.unwrap();
    for n in 0..USERS {
        sent.push(click(&stack, n).await);
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": USERS})).await.unwrap();
    let stack = stack.restart_after_sigkill(&["--parameter", "ClickDateShards=4"]).await.unwrap();
    for n in USERS..2 * USERS {
        sent.push(click(&stack, n).await);
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 2 * USERS})).await.unwrap();

    sent.sort_by_key(|click| click["createDateTime"].to_string());
    let day = sent[0]["createDateTime"].as_str().unwrap()[..10].to_owned();
    for limit in [1_000, 7] {
        let (mut listed, mut cursor) = (Vec::new(), String::new());
        for page in 0.. {
            assert!(page < 10, "the pages do not end");
            let path = format!("/days/{day}/clicks?limit={limit}&cursor={cursor}");
            let answer = stack.get_with(OPERATOR_TOKEN, &path).await.unwrap().json();
            listed.extend(answer["items"].as_array().unwrap().clone());
            match answer["cursor"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => break,
            }
        }
        assert_eq!(listed, sent, "limit {limit}");
    }
    let of_user = stack.get_with(OPERATOR_TOKEN, "/users/user-3/clicks").await.unwrap().json();
    assert_eq!(of_user["items"].as_array().unwrap().len(), 2);
    for path in [format!("/stats/daily/{day}"), format!("/stats/monthly/{}", &day[..7])] {
        let stat = stack.get(&path).await.unwrap().json();
        assert_eq!((&stat["totalClicks"], &stat["uniqueUsers"]), (&json!(2 * USERS), &json!(USERS)), "{path}");
    }
    // Both layouts were written: the index has the day's plain partition and some of its four
    // others.
    let items = stack.dynamodb().scan().table_name("qit-db-local").index_name("DateIndex").send().await.unwrap();
    let partitions: BTreeSet<_> = items.items().iter().filter_map(|item| item["dateKey"].as_s().ok()).collect();
    let sharded = partitions.iter().filter(|key| key.starts_with(&format!("DATE#{day}#"))).count();
    assert!(partitions.contains(&format!("DATE#{day}")) && sharded > 1, "{partitions:?}");
}
