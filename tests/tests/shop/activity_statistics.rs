//! The statistics of activities on a real engine: its stream is counted, and the statistics are
//! read.

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::{AttributeValue, TimeToLiveSpecification};
use domain::calendar::DateRange;
use domain::shop::{Action, Activity, ProductId};
use domain::{Attributes, Moment, UserId};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use rollup::Aggregator;
use serde_json::{Value, json};
use shop_store::{
    Activities, ActivityStatistics, ActivitySuffixes, CountedActivity, RecordOutcome, activity_aggregator, rollup_table,
};
use tests::Database;

const DAY: Date = date(2025, 10, 2);

/// A shop whose stream is counted when the test asks for it.
struct Counted {
    db: Database,
    aggregator: Aggregator<CountedActivity>,
    statistics: ActivityStatistics,
    activities: Activities,
}

impl Counted {
    async fn start() -> Self {
        let db = Database::start().await.unwrap();
        let table = db.table(Database::SHOP);
        Self {
            aggregator: activity_aggregator(rollup_table(&table)).unwrap(),
            statistics: ActivityStatistics::new(&table).unwrap(),
            activities: Activities::new(&table, ActivitySuffixes::default()),
            db,
        }
    }

    /// Records the `n`th activity of the day.
    async fn record(&self, n: u32, user: &str, action: &str, product: &str) {
        let activity = Activity {
            user_id: UserId::new(user).unwrap(),
            action: Action::new(action).unwrap(),
            product_id: Some(ProductId::new(product).unwrap()),
            attributes: Attributes::default(),
            at: Moment::parse_or_day("2025-10-02T10:30:00Z").unwrap(),
            id: format!("0199a478-bc40-7abc-8def-{n:012x}").parse().unwrap(),
        };
        assert_eq!(self.activities.record(&activity).await.unwrap(), RecordOutcome::New);
    }

    /// The rows in the partitions of products.
    async fn rows(&self) -> Vec<std::collections::HashMap<String, AttributeValue>> {
        let items = self.db.client.scan().table_name(Database::SHOP).send().await.unwrap().items.unwrap();
        let is_row = |item: &std::collections::HashMap<_, AttributeValue>| {
            let text = |name: &str| item[name].as_s().unwrap();
            text("PK").starts_with("PRODUCT#") && text("SK").starts_with("ACTIVITY#")
        };
        items.into_iter().filter(is_row).collect()
    }

    /// Delivers the whole stream so far, as the mapping filters it, at the end of a window.
    async fn count(&self) -> rollup::Report {
        let records = self.db.records_of("activity-stats", Database::SHOP).await.unwrap();
        self.deliver(&records).await
    }

    async fn deliver(&self, records: &[Value]) -> rollup::Report {
        let event = json!({
            "Records": records, "state": {}, "isFinalInvokeForWindow": true, "shardId": "shardId-00000001759400000000",
            "eventSourceARN": "arn:aws:dynamodb:us-east-1:000000000000:table/DynamoDBShop/stream/2025-10-02T10:00:00.000",
        });
        let event = serde_json::value::to_raw_value(&event).unwrap();
        let handled = self.aggregator.handle_at(&event, SystemTime::now() + Duration::from_secs(60), Timestamp::now());
        let handled = handled.await.unwrap();
        assert_eq!(serde_json::to_value(&handled.reply).unwrap(), json!({"batchItemFailures": [], "state": {}}));
        handled.report
    }

    /// Views, purchases and visitors of a product on the day.
    async fn numbers(&self, product: &str) -> (u64, u64, u64) {
        let range = DateRange::new(DAY, DAY).unwrap();
        let days = self.statistics.product_days(&ProductId::new(product).unwrap(), range).await.unwrap();
        assert_eq!(days.len(), 1);
        (days[0].views, days[0].purchases, days[0].visitors)
    }

    /// The ids and views of the top of the day.
    async fn top(&self) -> Vec<(String, u64)> {
        let top = self.statistics.top(DAY).await.unwrap();
        top.into_iter().map(|product| (product.product_id.to_string(), product.views)).collect()
    }
}

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

#[tokio::test]
async fn activity_counts_once_despite_two_rows_and_repeated_records() {
    let shop = Counted::start().await;
    for (n, (user, action)) in
        [("ann", "view"), ("ann", "view"), ("bob", "view"), ("bob", "buy"), ("eve", "search")].into_iter().enumerate()
    {
        shop.record(u32::try_from(n).unwrap(), user, action, "cup").await;
    }
    let report = shop.count().await;
    assert_eq!((report.records, report.counted, report.duplicates, report.quarantined), (5, 5, 0, 0));
    let report = shop.count().await;
    assert_eq!((report.counted, report.duplicates), (0, 5));
    assert_eq!(shop.numbers("cup").await, (3, 1, 3));
    assert_eq!(shop.numbers("tea").await, (0, 0, 0));
}

#[tokio::test]
async fn an_edited_or_deleted_activity_is_taken_back() {
    let shop = Counted::start().await;
    for (n, user) in (0..).zip(["ann", "ann", "bob"]) {
        shop.record(n, user, "view", "cup").await;
    }
    shop.count().await;
    assert_eq!(shop.numbers("cup").await, (3, 0, 2));
    let rows = shop.rows().await;
    let mut of_bob = rows.iter().find(|row| row["UserId"] == s("bob")).unwrap().clone();
    of_bob.insert("Action".to_owned(), s("buy"));
    of_bob.insert("UserId".to_owned(), s("ann"));
    shop.db.client.put_item().table_name(Database::SHOP).set_item(Some(of_bob)).send().await.unwrap();
    shop.count().await;
    assert_eq!(shop.numbers("cup").await, (2, 1, 1));
    for row in rows {
        let delete = shop.db.client.delete_item().table_name(Database::SHOP);
        delete.key("PK", row["PK"].clone()).key("SK", row["SK"].clone()).send().await.unwrap();
    }
    shop.count().await;
    assert_eq!(shop.numbers("cup").await, (0, 0, 0));
    assert_eq!(shop.top().await, []);
}

#[tokio::test]
async fn an_activity_that_ttl_deletes_stays_counted() {
    let shop = Counted::start().await;
    shop.record(1, "ann", "view", "cup").await;
    let mut row = shop.rows().await.remove(0);
    row.insert("ttl".to_owned(), AttributeValue::N("1759401000".to_owned()));
    shop.db.client.put_item().table_name(Database::SHOP).set_item(Some(row)).send().await.unwrap();
    shop.count().await;
    let ttl = TimeToLiveSpecification::builder().attribute_name("ttl").enabled(true).build().unwrap();
    let request = shop.db.client.update_time_to_live().table_name(Database::SHOP).time_to_live_specification(ttl);
    request.send().await.unwrap();
    assert_eq!(shop.db.engine().housekeeper().sweep().await.unwrap(), 1);
    assert!(shop.rows().await.is_empty());
    let records = shop.db.records_of("activity-stats", Database::SHOP).await.unwrap();
    assert!(records.iter().any(|record| record["eventName"] == "REMOVE"), "{records:?}");
    shop.count().await;
    assert_eq!(shop.numbers("cup").await, (1, 0, 1));
}

#[tokio::test]
async fn top_list_has_the_days_ten_most_viewed_products() {
    let shop = Counted::start().await;
    let mut n = 0;
    for product in 1..=12 {
        for _ in 0..product.min(10) {
            n += 1;
            shop.record(n, "ann", "view", &format!("p-{product:02}")).await;
        }
    }
    shop.record(500, "ann", "buy", "only-bought").await;
    shop.count().await;
    let expected = [10, 11, 12, 9, 8, 7, 6, 5, 4, 3].map(|product| (format!("p-{product:02}"), product.min(10)));
    assert_eq!(shop.top().await, expected);
    let tomorrow = shop.statistics.top(DAY.tomorrow().unwrap()).await.unwrap();
    assert!(tomorrow.is_empty(), "{tomorrow:?}");
}

#[tokio::test]
async fn unreadable_activity_is_quarantined_until_it_is_corrected() {
    let shop = Counted::start().await;
    shop.record(1, "ann", "view", "cup").await;
    shop.record(2, "bob", "view", "cup").await;
    let good = shop.rows().await.remove(0);
    let mut torn = good.clone();
    torn.insert("CreatedAt".to_owned(), s("yesterday"));
    for (row, views) in [(torn, 1), (good, 2)] {
        shop.db.client.put_item().table_name(Database::SHOP).set_item(Some(row)).send().await.unwrap();
        shop.count().await;
        assert_eq!(shop.numbers("cup").await, (views, 0, views));
    }
    let quarantined = shop.aggregator.quarantined().await.unwrap();
    assert_eq!(quarantined.iter().map(|record| record.code.as_str()).collect::<Vec<_>>(), ["activity"]);
}
