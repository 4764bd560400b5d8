//! Recounting against a real engine and its stream, also while clicks keep arriving and the aggregator counts.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::{AttributeValue as Image, Record, ShardIteratorType};
use domain::clicks::{Difference, Period, Scope, Sums};
use engine::ShardChange;
use jiff::Timestamp;
use local::dynamodb::{Identity, streams_client};
use serde_json::{Value, json};
use stats_aggregator::Aggregator;
use store::clicks::{DateShards, Measured, Recounter};
use tidemark_cli::recount::check;
use tidemark_tests::Database;

const DAY: &str = "2025-10-02";

fn scopes() -> [Scope; 3] {
    [Scope::Day(DAY.parse().unwrap()), Scope::Month(DAY[..7].parse().unwrap()), Scope::All]
}

fn recounter(db: &Database) -> Recounter {
    let streams = streams_client(&db.engine.url(), &Identity::local());
    Recounter::new(db.client.clone(), streams, Database::CLICKS, DateShards::default())
}

async fn recount(db: &Database, scope: Scope) -> Measured {
    check(&recounter(db), scope, |_| {}).await.unwrap()
}

/// Puts a click as a foreign client does; `n` makes its time, and so its key, its own.
async fn put(db: &Database, user: &str, n: u32) {
    let time = format!("{DAY}T10:{:02}:{:02}.{:03}Z", n / 60_000, n / 1_000 % 60, n % 1_000);
    let text = |text: String| AttributeValue::S(text);
    let put = db.client.put_item().table_name(Database::CLICKS);
    let put = put.item("userId", text(user.to_owned())).item("createDateTime", text(time.clone()));
    let put = put.item("clickCount", AttributeValue::N("1".to_owned())).item("dateKey", text(format!("DATE#{DAY}")));
    put.item("recordSort", text(format!("CLICK#{time}#{user}"))).send().await.unwrap();
}

async fn add(db: &Database, partition: &str, sort: &str, clicks: i32) {
    let update = db.client.update_item().table_name(Database::CLICKS);
    let update = update.key("userId", AttributeValue::S(partition.to_owned()));
    let update = update.key("createDateTime", AttributeValue::S(sort.to_owned()));
    let update = update.update_expression("ADD totalClicks :n");
    update.expression_attribute_values(":n", AttributeValue::N(clicks.to_string())).send().await.unwrap();
}

/// An event source mapping in small: reads each shard from where it stopped, and hands on what it reads.
struct Source {
    stream_arn: String,
    streams: aws_sdk_dynamodbstreams::Client,
    aggregator: Aggregator,
    iterators: BTreeMap<String, Option<String>>,
}

impl Source {
    async fn of(db: &Database) -> Self {
        let table = db.client.describe_table().table_name(Database::CLICKS).send().await.unwrap().table.unwrap();
        Self {
            stream_arn: table.latest_stream_arn.unwrap(),
            streams: streams_client(&db.engine.url(), &Identity::local()),
            aggregator: Aggregator::new(db.client.clone(), Database::CLICKS),
            iterators: BTreeMap::new(),
        }
    }

    async fn shards(&self) -> Vec<String> {
        let answer = self.streams.describe_stream().stream_arn(&self.stream_arn).send().await.unwrap();
        let shards = answer.stream_description.unwrap().shards.unwrap();
        shards.into_iter().map(|shard| shard.shard_id.unwrap()).collect()
    }

    /// Delivers a page of each shard; says whether there was anything.
    async fn deliver(&mut self) -> bool {
        let mut delivered = false;
        for shard in self.shards().await {
            if !self.iterators.contains_key(&shard) {
                let request = self.streams.get_shard_iterator().stream_arn(&self.stream_arn).shard_id(&shard);
                let request = request.shard_iterator_type(ShardIteratorType::TrimHorizon);
                self.iterators.insert(shard.clone(), request.send().await.unwrap().shard_iterator);
            }
            let Some(iterator) = self.iterators[&shard].clone() else { continue };
            let page = self.streams.get_records().shard_iterator(iterator).limit(7).send().await.unwrap();
            let records: Vec<_> = page.records.unwrap().iter().map(event_record).collect();
            self.iterators.insert(shard.clone(), page.next_shard_iterator);
            if records.is_empty() {
                continue;
            }
            delivered = true;
            let event = json!({"Records": records, "shardId": shard, "eventSourceARN": self.stream_arn, "state": {}});
            let event = serde_json::value::to_raw_value(&event).unwrap();
            let deadline = SystemTime::now() + Duration::from_secs(30);
            let reply = stats_aggregator::handle(&self.aggregator, event, deadline, Timestamp::now()).await.unwrap();
            assert_eq!(serde_json::to_value(reply).unwrap()["batchItemFailures"], json!([]));
        }
        delivered
    }

    async fn drain(&mut self) {
        while self.deliver().await {}
    }
}

fn event_record(record: &Record) -> Value {
    let change = record.dynamodb.as_ref().unwrap();
    let attribute = |value: &Image| match value {
        Image::S(text) => json!({"S": text}),
        Image::N(number) => json!({"N": number}),
        // Of our own items only: claims. Nobody looks into them.
        _ => json!({"NULL": true}),
    };
    let image = change.new_image.as_ref().map(|image| image.iter().map(|(name, value)| (name, attribute(value))));
    let image: Option<BTreeMap<_, _>> = image.map(Iterator::collect);
    json!({
        "eventName": record.event_name.as_ref().unwrap().as_str(),
        "dynamodb": {"SequenceNumber": change.sequence_number, "NewImage": image},
    })
}

#[tokio::test]
async fn what_is_counted_right_has_no_differences() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    for n in 0..20 {
        put(&db, &format!("user-{}", n % 3), n).await;
    }
    source.drain().await;
    assert_eq!(db.number("STAT#DAILY", DAY, "uniqueUsers").await.unwrap(), 3);
    for scope in scopes() {
        let measured = recount(&db, scope).await;
        assert_eq!((measured.differences, measured.clicks, measured.pending), (vec![], 20, 0), "{scope:?}");
    }
}

#[tokio::test]
async fn clicks_that_the_stream_still_holds_are_no_differences() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    for n in 1..6 {
        put(&db, "bob", n).await;
    }
    for scope in scopes() {
        let measured = recount(&db, scope).await;
        assert_eq!((measured.differences, measured.clicks, measured.pending), (vec![], 6, 5), "{scope:?}");
    }
}

#[tokio::test]
async fn a_batch_that_was_given_up_shows_as_missing_once_its_lane_has_passed_it() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    put(&db, "bob", 1).await;
    // The mapping gives up on bob's click: it reads it, and hands it to nobody.
    let shard = source.shards().await.remove(0);
    let iterator = source.iterators[&shard].clone().unwrap();
    let page = source.streams.get_records().shard_iterator(iterator).send().await.unwrap();
    source.iterators.insert(shard, page.next_shard_iterator);
    put(&db, "ann", 2).await;
    source.drain().await;

    let sums = |clicks, unique_users| Sums { clicks, unique_users };
    let difference = |period, stored, recounted| Difference { period, stored, recounted };
    let day = difference(Period::Day(DAY.parse().unwrap()), sums(2, 1), sums(3, 2));
    let month = difference(Period::Month(DAY[..7].parse().unwrap()), sums(2, 1), sums(3, 2));
    let total = difference(Period::Total, sums(2, 0), sums(3, 0));
    let [of_day, of_month, of_all] = scopes();
    assert_eq!(recount(&db, of_day).await.differences, [day]);
    assert_eq!(recount(&db, of_month).await.differences, [day, month]);
    assert_eq!(recount(&db, of_all).await.differences, [day, month, total]);
}

#[tokio::test]
async fn an_unreadable_click_is_told_of_and_is_no_difference() {
    let db = Database::start().await.unwrap();
    put(&db, "ann", 0).await;
    let update = db.client.update_item().table_name(Database::CLICKS);
    let update = update.key("userId", AttributeValue::S("ann".into()));
    let update = update.key("createDateTime", AttributeValue::S(format!("{DAY}T10:00:00.000Z")));
    let update = update.update_expression("SET clickCount = :text");
    update.expression_attribute_values(":text", AttributeValue::S("one".into())).send().await.unwrap();
    let measured = recount(&db, Scope::All).await;
    assert_eq!((measured.differences, measured.clicks, measured.unreadable), (vec![], 0, 1));
}

#[tokio::test]
async fn while_clicks_keep_arriving_exactly_the_wrong_statistics_differ() {
    const CLICKS: u32 = 600;
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    let first = source.shards().await.remove(0);
    let written = AtomicBool::new(false);

    let writing = async {
        for n in 1..CLICKS {
            put(&db, &format!("user-{}", n % 17), n).await;
            if n == CLICKS / 3 {
                db.engine.change_shard(Database::CLICKS, &first, ShardChange::Split).await.unwrap();
            }
        }
        written.store(true, Ordering::Release);
    };
    let counting = async {
        // What is asked before the delivery is about everything that the delivery can find.
        loop {
            let is_last = written.load(Ordering::Acquire);
            if !source.deliver().await && is_last {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let measuring = async {
        let (mut right, mut on_their_way) = (0, 0);
        while !written.load(Ordering::Acquire) {
            for scope in scopes() {
                // One measurement, without a second one to confirm it.
                let measured = recounter(&db).measure(scope, |_| {}).await.unwrap();
                assert_eq!(measured.differences, [], "{scope:?}");
                on_their_way += measured.pending;
                right += 1;
            }
        }
        (right, on_their_way)
    };
    let ((), (), (right, on_their_way)) = tokio::join!(writing, counting, measuring);
    assert!(right > 0 && on_their_way > 0, "{right} measurements saw {on_their_way} clicks on their way");

    add(&db, "STAT#DAILY", DAY, 5).await;
    let more = async {
        for n in CLICKS..CLICKS + 200 {
            put(&db, "eve", n).await;
            source.deliver().await;
        }
    };
    let ((), measured) = tokio::join!(more, recount(&db, Scope::All));
    let errors: Vec<_> =
        measured.differences.iter().map(|difference| (difference.period, difference.error())).collect();
    assert_eq!(errors, [(Period::Day(DAY.parse().unwrap()), (5, 0))]);
}
