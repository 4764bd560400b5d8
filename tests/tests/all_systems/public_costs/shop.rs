//! Activities with the statistics that follow, products and prices.

use std::time::{Duration, SystemTime};

use activity_log::ActivityLog;
use domain::shop::{Activity, Amount, Currency, IdempotencyKey, Money, ProductForm, ProductId};
use domain::{Moment, ShortText};
use jiff::{SignedDuration, Timestamp};
use price_history::Shop;
use rollup::Aggregator;
use serde_json::{Map, Value, json};
use shop_store::{
    ActivitySuffixes, CountedActivity, PriceRequest, Prices, Products, PutProduct, activity_aggregator, rollup_table,
};
use tests::{Database, StreamTail};
use uuid::Uuid;

use super::{Costs, Gauge, batch, compare, copies, long, request};

const ACTIVITIES: &str = "POST /users/{userId}/activities";

fn now() -> Timestamp {
    "2025-10-02T10:30:00.123456789Z".parse().unwrap()
}

fn moment() -> Moment {
    Moment::new(now()).unwrap()
}

/// Counts the activities that were not counted yet.
async fn count(stream: &mut StreamTail, aggregator: &Aggregator<CountedActivity>) {
    let deadline = SystemTime::now() + Duration::from_secs(60);
    let report = aggregator.handle_at(&batch(stream).await, deadline, now()).await.unwrap().report;
    assert_eq!((report.quarantined, report.counted), (0, report.records as u64));
}

#[tokio::test]
async fn shop_requests_cost_at_most_their_bounds() {
    compare(&costs().await, |request| ["activities", "/products"].iter().any(|part| request.contains(part)));
}

async fn costs() -> Costs {
    let db = Database::start().await.unwrap();
    let mut gauge = Gauge::new(&db);
    activities(&db, &mut gauge).await;
    products(&db, &mut gauge).await;
    gauge.costs
}

async fn activities(db: &Database, gauge: &mut Gauge) {
    let table = db.table(Database::SHOP);
    let aggregator = activity_aggregator(rollup_table(&table)).unwrap();
    let mut stream = db.stream_of("activity-stats", Database::SHOP).await.unwrap();
    let suffixes = ActivitySuffixes::new(10).unwrap();
    let config =
        activity_log::Config { table: Database::SHOP.to_owned(), suffixes, retention: Some(Duration::from_secs(1)) };
    let log = ActivityLog::new(&table, &config, "cursor-key-of-the-tests".into(), "staff".into()).unwrap();

    // The longest texts, with 25 products that were never seen: in the id of the user, in the ids of
    // the products, and in the attributes.
    for (n, (user, product)) in
        [("x".to_owned(), "p".repeat(60)), (long(0, 75), "p".repeat(60)), ("y".to_owned(), "p".to_owned())]
            .into_iter()
            .enumerate()
    {
        let activities = (0..25).map(|place| {
            let product = format!("{product}-{n}{place:02}");
            let left = Activity::TEXTS_BYTES_MAX - user.len() - product.len() - "view".len();
            let pairs = (0..left / 18).map(|pair| (format!("{pair:02}"), json!("x".repeat(16))));
            json!({ "action": "view", "productId": product, "attributes": pairs.collect::<Map<_, _>>() })
        });
        let activities: Vec<_> = activities.collect();
        gauge.skip();
        let reply = activity_log::handle(&log, request(ACTIVITIES, &[&user], "", &json!(activities)), now()).await;
        assert_eq!(reply.as_ref().unwrap().body().matches("\"status\":201").count(), 25);
        count(&mut stream, &aggregator).await;
        gauge.answer(ACTIVITIES, reply);
    }

    // The statistics of 400 days, and twenty products of one day.
    let (product, day) = (format!("{}-000", "p".repeat(60)), "2025-10-02");
    let of_product = format!("STATS#{product}");
    let days = (0..400).map(|back| (now() - SignedDuration::from_hours(24 * back)).to_string()[..10].to_owned());
    copies(db, Database::SHOP, (&of_product, day), days.map(|day| vec![("SK", day.clone()), ("TopOf", day)])).await;
    for (route, values) in [
        ("GET /products/{productId}/statistics?from=2024-08-29&to=2025-10-02", &[&*product][..]),
        ("GET /activities/top?date=2025-10-02", &[]),
    ] {
        gauge.skip();
        gauge.answer(route, activity_log::handle(&log, request(route, values, "", &Value::Null), now()).await);
    }
}

/// A thousand products and a thousand prices within thirty days: full pages, whose texts have as many
/// letters as they may.
async fn products(db: &Database, gauge: &mut Gauge) {
    let table = db.table(Database::SHOP);
    let shop = Shop::new(&table, "cursor-key-of-the-tests".into(), "staff".into()).with(now, Uuid::now_v7);
    let (id, text) =
        (ProductId::new(&"a".repeat(64)).unwrap(), ShortText::new(&"n".repeat(ShortText::CHARS_MAX)).unwrap());
    let price = |cents| Money { amount: Amount::new(cents).unwrap(), currency: Currency::new("EUR").unwrap() };
    let form = ProductForm {
        name: text.clone(),
        price: Some(price(1_999)),
        stock: None,
        low_stock_threshold: None,
        archived: None,
    };
    let (changed_by, row_id) = (Some(text.clone()), Uuid::now_v7());
    let put = PutProduct { id: id.clone(), form, changed_by: changed_by.clone(), now: moment(), row_id };
    Products::new(&table).put(&put).await.unwrap();
    let key = IdempotencyKey::new(&"k".repeat(64)).unwrap();
    let change = PriceRequest {
        product_id: id.clone(),
        key,
        price: price(2_099),
        reason: Some(text),
        changed_by,
        now: moment(),
        row_id: Uuid::now_v7(),
    };
    Prices::new(&table).change(&change).await.unwrap();

    let ids = (0..1_001).map(|n| vec![("SK", format!("{}{n:04}", "a".repeat(60)))]);
    copies(db, Database::SHOP, ("PRODUCTS", ""), ids).await;
    let second = "2025-09-20T10:30:00";
    let id_of = |n: u32| Uuid::from_u128(u128::from(n) + 1);
    let rows = (0..1_001).map(|n| {
        let sort = format!("PRICE#{second}Z#{n:09}#{}", id_of(n));
        vec![("SK", sort), ("CreatedAt", format!("{second}.{n:09}Z"))]
    });
    copies(db, Database::SHOP, (&format!("PRODUCT#{id}"), "PRICE#2025-10-02T10:30:00Z#"), rows).await;
    let row = format!("{second}.000000000Z~{}", id_of(0));
    for (route, values) in [
        ("GET /products?limit=1000", &[][..]),
        ("GET /products/{productId}", &[id.as_str()]),
        ("GET /products/{productId}/prices?limit=1000", &[id.as_str()]),
        ("GET /products/{productId}/prices/{priceId}", &[id.as_str(), &row]),
        ("GET /products/{productId}/prices/summary?at=2025-09-20T10:30:00Z", &[id.as_str()]),
    ] {
        gauge.skip();
        gauge.answer(route, price_history::handle(&shop, request(route, values, "", &Value::Null)).await);
    }
}
