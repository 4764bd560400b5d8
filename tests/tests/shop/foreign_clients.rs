//! A client of the original design beside the suite: its writer, its rows, and its queries, as the
//! document spells them.

use aws_sdk_dynamodb::types::AttributeValue;
use domain::shop::{Amount, Currency, IdempotencyKey, Money, ProductForm, ProductId, StockCount, StockMovement};
use domain::{Moment, ShortText, TimeRange};
use shop_store::{LedgerQuery, PriceRequest, Prices, Products, PutProduct, Stock, StockRequest};
use store_base::Direction::{Asc, Desc};
use tests::shop_records::{Item, number};
use tests::{Database, foreign_client};
use uuid::Uuid;

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: i64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

fn moment(text: &str) -> Moment {
    Moment::parse(text).unwrap()
}

fn cup() -> ProductId {
    ProductId::new("cup").unwrap()
}

fn euro(cents: u64) -> Money {
    Money { amount: Amount::new(cents).unwrap(), currency: Currency::new("EUR").unwrap() }
}

async fn with_cups(cups: i64) -> Database {
    let db = Database::start().await.unwrap();
    let form = ProductForm {
        name: ShortText::new("Cup").unwrap(),
        price: Some(euro(1_000)),
        stock: StockCount::new(cups).ok(),
        low_stock_threshold: None,
        archived: None,
    };
    let now = moment("2024-01-01T00:00:00Z");
    let put = PutProduct { id: cup(), form, changed_by: None, now, row_id: Uuid::now_v7() };
    Products::new(&db.table(Database::SHOP)).put(&put).await.unwrap();
    db
}

fn price(key: &str, cents: u64, now: &str) -> PriceRequest {
    PriceRequest {
        product_id: cup(),
        key: IdempotencyKey::new(key).unwrap(),
        price: euro(cents),
        reason: None,
        changed_by: None,
        now: moment(now),
        row_id: Uuid::now_v7(),
    }
}

fn movement(key: &str, change_type: &str, number: i64, now: &str) -> StockRequest {
    StockRequest {
        product_id: cup(),
        key: IdempotencyKey::new(key).ok(),
        movement: StockMovement::new(change_type.parse().unwrap(), number).unwrap(),
        order_id: None,
        reason: None,
        changed_by: None,
        now: moment(now),
        row_id: Uuid::now_v7(),
    }
}

async fn product(db: &Database) -> Item {
    foreign_client::product(&db.client, "cup").await.unwrap()
}

async fn adjust_stock(db: &Database, quantity: i64, change_type: &str, now: &str) -> bool {
    foreign_client::adjust_stock(&db.client, "cup", quantity, change_type, now).await.unwrap()
}

async fn update_price(db: &Database, cents: i64, now: &str) -> bool {
    foreign_client::update_price(&db.client, "cup", cents, now).await.unwrap()
}

#[tokio::test]
async fn no_change_is_lost_beside_a_value_locking_writer() {
    let db = with_cups(0).await;
    let stock = Stock::new(&db.table(Database::SHOP));
    let ours = async {
        for n in 0..100 {
            stock.change(&movement(&format!("k-{n}"), "IN", 1, "2024-01-02T00:00:00Z")).await.unwrap();
        }
    };
    let theirs = async {
        let mut made = 0;
        for n in 0..100 {
            made += i64::from(adjust_stock(&db, 1, "IN", &format!("2024-01-03T00:{:02}:{:02}Z", n / 60, n % 60)).await);
            // Ours gives up when the stock is another at each of its tries.
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        made
    };
    let ((), made) = futures::future::join(ours, theirs).await;
    assert_eq!(number(&product(&db).await, "Stock"), 100 + made);
    let rows = stock.page(&cup(), LedgerQuery::Range(TimeRange::default()), Asc, 1_000, None).await.unwrap();
    assert_eq!(rows.items.iter().map(|row| row.quantity).sum::<i64>(), 100 + made);
}

#[tokio::test]
async fn rows_of_the_design_are_read_as_they_are_meant() {
    let db = with_cups(5).await;
    assert!(adjust_stock(&db, -2, "OUT", "2024-01-02T10:00:00Z").await);
    assert!(update_price(&db, 900, "2024-01-02T10:00:00.5Z").await);
    let prices = Prices::new(&db.table(Database::SHOP));
    let stock = Stock::new(&db.table(Database::SHOP));
    stock.change(&movement("k", "IN", 1, "2024-01-03T00:00:00Z")).await.unwrap();
    prices.change(&price("p", 800, "2024-01-04T00:00:00Z")).await.unwrap();

    let all = LedgerQuery::Range(TimeRange::default());
    let rows = stock.page(&cup(), all, Asc, 100, None).await.unwrap();
    let levels: Vec<_> = rows.items.iter().map(|row| (row.previous_stock, row.new_stock)).collect();
    assert_eq!((levels, rows.skipped), (vec![(0, 5), (5, 3), (3, 4)], 0));
    let history = prices.page(&cup(), all, Asc, 100, None).await.unwrap();
    let told: Vec<_> =
        history.items.iter().map(|entry| (entry.change.price, entry.change.previous.map(Amount::get))).collect();
    assert_eq!(told, [(euro(1_000), None), (euro(900), None), (euro(800), Some(900))]);
    for entry in &history.items {
        let one = prices.page(&cup(), LedgerQuery::Row(entry.change.row), Asc, 1, None).await.unwrap();
        assert_eq!(one.items, std::slice::from_ref(entry));
    }

    assert!(update_price(&db, 700, "2024-01-05T00:00:00Z").await);
    let products = Products::new(&db.table(Database::SHOP));
    let now = moment("2024-01-06T00:00:00Z");
    let at = Some(moment("2024-01-02T12:00:00Z"));
    let summary = prices.summary(products.get(&cup()).await.unwrap().unwrap(), at, now).await.unwrap();
    assert_eq!((summary.product.price.since, summary.lowest.amount.get()), (moment("2024-01-05T00:00:00Z"), 700));
    assert_eq!(summary.prior_lowest.map(|price| price.amount.get()), Some(800));
    assert_eq!(summary.at.map(|price| price.amount.get()), Some(900));
}

#[tokio::test]
async fn foreign_client_may_take_reserved_goods_and_commit_reports_it() {
    use domain::shop::{HoldTime, OrderId, Quantity, StockRefusal};
    use shop_store::{ChangeError, ReservationRequest, Reservations, SettleRefusal};
    let db = with_cups(5).await;
    let reservations = Reservations::new(&db.table(Database::SHOP));
    let now = moment("2024-01-02T00:00:00Z");
    let order_id = OrderId::new("o-1").unwrap();
    let (quantity, hold_time) = (Quantity::new(4).unwrap(), HoldTime::default());
    let wanted = ReservationRequest { product_id: cup(), order_id: order_id.clone(), quantity, hold_time, now };
    reservations.reserve(&wanted).await.unwrap();
    assert!(adjust_stock(&db, -3, "OUT", "2024-01-02T00:00:01Z").await);
    let cup = cup();
    let commit = || reservations.commit(&cup, &order_id, now, Uuid::now_v7());
    let refused = commit().await;
    assert!(
        matches!(refused, Err(ChangeError::Refused(SettleRefusal::Missing(_, StockRefusal::Insufficient(_))))),
        "{refused:?}"
    );
    let stock = Stock::new(&db.table(Database::SHOP));
    stock.change(&movement("k", "IN", 2, "2024-01-02T00:00:02Z")).await.unwrap();
    assert!(commit().await.is_ok());
}

#[tokio::test]
async fn unreadable_row_is_left_out_and_counted() {
    let db = with_cups(5).await;
    for (sort, name) in [
        ("PRICE#2024-01-02T00:00:00Z", "Price"),
        ("PRICE#yesterday", "Price"),
        ("INVLOG#2024-01-02T09:00:00+09:00", "Quantity"),
        ("INVLOG#2024-01-03T00:00:00Z", "Quantity"),
    ] {
        let put = db.client.put_item().table_name(Database::SHOP).item("PK", s("PRODUCT#cup")).item("SK", s(sort));
        put.item(name, s("dear")).send().await.unwrap();
    }
    let put = db.client.put_item().table_name(Database::SHOP).item("PK", s("PRODUCTS")).item("SK", s("a"));
    put.item("Name", n(7)).send().await.unwrap();
    let all = LedgerQuery::Range(TimeRange::default());
    let prices = Prices::new(&db.table(Database::SHOP));
    let stock = Stock::new(&db.table(Database::SHOP));
    for direction in [Asc, Desc] {
        let page = prices.page(&cup(), all, direction, 100, None).await.unwrap();
        assert_eq!((page.items.len(), page.skipped, page.next), (1, 2, None));
        let page = stock.page(&cup(), all, direction, 100, None).await.unwrap();
        assert_eq!((page.items.len(), page.skipped, page.next), (1, 2, None));
    }
    let products = Products::new(&db.table(Database::SHOP));
    let page = products.list(false, 100, None).await.unwrap();
    assert_eq!((page.items.len(), page.skipped), (1, 1));
    let first = products.list(false, 1, None).await.unwrap();
    assert_eq!((first.items.len(), first.skipped), (0, 1));
    let second = products.list(false, 1, first.next.as_ref()).await.unwrap();
    assert_eq!((second.items[0].id.as_str(), second.next), ("cup", None));
    let known = products.get(&cup()).await.unwrap().unwrap();
    prices.summary(known, None, moment("2024-01-04T00:00:00Z")).await.unwrap();
}

/// Which prices the design's query brings.
async fn cents(db: &Database, condition: &str, values: &[(&str, &str)]) -> Vec<i64> {
    let query =
        db.client.query().table_name(Database::SHOP).key_condition_expression(format!("PK = :pk AND {condition}"));
    let mut query = query.expression_attribute_values(":pk", s("PRODUCT#cup"));
    for (name, value) in values {
        query = query.expression_attribute_values(*name, s(&format!("PRICE#{value}")));
    }
    let items = query.scan_index_forward(true).send().await.unwrap().items.unwrap_or_default();
    let items = items.into_iter().filter(|item| item["SK"].as_s().unwrap().starts_with("PRICE#"));
    items.map(|item| number(&item, "Price")).collect()
}

#[tokio::test]
async fn the_designs_own_queries_find_what_they_ask_for() {
    let db = with_cups(0).await;
    let prices = Prices::new(&db.table(Database::SHOP));
    // The first nanosecond of a day, as every import by day has it; within a day; within its last
    // second; the next day's first.
    let times = [
        ("2024-01-15T00:00:00Z", 1),
        ("2024-01-15T10:30:00.25Z", 2),
        ("2024-01-15T23:59:59.5Z", 3),
        ("2024-01-16T00:00:00Z", 4),
    ];
    for (time, cents) in times {
        prices.change(&price(&format!("k-{cents}"), cents, time)).await.unwrap();
    }
    let (day, end) = ("2024-01-15T00:00:00Z", "2024-01-15T23:59:59Z");
    // As the design's functions ask: `to` has a `Z` appended, so that its second is in.
    let end_included = format!("{end}Z");
    assert_eq!(cents(&db, "SK BETWEEN :from AND :to", &[(":from", day), (":to", &end_included)]).await, [1, 2, 3]);
    assert_eq!(cents(&db, "begins_with(SK, :day)", &[(":day", "2024-01-15")]).await, [1, 2, 3]);
    assert_eq!(cents(&db, "begins_with(SK, :second)", &[(":second", "2024-01-15T10:30:00")]).await, [2]);
    assert_eq!(cents(&db, "SK >= :from", &[(":from", day)]).await, [1, 2, 3, 4]);
    assert_eq!(cents(&db, "SK < :to", &[(":to", "2024-01-16T00:00:00Z")]).await, [1_000, 1, 2, 3]);
    // Documented: these three take a second for its beginning.
    assert_eq!(cents(&db, "SK BETWEEN :from AND :to", &[(":from", day), (":to", end)]).await, [1, 2]);
    assert_eq!(cents(&db, "SK <= :to", &[(":to", day)]).await, [1_000]);
    assert_eq!(cents(&db, "SK > :from", &[(":from", day)]).await, [1, 2, 3, 4]);
    assert_eq!(cents(&db, "SK = :at", &[(":at", day)]).await, [0_i64; 0]);
}
