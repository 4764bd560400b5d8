//! The watcher against a real engine and its stream: its journal entries, once each, and the goods
//! it releases.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{AttributeValue, TimeToLiveSpecification};
use domain::journal::{Entry, JournalStream};
use domain::{Moment, TimeRange};
use jiff::{SignedDuration, Timestamp};
use lambda_kit::stream::BatchError;
use serde_json::{Value, json};
use stock_watch::Watcher;
use store_base::StoreError;
use tests::journal::{journal, reader};
use tests::shop::Shop;
use tests::{Database, sample_event};
use tidemark_engine::{Chance, EngineFaults};

/// So many seconds after now; before it when negative.
fn at(seconds: i64) -> Moment {
    Moment::new(Timestamp::now() + SignedDuration::from_secs(seconds)).unwrap()
}

fn shop(db: &Database, seconds: i64) -> Shop {
    Shop::new(&db.client, Database::SHOP, at(seconds))
}

async fn deliver(db: &Database, records: &[Value]) -> Result<Value, BatchError<StoreError>> {
    watch(db, &json!({ "Records": records })).await
}

async fn watch(db: &Database, event: &Value) -> Result<Value, BatchError<StoreError>> {
    let journal = journal(&db.client, 4, "default=400");
    let watcher = Watcher::new(journal, &db.table(Database::SHOP));
    let event = serde_json::value::to_raw_value(event).unwrap();
    Ok(serde_json::to_value(stock_watch::handle(&watcher, event, Timestamp::now()).await?).unwrap())
}

fn done() -> Value {
    json!({"batchItemFailures": []})
}

async fn records(db: &Database) -> Vec<Value> {
    db.records_of("stock-watch", Database::SHOP).await.unwrap()
}

/// What the journal says, oldest first. Entries of one millisecond have no order.
async fn told(db: &Database) -> Vec<Entry> {
    let reader = reader(&db.client, "default=400");
    let mut entries = Vec::new();
    for stream in [JournalStream::suite(), JournalStream::stock()] {
        let page = reader.page(&stream, TimeRange::default(), 1_000, None, Timestamp::now()).await.unwrap();
        assert!(page.next.is_none());
        entries.extend(page.items);
    }
    entries.sort_by_key(|entry| entry.id);
    entries
}

/// How often each sentence is in the journal.
async fn sentences(db: &Database) -> BTreeMap<String, usize> {
    told(db).await.into_iter().fold(BTreeMap::new(), |mut sentences, entry| {
        *sentences.entry(entry.message.as_str().to_owned()).or_default() += 1;
        sentences
    })
}

/// A shop in which cups come, run low, run out and come back, one movement a second.
async fn busy(db: &Database) {
    let mut shop = shop(db, -60);
    shop.product("cup", 10).await.unwrap();
    let moves = [("OUT", 6), ("OUT", 1), ("OUT", 1), ("ADJUST", -2), ("COUNT", 0), ("IN", 9), ("OUT", 9)];
    for (second, (change_type, number)) in (-59..).zip(moves) {
        shop.now = at(second);
        shop.move_goods("cup", change_type, number, None).await.unwrap();
    }
}

/// What [`busy`] comes to.
fn expected() -> BTreeMap<String, usize> {
    let once = [
        "cup has its first price: 1999 EUR, in minor units.",
        "Stock of cup: +10 by a count, 10 now.",
        "Stock of cup: 6 went out, 4 now.",
        "Stock of cup: 1 went out, 3 now.",
        "cup runs low: 3 left, and the threshold is 3.",
        "Stock of cup: 1 went out, 2 now.",
        "Stock of cup: -2 by a correction, 0 now.",
        "Stock of cup: 9 came in, 9 now.",
        "Stock of cup: 9 went out, 0 now.",
        "cup runs low: 0 left, and the threshold is 3.",
    ];
    let mut expected: BTreeMap<_, _> = once.map(|sentence| (sentence.to_owned(), 1)).into();
    // Each time that the last one went, and not for the count that found none.
    expected.insert("cup is out of stock.".to_owned(), 2);
    expected
}

#[tokio::test]
async fn shop_events_are_journaled_and_threshold_crossings_once() {
    let db = Database::start().await.unwrap();
    busy(&db).await;
    assert_eq!(deliver(&db, &records(&db).await).await.unwrap(), done());
    assert_eq!(sentences(&db).await, expected());
    let low = told(&db).await.into_iter().filter(|entry| entry.attributes.pairs()["kind"] == "low-stock");
    assert_eq!(low.map(|entry| entry.attributes.pairs()["stock"].clone()).collect::<Vec<_>>(), ["3", "0"]);
}

#[tokio::test]
async fn repeated_late_or_split_records_are_journaled_once() {
    let db = Database::start().await.unwrap();
    busy(&db).await;
    let records = records(&db).await;
    for record in &records {
        assert_eq!(deliver(&db, std::slice::from_ref(record)).await.unwrap(), done());
    }
    let half = records.len() / 2;
    for batch in [&records[..], &records[half..], &records[..half]] {
        assert_eq!(deliver(&db, batch).await.unwrap(), done());
    }
    // Two invocations at once, as when the first is thought to be dead.
    let both = futures::future::join(deliver(&db, &records), deliver(&db, &records)).await;
    assert!(both.0.is_ok() && both.1.is_ok());
    assert_eq!(sentences(&db).await, expected());
}

#[tokio::test]
async fn failed_request_retries_its_record_and_loses_nothing() {
    for operation in ["PutItem", "UpdateItem"] {
        let db = Database::start().await.unwrap();
        busy(&db).await;
        let records = records(&db).await;
        let chance = Chance { next: 100, probability: 0.0 };
        let fail_before = BTreeMap::from([(operation.to_owned(), chance)]);
        db.engine().faults().set(EngineFaults { fail_before, ..EngineFaults::default() });
        let reply = deliver(&db, &records).await.unwrap();
        let failed = reply["batchItemFailures"][0]["itemIdentifier"].as_str().unwrap();
        db.engine().faults().set(EngineFaults::default());
        let place = records.iter().position(|record| record["dynamodb"]["SequenceNumber"] == failed).unwrap();
        assert_eq!(deliver(&db, &records[place..]).await.unwrap(), done());
        assert_eq!(sentences(&db).await, expected(), "{operation}");
    }
}

#[tokio::test]
async fn unreadable_record_does_not_hold_up_the_others() {
    let db = Database::start().await.unwrap();
    busy(&db).await;
    let mut records = records(&db).await;
    let mut torn = records[0].clone();
    torn["dynamodb"]["NewImage"]["ProductId"] = json!({"S": "#"});
    torn["dynamodb"]["NewImage"]["Price"] = json!({"S": "free"});
    records.splice(0..0, [torn, json!(7), json!({"eventName": "INSERT"})]);
    assert_eq!(deliver(&db, &records).await.unwrap(), done());
    assert_eq!(sentences(&db).await, expected());
}

#[tokio::test]
async fn goods_of_a_ttl_deleted_reservation_return_once() {
    let db = Database::start().await.unwrap();
    let mut shop = shop(&db, -2_000);
    shop.product("cup", 10).await.unwrap();
    shop.reserve("cup", "o-overdue", 4).await.unwrap();
    shop.reserve("cup", "o-paid", 1).await.unwrap();
    shop.commit("cup", "o-paid").await.unwrap();
    shop.now = at(0);
    shop.reserve("cup", "o-open", 2).await.unwrap();
    assert_eq!(shop.level("cup").await.unwrap(), (9, 6));
    let ttl = TimeToLiveSpecification::builder().attribute_name("ttl").enabled(true).build().unwrap();
    let request = db.client.update_time_to_live().table_name(Database::SHOP).time_to_live_specification(ttl);
    request.send().await.unwrap();
    assert_eq!(db.engine().housekeeper().sweep().await.unwrap(), 1);

    let records = records(&db).await;
    let removals = records.iter().filter(|record| record["eventName"] == "REMOVE").count();
    assert_eq!(removals, 1);
    for _ in 0..2 {
        assert_eq!(deliver(&db, &records).await.unwrap(), done());
        assert_eq!(shop.level("cup").await.unwrap(), (9, 2));
    }
    assert_eq!(shop.state("cup", "o-overdue").await.unwrap().as_deref(), Some("EXPIRED"));
    assert_eq!(shop.state("cup", "o-open").await.unwrap().as_deref(), Some("OPEN"));
}

#[tokio::test]
async fn manually_deleted_reservation_is_left_alone() {
    let db = Database::start().await.unwrap();
    let shop = shop(&db, 0);
    shop.product("cup", 10).await.unwrap();
    shop.reserve("cup", "o-1", 4).await.unwrap();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let delete = db.client.delete_item().table_name(Database::SHOP).key("PK", text("PRODUCT#cup"));
    delete.key("SK", text("RESERVATION#o-1")).send().await.unwrap();
    let records = records(&db).await;
    assert!(records.iter().all(|record| record["eventName"] != "REMOVE"));
    // Not even if the mapping let it pass.
    let mut removal = sample_event("stock-watch", "reservation-expires")["Records"][0].clone();
    removal["dynamodb"]["OldImage"]["ProductId"] = json!({"S": "cup"});
    let expired = removal.clone();
    removal["userIdentity"] = Value::Null;
    assert_eq!(deliver(&db, &[removal]).await.unwrap(), done());
    assert_eq!(shop.level("cup").await.unwrap(), (10, 4));
    assert_eq!(deliver(&db, &[expired]).await.unwrap(), done());
    assert_eq!(shop.level("cup").await.unwrap(), (10, 0));
}

#[tokio::test]
async fn an_event_of_another_kind_is_refused() {
    let db = Database::start().await.unwrap();
    let event = sample_event("stock-watch", "not-a-batch");
    assert!(matches!(watch(&db, &event).await, Err(BatchError::NotABatch(_))));
}
