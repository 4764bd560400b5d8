//! Recounting, repairing and redriving against a real engine and its stream, also while clicks keep arriving and the aggregator counts.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::{AttributeValue as Image, Record, ShardIteratorType};
use domain::clicks::{Correction, Difference, Period, Scope, StreamClick, Sums, parts};
use engine::ShardChange;
use jiff::Timestamp;
use jiff::civil::Date;
use local::dynamodb::{Identity, streams_client};
use serde_json::{Value, json};
use stats_aggregator::Aggregator;
use store::clicks::{
    DateShards, Ending, Kept, KnownClaims, Lane, Markers, Measured, Quarantine, Recounter, Redriven, Redriver,
    RepairError, Repaired, Repairer,
};
use tidemark_tests::Database;
use tokio::sync::Notify;

const DAY: &str = "2025-10-02";

fn scopes() -> [Scope; 3] {
    [Scope::Day(DAY.parse().unwrap()), Scope::Month(DAY[..7].parse().unwrap()), Scope::All]
}

fn recounter(db: &Database) -> Recounter {
    let streams = streams_client(&db.engine.url(), &Identity::local());
    Recounter::new(db.client.clone(), streams, Database::CLICKS, DateShards::default())
}

async fn recount(db: &Database, scope: Scope) -> Measured {
    recounter(db).check(scope, |_| {}).await.unwrap()
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
        let reply = stats_aggregator::handle(&self.aggregator, event, deadline, Timestamp::now()).await.unwrap();
        assert_eq!(serde_json::to_value(reply).unwrap()["batchItemFailures"], json!([]));
        true
    }

    /// Reads what has come into the first shard, and hands it to nobody.
    async fn give_up(&mut self) {
        let shard = self.shards().await.remove(0);
        let iterator = self.iterators[&shard].clone().unwrap();
        let page = self.streams.get_records().shard_iterator(iterator).send().await.unwrap();
        self.iterators.insert(shard, page.next_shard_iterator);
    }

    /// The first shard's records, from its beginning.
    async fn records(&self) -> Vec<Record> {
        let shard = self.shards().await.remove(0);
        let request = self.streams.get_shard_iterator().stream_arn(&self.stream_arn).shard_id(&shard);
        let request = request.shard_iterator_type(ShardIteratorType::TrimHorizon);
        let iterator = request.send().await.unwrap().shard_iterator.unwrap();
        self.streams.get_records().shard_iterator(iterator).send().await.unwrap().records.unwrap()
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
    let keys: BTreeMap<_, _> = change.keys.iter().flatten().map(|(name, value)| (name, attribute(value))).collect();
    let image = change.new_image.as_ref().map(|image| image.iter().map(|(name, value)| (name, attribute(value))));
    let image: Option<BTreeMap<_, _>> = image.map(Iterator::collect);
    json!({
        "eventName": record.event_name.as_ref().unwrap().as_str(),
        "dynamodb": {"SequenceNumber": change.sequence_number, "Keys": keys, "NewImage": image},
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
    source.give_up().await;
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
    // Counting begins once a measurement has seen clicks on their way; so it does see some, on a machine of any speed.
    let (written, seen) = (AtomicBool::new(false), AtomicBool::new(false));

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
            let may_count = is_last || seen.load(Ordering::Acquire);
            if may_count && !source.deliver().await && is_last {
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
                seen.store(on_their_way > 0, Ordering::Release);
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

async fn repair(db: &Database, measured: &Measured, lowers: bool) -> Result<Repaired, RepairError> {
    let repairer = Repairer::new(db.client.clone(), Database::CLICKS);
    repairer.repair(measured, lowers, Timestamp::now(), |_| {}).await
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

/// Three clicks of two visitors, of which the mapping gave one up: bob's only one.
async fn with_a_batch_given_up(db: &Database, source: &mut Source) {
    put(db, "ann", 0).await;
    source.drain().await;
    put(db, "bob", 1).await;
    source.give_up().await;
    put(db, "ann", 2).await;
    source.drain().await;
}

#[tokio::test]
async fn a_batch_that_was_given_up_is_repaired_and_its_visitor_is_counted_once() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    with_a_batch_given_up(&db, &mut source).await;
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2]);

    let [of_day, _, of_all] = scopes();
    let measured = recount(&db, of_day).await;
    assert_eq!(measured.unmarked, [(Period::Day(DAY.parse().unwrap()), "bob".to_owned())].into());
    assert_eq!(repair(&db, &measured, false).await.unwrap().marked, 1);
    assert_eq!(stats(&db).await, [3, 2, 2, 1, 2], "a day's repair leaves the month and the total");
    repair(&db, &recount(&db, of_all).await, false).await.unwrap();
    assert_eq!(stats(&db).await, [3, 2, 3, 2, 3]);

    put(&db, "bob", 3).await;
    source.drain().await;
    assert_eq!(stats(&db).await, [4, 2, 4, 2, 4], "bob's next click counts him again");
    assert_eq!(recount(&db, of_all).await.differences, []);
}

#[tokio::test]
async fn a_measurement_is_repaired_once_however_often_it_is_tried() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    with_a_batch_given_up(&db, &mut source).await;
    let measured = recount(&db, Scope::All).await;
    let (one, other) = tokio::join!(repair(&db, &measured, false), repair(&db, &measured, false));
    assert_eq!(u8::from(one.is_ok()) + u8::from(other.is_ok()), 1);
    assert!(matches!(repair(&db, &measured, false).await, Err(RepairError::Overtaken)));
    assert_eq!(stats(&db).await, [3, 2, 3, 2, 3]);
    assert_eq!(db.number("LANE#operator", "repair", "expiresAt").await.unwrap(), 0, "the lane of repairs is for ever");
}

#[tokio::test]
async fn a_repair_that_is_killed_on_the_way_is_right_when_it_is_begun_again() {
    const DAYS: i64 = 150;
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    let first: Date = DAY.parse().unwrap();
    let days: Vec<_> = (0..DAYS).map(|n| first.checked_add(jiff::Span::new().days(n)).unwrap()).collect();
    for day in &days {
        put_at(&db, "ann", &format!("{day}T10:00:00.000Z")).await;
    }
    source.drain().await;
    for day in &days {
        delete(&db, "STAT#DAILY", &day.to_string()).await;
    }
    let measured = recount(&db, Scope::All).await;
    assert_eq!(measured.differences.len(), days.len());

    let first_part = Notify::new();
    let repairer = Repairer::new(db.client.clone(), Database::CLICKS);
    let told = |repaired: &Repaired| {
        if !repaired.corrections.is_empty() {
            first_part.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = first_part.notified() => {}
        repaired = repairer.repair(&measured, false, Timestamp::now(), told) => panic!("it was to be killed: {repaired:?}"),
    }
    let left = recount(&db, Scope::All).await;
    assert!(left.differences.len() < days.len());
    repair(&db, &left, false).await.unwrap();
    assert_eq!(recount(&db, Scope::All).await.differences, []);
    for day in &days {
        assert_eq!(db.number("STAT#DAILY", &day.to_string(), "totalClicks").await.unwrap(), 1, "{day}");
        assert_eq!(db.number("STAT#DAILY", &day.to_string(), "uniqueUsers").await.unwrap(), 1, "{day}");
    }
    // A statistic that was made anew is where its readers look.
    let item = db.client.get_item().table_name(Database::CLICKS).key("userId", AttributeValue::S("STAT#DAILY".into()));
    let item = item.key("createDateTime", AttributeValue::S(DAY.into())).send().await.unwrap().item.unwrap();
    assert_eq!(item["dateKey"], AttributeValue::S(format!("DATE#{DAY}")));
    assert_eq!(item["recordSort"], AttributeValue::S("STAT#DAILY".into()));
}

#[tokio::test]
async fn what_is_too_much_is_lowered_only_when_told_to() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    add(&db, "STAT#DAILY", DAY, 5).await;
    let measured = recount(&db, Scope::All).await;
    assert_eq!(repair(&db, &measured, false).await.unwrap(), Repaired::default());
    assert_eq!(stats(&db).await, [6, 1, 1, 1, 1]);
    repair(&db, &measured, true).await.unwrap();
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
}

#[tokio::test]
async fn a_marker_that_was_lost_is_made_anew_before_it_is_missed() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    delete(&db, "SEEN#ann", &DAY[..7]).await;
    let measured = recount(&db, Scope::Month(DAY[..7].parse().unwrap())).await;
    assert_eq!((measured.differences.len(), measured.unmarked.len()), (0, 2));
    assert_eq!(repair(&db, &measured, false).await.unwrap(), Repaired { corrections: vec![], marked: 2 });
    put(&db, "ann", 1).await;
    source.drain().await;
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2]);
}

#[tokio::test]
async fn a_visitor_whose_claim_waits_for_its_batch_is_no_difference() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    let parent = source.shards().await.remove(0);
    put(&db, "ann", 0).await;
    let number =
        source.records().await[0].dynamodb.as_ref().unwrap().sequence_number.as_ref().unwrap().parse().unwrap();
    db.engine.change_shard(Database::CLICKS, &parent, ShardChange::Split).await.unwrap();
    put(&db, "ann", 1).await;

    // The invocation of the parent dies between claiming and counting, and a child, which it has not to wait for here, counts ann's second click.
    let lane = Lane::new(&source.stream_arn, &parent);
    let click = StreamClick { sequence_number: number, user_id: "ann", date: DAY.parse().unwrap(), count: 1 };
    let markers = Markers::new(db.client.clone(), Database::CLICKS);
    for part in parts([click], number) {
        markers.claim(&mut KnownClaims::default(), lane.id(), None, &part.visits).await.unwrap();
    }
    for child in source.shards().await.into_iter().filter(|shard| *shard != parent) {
        while source.deliver_from(&child).await {}
    }
    assert_eq!(stats(&db).await, [1, 0, 1, 0, 1]);
    for scope in scopes() {
        let measured = recount(&db, scope).await;
        assert_eq!((measured.differences, measured.pending, measured.unmarked.len()), (vec![], 1, 0), "{scope:?}");
    }
    source.drain().await;
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2]);
}

/// Puts a click that nobody can read, has it quarantined, and mends it in the table.
async fn with_a_mended_click(db: &Database, source: &mut Source) -> Kept {
    let broken = AttributeValue::S("one".to_owned());
    put_with_count(db, "eve", &format!("{DAY}T09:00:00.000Z"), broken).await;
    source.drain().await;
    put_at(db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    source.drain().await;
    let (kept, _) = Quarantine::new(db.client.clone(), Database::CLICKS).list(None).await.unwrap();
    assert_eq!((kept.len(), kept[0].reason.as_str(), kept[0].ending), (1, "click-count", None));
    kept.into_iter().next().unwrap()
}

#[tokio::test]
async fn a_mended_click_is_counted_once_however_often_it_is_redriven() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    let kept = with_a_mended_click(&db, &mut source).await;
    let redriver = Redriver::new(db.client.clone(), Database::CLICKS);
    let counted = Redriven::Ended(Ending::Counted);
    let redrives = (0..8).map(|_| redriver.redrive(&kept, Timestamp::now()));
    for redriven in futures::future::join_all(redrives).await {
        assert_eq!(redriven.unwrap(), counted);
    }
    assert_eq!(redriver.redrive(&kept, Timestamp::now()).await.unwrap(), counted);
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
    assert_eq!(recount(&db, Scope::All).await.differences, []);
    // Her next click finds her claimed and counted.
    put(&db, "eve", 1).await;
    source.drain().await;
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2]);
}

#[tokio::test]
async fn a_mended_click_waits_for_its_redrive_and_no_repair_counts_it() {
    for repairs_first in [true, false] {
        let db = Database::start().await.unwrap();
        let mut source = Source::of(&db).await;
        let kept = with_a_mended_click(&db, &mut source).await;
        add(&db, "STAT#TOTAL", "METADATA", 0).await;
        let measured = recount(&db, Scope::All).await;
        assert_eq!((&measured.differences, measured.quarantined), (&vec![], 1));
        if repairs_first {
            repair(&db, &measured, true).await.unwrap();
            assert_eq!(stats(&db).await, [0; 5]);
        }
        Redriver::new(db.client.clone(), Database::CLICKS).redrive(&kept, Timestamp::now()).await.unwrap();
        let measured = recount(&db, Scope::All).await;
        assert_eq!((&measured.differences, measured.quarantined, measured.unmarked.len()), (&vec![], 0, 0));
        repair(&db, &measured, true).await.unwrap();
        assert_eq!(stats(&db).await, [1, 1, 1, 1, 1], "repairs first: {repairs_first}");
    }
}

#[tokio::test]
async fn a_click_that_was_put_anew_is_counted_by_the_stream_and_its_old_record_dismissed() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put_with_count(&db, "eve", &format!("{DAY}T09:00:00.000Z"), AttributeValue::S("one".to_owned())).await;
    source.drain().await;
    delete(&db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    put_at(&db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    source.drain().await;
    assert_eq!(recount(&db, Scope::All).await.quarantined, 1);
    let (kept, _) = Quarantine::new(db.client.clone(), Database::CLICKS).list(None).await.unwrap();
    let redriver = Redriver::new(db.client.clone(), Database::CLICKS);
    assert_eq!(redriver.dismiss(&kept[0], Timestamp::now()).await.unwrap(), Redriven::Ended(Ending::Dismissed));
    assert_eq!(redriver.redrive(&kept[0], Timestamp::now()).await.unwrap(), Redriven::Ended(Ending::Dismissed));
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
    assert_eq!(recount(&db, Scope::All).await.differences, []);
}

#[tokio::test]
async fn a_repair_while_clicks_keep_arriving_loses_none_and_doubles_none() {
    const CLICKS: u32 = 400;
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    with_a_batch_given_up(&db, &mut source).await;
    add(&db, "STAT#DAILY", DAY, -1).await;
    let written = AtomicBool::new(false);
    let writing = async {
        for n in 10..10 + CLICKS {
            put(&db, &format!("user-{}", n % 17), n).await;
        }
        written.store(true, Ordering::Release);
    };
    let counting = async {
        loop {
            let is_last = written.load(Ordering::Acquire);
            if !source.deliver().await && is_last {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let repairing = async {
        let measured = recount(&db, Scope::All).await;
        repair(&db, &measured, false).await.unwrap()
    };
    let ((), (), repaired) = tokio::join!(writing, counting, repairing);
    let [day, month, total] =
        [Period::Day(DAY.parse().unwrap()), Period::Month(DAY[..7].parse().unwrap()), Period::Total];
    let correction = |period, clicks, unique_users| Correction { period, clicks, unique_users };
    assert_eq!(repaired.corrections, [correction(day, 2, 1), correction(month, 1, 1), correction(total, 1, 0)]);
    let clicks = u64::from(CLICKS) + 3;
    assert_eq!(stats(&db).await, [clicks, 19, clicks, 19, clicks]);
    assert_eq!(recount(&db, Scope::All).await.differences, []);
}
