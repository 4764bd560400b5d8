//! Stock and reservations against a real engine: the ledger, requests that come twice, orders that
//! come too late, and many at once.

mod crowd;
mod movements;
mod orders;
mod refusals;
mod reservations;

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::ShortText;
use domain::shop::{
    Amount, ChangeType, Currency, HoldTime, IdempotencyKey, Money, OrderId, Product, ProductForm, ProductId, Quantity,
    Reservation, ReservationState, SettleError, Settlement, StockCount, StockMovement, StockRefusal,
};
use domain::{Moment, TimeRange};
use jiff::{SignedDuration, Timestamp};
use shop_store::{
    ChangeError, ChangeOutcome, LedgerQuery, Products, PutProduct, ReservationRequest, Reservations, Reused,
    SettleRefusal, Stock, StockChangeRefusal, StockEntry, StockRequest,
};
use store_base::Direction;
use tests::Database;
use tidemark_engine::{Chance, EngineFaults};
use uuid::Uuid;

/// A moment of which the ttl of everything is still to come.
const NOW_S: i64 = 4_000_000_000;

/// So many seconds after the beginning of a test.
fn at(seconds: i64) -> Moment {
    Moment::new(Timestamp::from_second(NOW_S + seconds).unwrap()).unwrap()
}

fn product_id(text: &str) -> ProductId {
    ProductId::new(text).unwrap()
}

fn cup() -> ProductId {
    product_id("cup")
}

fn order(text: &str) -> OrderId {
    OrderId::new(text).unwrap()
}

fn stock(db: &Database) -> Stock {
    Stock::new(&db.table(Database::SHOP))
}

fn reservations(db: &Database) -> Reservations {
    Reservations::new(&db.table(Database::SHOP))
}

/// An engine with a cup of which there are so many.
async fn with_cups(cups: i64) -> Database {
    let db = Database::start().await.unwrap();
    add_product(&db, "cup").await;
    if cups > 0 {
        stock(&db).change(&movement("COUNT", cups, "first count", 0)).await.unwrap();
    }
    db
}

/// Adds a product without stock.
async fn add_product(db: &Database, id: &str) {
    let price = Money { amount: Amount::new(1_999).unwrap(), currency: Currency::new("EUR").unwrap() };
    let name = ShortText::new("Cup").unwrap();
    let form = ProductForm {
        name,
        price: Some(price),
        stock: None,
        low_stock_threshold: StockCount::new(3).ok(),
        archived: None,
    };
    let put = PutProduct { id: product_id(id), form, changed_by: None, now: at(0), row_id: Uuid::now_v7() };
    Products::new(&db.table(Database::SHOP)).put(&put).await.unwrap();
}

/// Archives the cup.
async fn archive(db: &Database) {
    let name = ShortText::new("Cup").unwrap();
    let form = ProductForm { name, price: None, stock: None, low_stock_threshold: None, archived: Some(true) };
    let put = PutProduct { id: cup(), form, changed_by: None, now: at(1), row_id: Uuid::now_v7() };
    Products::new(&db.table(Database::SHOP)).put(&put).await.unwrap();
}

/// A movement under a key.
fn movement(change_type: &str, number: i64, key: &str, seconds: i64) -> StockRequest {
    StockRequest {
        product_id: cup(),
        key: IdempotencyKey::new(&key.replace(' ', "-")).ok(),
        movement: StockMovement::new(change_type.parse().unwrap(), number).unwrap(),
        order_id: None,
        reason: None,
        changed_by: None,
        now: at(seconds),
        row_id: Uuid::now_v7(),
    }
}

/// A movement that goes by its order.
fn for_order(change_type: &str, number: i64, order_id: &str, seconds: i64) -> StockRequest {
    StockRequest { key: None, order_id: Some(order(order_id)), ..movement(change_type, number, "-", seconds) }
}

fn reservation(order_id: &str, quantity: i64, hold_seconds: i64, seconds: i64) -> ReservationRequest {
    ReservationRequest {
        product_id: cup(),
        order_id: order(order_id),
        quantity: Quantity::new(quantity).unwrap(),
        hold_time: HoldTime::new(hold_seconds).unwrap(),
        now: at(seconds),
    }
}

async fn product(db: &Database) -> Product {
    Products::new(&db.table(Database::SHOP)).get(&cup()).await.unwrap().unwrap()
}

async fn level(db: &Database) -> (u64, u64) {
    let level = product(db).await.level;
    (level.stock(), level.reserved())
}

/// The whole ledger, oldest first.
async fn ledger(db: &Database) -> Vec<StockEntry> {
    let (mut rows, mut position) = (Vec::new(), None);
    loop {
        let (slice, after) = (LedgerQuery::Range(TimeRange::default()), position.as_ref());
        let page = stock(db).page(&cup(), slice, Direction::Asc, 100, after).await.unwrap();
        rows.extend(page.items);
        position = page.next;
        if position.is_none() {
            return rows;
        }
    }
}

/// Every reservation that lies in the table.
async fn kept(db: &Database) -> BTreeMap<String, (String, u64)> {
    let query =
        db.client.query().table_name(Database::SHOP).key_condition_expression("PK = :pk AND begins_with(SK, :sk)");
    let query = query.expression_attribute_values(":pk", AttributeValue::S("PRODUCT#cup".to_owned()));
    let query = query.expression_attribute_values(":sk", AttributeValue::S("RESERVATION#".to_owned()));
    let items = query.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.unwrap();
    let kept = items.into_iter().map(|item| {
        let text = |name: &str| item[name].as_s().unwrap().clone();
        (text("OrderId"), (text("State"), item["Quantity"].as_n().unwrap().parse().unwrap()))
    });
    kept.collect()
}

/// The invariants after any change: the rows form a chain, add up to the stock, and the reserved
/// quantity is the sum of the open reservations.
async fn assert_sound(db: &Database) {
    let rows = ledger(db).await;
    let mut stock = 0;
    for row in &rows {
        assert_eq!(row.previous_stock, stock, "{row:?}");
        assert_eq!(stock as i64 + row.quantity, row.new_stock as i64, "{row:?}");
        stock = row.new_stock;
    }
    assert!(rows.is_sorted_by(|a, b| a.row < b.row));
    let open = kept(db).await.into_values().filter(|(state, _)| state == "OPEN").map(|(_, quantity)| quantity);
    assert_eq!(level(db).await, (stock, open.sum()));
}

fn entry(changed: ChangeOutcome<StockEntry>) -> StockEntry {
    match changed {
        ChangeOutcome::Applied(entry) | ChangeOutcome::AlreadyApplied(entry) => entry,
    }
}

fn settled(changed: ChangeOutcome<Reservation>) -> &'static str {
    match changed {
        ChangeOutcome::Applied(reservation) | ChangeOutcome::AlreadyApplied(reservation) => reservation.state.as_str(),
    }
}
