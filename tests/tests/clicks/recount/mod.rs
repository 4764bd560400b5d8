//! Recounting, repairing and redriving against a real engine and its stream, also while clicks keep
//! arriving and the aggregator counts.

mod differences;
mod redrive;
mod repair;
mod traffic;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::{AttributeValue as Image, Record, ShardIteratorType};
use clicks_store::{CountedClick, DateShards, RecountScope, rollup_table};
use jiff::Timestamp;
use jiff::civil::Date;
use rollup::{
    Aggregator, Ending, Layout, Lowering, Measurement, QuarantinedRecord, Recounter, RedriveOutcome, RepairError,
    RepairReport,
};
use serde_json::{Value, json};
use tests::Database;
use tidemark_engine::ShardChange;
use tokio::sync::Notify;

use super::aggregator;

const DAY: &str = "2025-10-02";

fn scopes() -> [RecountScope; 3] {
    [RecountScope::Day(DAY.parse().unwrap()), RecountScope::Month(DAY[..7].parse().unwrap()), RecountScope::All]
}

fn recounter<'a>(db: &Database, aggregator: &'a Aggregator<CountedClick>) -> Recounter<'a, CountedClick> {
    Recounter::new(aggregator, rollup_table(&db.table(Database::CLICKS)), db.streams())
}

async fn recount(db: &Database, scope: RecountScope) -> Measurement {
    let scope = scope.of(&db.table(Database::CLICKS), DateShards::default());
    recounter(db, &aggregator(db)).check(&scope, |_| {}).await.unwrap()
}

/// The sort key of each wrong statistic, the attribute, and by how much it is too high.
fn errors(measured: &Measurement) -> Vec<(&str, &str, i128)> {
    let errors = measured.differences.iter();
    errors.map(|wrong| (&*wrong.sort, &*wrong.attribute, wrong.error().units)).collect()
}

/// Puts a click as a foreign client does; `n` makes its time, and so its key, its own.
async fn put(db: &Database, user: &str, n: u32) {
    put_at(db, user, &format!("{DAY}T10:{:02}:{:02}.{:03}Z", n / 60_000, n / 1_000 % 60, n % 1_000)).await;
}

async fn put_at(db: &Database, user: &str, time: &str) {
    put_with_count(db, user, time, AttributeValue::N("1".to_owned())).await;
}

async fn put_with_count(db: &Database, user: &str, time: &str, count: AttributeValue) {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let put = db.client.put_item().table_name(Database::CLICKS);
    let put = put.item("userId", text(user)).item("createDateTime", text(time)).item("clickCount", count);
    let put = put.item("dateKey", text(&format!("DATE#{}", &time[..10])));
    put.item("recordSort", text(&format!("CLICK#{time}#{user}"))).send().await.unwrap();
}

async fn add(db: &Database, partition: &str, sort: &str, clicks: i32) {
    let update = db.client.update_item().table_name(Database::CLICKS);
    let update = update.key("userId", AttributeValue::S(partition.to_owned()));
    let update = update.key("createDateTime", AttributeValue::S(sort.to_owned()));
    let update = update.update_expression("ADD totalClicks :n");
    update.expression_attribute_values(":n", AttributeValue::N(clicks.to_string())).send().await.unwrap();
}

/// A small event source mapping: reads each shard from its last position, and delivers the records.
struct Source {
    stream_arn: String,
    streams: aws_sdk_dynamodbstreams::Client,
    aggregator: Aggregator<CountedClick>,
    iterators: BTreeMap<String, Option<String>>,
}

impl Source {
    async fn of(db: &Database) -> Self {
        Self::in_layout(db, Layout::Sums).await
    }

    async fn in_layout(db: &Database, layout: Layout) -> Self {
        let table = db.client.describe_table().table_name(Database::CLICKS).send().await.unwrap().table.unwrap();
        Self {
            stream_arn: table.latest_stream_arn.unwrap(),
            streams: db.streams(),
            aggregator: aggregator(db).layout(layout),
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
            delivered |= self.deliver_from(&shard).await;
        }
        delivered
    }

    /// Delivers a page of one shard.
    async fn deliver_from(&mut self, shard: &str) -> bool {
        if !self.iterators.contains_key(shard) {
            let request = self.streams.get_shard_iterator().stream_arn(&self.stream_arn).shard_id(shard);
            let request = request.shard_iterator_type(ShardIteratorType::TrimHorizon);
            self.iterators.insert(shard.to_owned(), request.send().await.unwrap().shard_iterator);
        }
        let Some(iterator) = self.iterators[shard].clone() else { return false };
        let page = self.streams.get_records().shard_iterator(iterator).limit(7).send().await.unwrap();
        let records: Vec<_> = page.records.unwrap().iter().map(event_record).collect();
        self.iterators.insert(shard.to_owned(), page.next_shard_iterator);
        if records.is_empty() {
            return false;
        }
        let event = json!({"Records": records, "shardId": shard, "eventSourceARN": self.stream_arn, "state": {}});
        let event = serde_json::value::to_raw_value(&event).unwrap();
        let deadline = SystemTime::now() + Duration::from_secs(30);
        let reply = stats_aggregator::handle(std::slice::from_ref(&self.aggregator), event, deadline, Timestamp::now())
            .await
            .unwrap();
        assert_eq!(serde_json::to_value(reply).unwrap()["batchItemFailures"], json!([]));
        true
    }

    /// Reads the records of the first shard without delivering them.
    async fn give_up(&mut self) {
        let shard = self.shards().await.remove(0);
        let iterator = self.iterators[&shard].clone().unwrap();
        let page = self.streams.get_records().shard_iterator(iterator).send().await.unwrap();
        self.iterators.insert(shard, page.next_shard_iterator);
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
        // Only the crate's own items have others, and nothing reads them.
        _ => json!({"NULL": true}),
    };
    let keys: BTreeMap<_, _> = change.keys.iter().flatten().map(|(name, value)| (name, attribute(value))).collect();
    let image = change.new_image.as_ref().map(|image| image.iter().map(|(name, value)| (name, attribute(value))));
    let image: Option<BTreeMap<_, _>> = image.map(Iterator::collect);
    json!({
        "eventName": record.event_name.as_ref().unwrap().as_str(),
        "dynamodb": {"SequenceNumber": change.sequence_number, "Keys": keys, "NewImage": image},
    })
}

async fn repair(db: &Database, measured: &Measurement, lowering: Lowering) -> Result<RepairReport, RepairError> {
    recounter(db, &aggregator(db)).repair(measured, lowering, Timestamp::now(), |_| {}).await
}

/// Clicks and visitors of the day, the month, and clicks of all.
async fn stats(db: &Database) -> [u64; 5] {
    let [day, month] = [("STAT#DAILY", DAY), ("STAT#MONTHLY", &DAY[..7])];
    let mut numbers = [0; 5];
    let places = [(day, "totalClicks"), (day, "uniqueUsers"), (month, "totalClicks"), (month, "uniqueUsers")];
    let places = places.into_iter().chain([(("STAT#TOTAL", "METADATA"), "totalClicks")]);
    for (number, ((partition, sort), attribute)) in numbers.iter_mut().zip(places) {
        *number = db.number(partition, sort, attribute).await.unwrap();
    }
    numbers
}

async fn delete(db: &Database, partition: &str, sort: &str) {
    let delete = db.client.delete_item().table_name(Database::CLICKS);
    let delete = delete.key("userId", AttributeValue::S(partition.to_owned()));
    delete.key("createDateTime", AttributeValue::S(sort.to_owned())).send().await.unwrap();
}
