//! Stock and reservations against a real engine: the ledger, requests that come twice, orders that come too late, and many at once.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::ShortText;
use domain::shop::{
    Amount, ChangeType, Counted, Currency, HoldTime, Money, Movement, OrderId, Product, ProductForm, ProductId,
    Quantity, RequestKey, Reservation, ReservationState, SettleError, Settlement, StockRefusal,
};
use domain::{Moment, TimeRange};
use engine::{Chance, EngineFaults};
use jiff::{SignedDuration, Timestamp};
use store::Direction;
use store::shop::{
    ChangeError, Changed, Products, Put, ReservationRequest, Reservations, Reused, Slice, Stock, StockEntry,
    StockRequest, Unmoved, Unsettled,
};
use tidemark_tests::Database;
use uuid::Uuid;

/// A moment of which the ttl of everything is still to come.
const NOW_S: i64 = 4_000_000_000;

/// So many seconds after the beginning of a test.
fn at(seconds: i64) -> Moment {
    Moment::new(Timestamp::from_second(NOW_S + seconds).unwrap()).unwrap()
}

fn cup() -> ProductId {
    ProductId::new("cup").unwrap()
}

fn order(text: &str) -> OrderId {
    OrderId::new(text).unwrap()
}

fn stock(db: &Database) -> Stock {
    Stock::new(db.client.clone(), Database::SHOP)
}

fn reservations(db: &Database) -> Reservations {
    Reservations::new(db.client.clone(), Database::SHOP)
}

/// An engine with a cup of which there are so many.
async fn with_cups(cups: i64) -> Database {
    let db = Database::start().await.unwrap();
    let price = Money { amount: Amount::new(1_999).unwrap(), currency: Currency::new("EUR").unwrap() };
    let name = ShortText::new("Cup").unwrap();
    let form = ProductForm { name, price: Some(price), stock: None, low_stock_threshold: Counted::new(3).ok() };
    let put = Put { id: cup(), form, changed_by: None, now: at(0), row_id: Uuid::now_v7() };
    Products::new(db.client.clone(), Database::SHOP).put(&put).await.unwrap();
    if cups > 0 {
        stock(&db).change(&movement("COUNT", cups, "first count", 0)).await.unwrap();
    }
    db
}

/// A movement under a key.
fn movement(change_type: &str, number: i64, key: &str, seconds: i64) -> StockRequest {
    StockRequest {
        product_id: cup(),
        key: RequestKey::new(&key.replace(' ', "-")).ok(),
        movement: Movement::new(change_type.parse().unwrap(), number).unwrap(),
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
    Products::new(db.client.clone(), Database::SHOP).get(&cup()).await.unwrap().unwrap()
}

async fn level(db: &Database) -> (u64, u64) {
    let level = product(db).await.level;
    (level.stock(), level.reserved())
}

/// The whole ledger, oldest first.
async fn ledger(db: &Database) -> Vec<StockEntry> {
    let (mut rows, mut position) = (Vec::new(), None);
    loop {
        let (slice, after) = (Slice::Range(TimeRange::default()), position.as_ref());
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

/// What has to hold after anything: rows chain, add up to the stock, and what is reserved is what open reservations keep.
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

fn entry(changed: Changed<StockEntry>) -> StockEntry {
    match changed {
        Changed::Now(entry) | Changed::Before(entry) => entry,
    }
}

fn settled(changed: Changed<Reservation>) -> &'static str {
    match changed {
        Changed::Now(reservation) | Changed::Before(reservation) => reservation.state.as_str(),
    }
}

#[tokio::test]
async fn each_movement_leaves_a_row_that_begins_where_the_one_before_has_ended() {
    let db = with_cups(10).await;
    let moves = [("IN", 5, 15), ("OUT", 7, 8), ("ADJUST", -2, 6), ("COUNT", 6, 6), ("COUNT", 9, 9)];
    for (n, (change_type, number, after)) in (0..).zip(moves) {
        let changed = stock(&db).change(&movement(change_type, number, &n.to_string(), n)).await.unwrap();
        let Changed::Now(row) = changed else { panic!("{changed:?}") };
        assert_eq!(row.new_stock, after);
    }
    assert_sound(&db).await;
    let types: Vec<_> = ledger(&db).await.iter().map(|row| (row.change_type.as_str(), row.quantity)).collect();
    assert_eq!(types, [("COUNT", 10), ("IN", 5), ("OUT", -7), ("ADJUST", -2), ("COUNT", 0), ("COUNT", 3)]);
    assert_eq!(product(&db).await.version, 7);
}

#[tokio::test]
async fn what_was_said_of_a_movement_stays_in_its_row() {
    let db = with_cups(10).await;
    let wanted = StockRequest {
        order_id: Some(order("o-1")),
        reason: ShortText::new("broken").ok(),
        changed_by: ShortText::new("Ann").ok(),
        ..movement("OUT", 2, "k", 1)
    };
    let Changed::Now(row) = stock(&db).change(&wanted).await.unwrap() else { panic!("not now") };
    assert_eq!(ledger(&db).await.last(), Some(&row));
    assert_eq!((row.reason, row.changed_by, row.order_id), (wanted.reason, wanted.changed_by, wanted.order_id));
    assert_eq!((row.request_key, row.row.at, row.row.id), (wanted.key, at(1), wanted.row_id));
}

#[tokio::test]
async fn a_clock_that_is_slow_does_not_put_a_row_before_an_earlier_one() {
    let db = with_cups(10).await;
    stock(&db).change(&movement("IN", 1, "a", 100)).await.unwrap();
    let late = entry(stock(&db).change(&movement("IN", 1, "b", 40)).await.unwrap());
    assert_eq!(late.row.at, at(100).next().unwrap());
    assert_sound(&db).await;
}

#[tokio::test]
async fn the_same_request_moves_goods_once_and_another_one_under_its_name_moves_none() {
    let db = with_cups(10).await;
    let wanted = movement("OUT", 2, "k", 1);
    let first = entry(stock(&db).change(&wanted).await.unwrap());
    let again = StockRequest { now: at(50), row_id: Uuid::now_v7(), ..wanted.clone() };
    assert_eq!(stock(&db).change(&again).await.unwrap(), Changed::Before(first));
    for other in [movement("OUT", 3, "k", 2), movement("IN", 2, "k", 2)] {
        assert!(matches!(stock(&db).change(&other).await, Err(ChangeError::Reused(Reused::Key))));
    }
    let reason = StockRequest { reason: ShortText::new("x").ok(), ..wanted };
    assert!(matches!(stock(&db).change(&reason).await, Err(ChangeError::Reused(Reused::Key))));
    assert_eq!(level(&db).await, (8, 0));
}

#[tokio::test]
async fn an_order_names_one_movement_of_each_type() {
    let db = with_cups(10).await;
    let out = entry(stock(&db).change(&for_order("OUT", 2, "o-1", 1)).await.unwrap());
    assert_eq!(stock(&db).change(&for_order("OUT", 2, "o-1", 2)).await.unwrap(), Changed::Before(out.clone()));
    // Under a key of its own, it is the order's all the same.
    let keyed = StockRequest { key: RequestKey::new("k").ok(), ..for_order("OUT", 2, "o-1", 3) };
    assert_eq!(stock(&db).change(&keyed).await.unwrap(), Changed::Before(out));
    assert!(matches!(stock(&db).change(&for_order("OUT", 3, "o-1", 4)).await, Err(ChangeError::Reused(Reused::Order))));
    // What comes back is another type.
    assert!(matches!(stock(&db).change(&for_order("IN", 2, "o-1", 5)).await, Ok(Changed::Now(_))));
    assert_eq!((level(&db).await, ledger(&db).await.len()), ((10, 0), 3));
}

#[tokio::test]
async fn what_is_refused_leaves_no_trace_and_its_name_free() {
    let db = with_cups(2).await;
    let before = product(&db).await;
    let Err(ChangeError::Refused(Unmoved::Stock(StockRefusal::Insufficient(there)))) =
        stock(&db).change(&movement("OUT", 3, "k", 1)).await
    else {
        panic!("not refused")
    };
    assert_eq!((there.stock(), there.reserved(), there.available()), (2, 0, 2));
    assert_eq!((product(&db).await, ledger(&db).await.len()), (before, 1));
    stock(&db).change(&movement("IN", 1, "more", 2)).await.unwrap();
    assert!(matches!(stock(&db).change(&movement("OUT", 3, "k", 3)).await, Ok(Changed::Now(_))));

    let nobody = StockRequest { product_id: ProductId::new("mug").unwrap(), ..movement("IN", 1, "k", 1) };
    assert!(matches!(stock(&db).change(&nobody).await, Err(ChangeError::Refused(Unmoved::NotFound))));
}

#[tokio::test]
async fn goods_that_are_kept_for_an_order_leave_with_it_and_with_nobody_else() {
    let db = with_cups(10).await;
    let wanted = reservation("o-1", 4, 900, 0);
    let Changed::Now(kept) = reservations(&db).reserve(&wanted).await.unwrap() else { panic!("not now") };
    assert_eq!(reservations(&db).get(&cup(), &order("o-1")).await.unwrap(), Some(kept.clone()));
    assert_eq!(level(&db).await, (10, 4));
    assert!(matches!(
        stock(&db).change(&movement("OUT", 7, "too many", 1)).await,
        Err(ChangeError::Refused(Unmoved::Stock(StockRefusal::Insufficient(_))))
    ));
    assert!(matches!(
        stock(&db).change(&movement("COUNT", 3, "too few", 1)).await,
        Err(ChangeError::Refused(Unmoved::Stock(StockRefusal::Reserved(_))))
    ));
    assert_eq!(reservations(&db).reserve(&wanted).await.unwrap(), Changed::Before(kept));
    for other in [reservation("o-1", 5, 900, 1), reservation("o-1", 4, 901, 1)] {
        assert!(matches!(reservations(&db).reserve(&other).await, Err(ChangeError::Reused(Reused::Order))));
    }

    let commit = || async { reservations(&db).commit(&cup(), &order("o-1"), at(10), Uuid::now_v7()).await };
    assert!(matches!(commit().await, Ok(Changed::Now(_))));
    assert!(matches!(commit().await, Ok(Changed::Before(_))));
    assert_eq!(level(&db).await, (6, 0));
    let row = ledger(&db).await.pop().unwrap();
    assert_eq!((row.change_type, row.quantity, row.order_id), (ChangeType::Out, -4, Some(order("o-1"))));
    // The ledger knows the order: a movement for it is the one that has been made.
    assert!(matches!(stock(&db).change(&for_order("OUT", 4, "o-1", 20)).await, Ok(Changed::Before(_))));
    let Err(ChangeError::Refused(Unsettled::Settled(why))) =
        reservations(&db).release(&cup(), &order("o-1"), at(20)).await
    else {
        panic!("released")
    };
    assert_eq!(why, SettleError::Settled(Settlement::Committed, at(10)));
    assert_sound(&db).await;
}

#[tokio::test]
async fn an_order_whose_goods_have_left_in_another_way_does_not_take_its_reserved_ones_too() {
    let db = with_cups(10).await;
    reservations(&db).reserve(&reservation("o-1", 4, 900, 0)).await.unwrap();
    stock(&db).change(&for_order("OUT", 4, "o-1", 1)).await.unwrap();
    let commit = reservations(&db).commit(&cup(), &order("o-1"), at(2), Uuid::now_v7()).await;
    assert!(matches!(commit, Err(ChangeError::Reused(Reused::Order))), "{commit:?}");
    assert_eq!(settled(reservations(&db).release(&cup(), &order("o-1"), at(3)).await.unwrap()), "RELEASED");
    assert_eq!(level(&db).await, (6, 0));
}

#[tokio::test]
async fn goods_that_an_order_gives_up_are_free_at_once() {
    let db = with_cups(4).await;
    reservations(&db).reserve(&reservation("o-1", 4, 900, 0)).await.unwrap();
    for _ in 0..2 {
        assert_eq!(settled(reservations(&db).release(&cup(), &order("o-1"), at(1)).await.unwrap()), "RELEASED");
    }
    assert_eq!(level(&db).await, (4, 0));
    let commit = reservations(&db).commit(&cup(), &order("o-1"), at(2), Uuid::now_v7()).await;
    let why = SettleError::Settled(Settlement::Released, at(1));
    assert!(matches!(commit, Err(ChangeError::Refused(Unsettled::Settled(found))) if found == why));
    let nobody = reservations(&db).release(&cup(), &order("o-2"), at(1)).await;
    assert!(matches!(nobody, Err(ChangeError::Refused(Unsettled::NotFound))));
    assert_eq!(ledger(&db).await.len(), 1);
}

#[tokio::test]
async fn overdue_goods_go_to_whoever_wants_them_and_not_to_the_order_any_more() {
    let db = with_cups(10).await;
    for n in 0..5 {
        reservations(&db).reserve(&reservation(&format!("o-{n}"), 2, 60 + n, 0)).await.unwrap();
    }
    // At 62 s three are overdue: six may go, and a seventh may not.
    assert!(stock(&db).change(&movement("OUT", 7, "seven", 62)).await.is_err());
    assert_eq!(level(&db).await, (10, 4));
    assert!(stock(&db).change(&movement("OUT", 6, "six", 62)).await.is_ok());
    assert_sound(&db).await;
    let commit = reservations(&db).commit(&cup(), &order("o-0"), at(62), Uuid::now_v7()).await;
    let why = SettleError::Expired(at(60));
    assert!(matches!(commit, Err(ChangeError::Refused(Unsettled::Settled(found))) if found == why));
    assert_eq!(settled(reservations(&db).release(&cup(), &order("o-0"), at(63)).await.unwrap()), "EXPIRED");

    // Another order finds goods in the same way, and a count may take what nobody is promised any more.
    reservations(&db).reserve(&reservation("late", 2, 60, 63)).await.unwrap();
    assert!(stock(&db).change(&movement("COUNT", 2, "count", 64)).await.is_ok());
    assert_eq!(kept(&db).await["o-4"].0, "EXPIRED");
    assert_sound(&db).await;
}

#[tokio::test]
async fn more_overdue_reservations_than_one_transaction_takes_are_given_back_in_turn() {
    let db = with_cups(120).await;
    for n in 0..120 {
        reservations(&db).reserve(&reservation(&format!("o-{n}"), 1, 60, 0)).await.unwrap();
    }
    assert_eq!(level(&db).await, (120, 120));
    stock(&db).change(&movement("OUT", 120, "all", 60)).await.unwrap();
    assert_eq!(level(&db).await, (0, 0));
    assert_sound(&db).await;
}

#[tokio::test]
async fn an_order_that_comes_too_late_is_refused_before_anybody_has_cleaned_up() {
    let db = with_cups(4).await;
    reservations(&db).reserve(&reservation("o-1", 4, 60, 0)).await.unwrap();
    let commit = reservations(&db).commit(&cup(), &order("o-1"), at(60), Uuid::now_v7()).await;
    assert!(matches!(commit, Err(ChangeError::Refused(Unsettled::Settled(SettleError::Expired(_))))));
    assert_eq!(level(&db).await, (4, 4));
    let end = Moment::new(at(60).timestamp() - SignedDuration::from_nanos(1)).unwrap();
    assert!(matches!(reservations(&db).commit(&cup(), &order("o-1"), end, Uuid::now_v7()).await, Ok(Changed::Now(_))));
}

#[tokio::test]
async fn what_ttl_has_deleted_is_given_back_once_however_often_it_is_told() {
    let db = with_cups(10).await;
    let kept = |changed| match changed {
        Changed::Now(reservation) | Changed::Before(reservation) => reservation,
    };
    let first: Reservation = kept(reservations(&db).reserve(&reservation("o-1", 4, 60, 0)).await.unwrap());
    let delete = || async {
        let key = |text: &str| AttributeValue::S(text.to_owned());
        let delete = db.client.delete_item().table_name(Database::SHOP).key("PK", key("PRODUCT#cup"));
        delete.key("SK", key("RESERVATION#o-1")).send().await.unwrap();
    };
    delete().await;
    let give_back = |of: Reservation| {
        let db = &db;
        async move { reservations(db).give_back_deleted(&cup(), &of, at(200)).await.unwrap() }
    };
    // Twice at once, as when the first invocation is thought to be dead, and once more.
    let told = futures::future::join(give_back(first.clone()), give_back(first.clone())).await;
    assert!(told.0 != told.1, "{told:?}");
    assert!(!give_back(first.clone()).await);
    assert_eq!(level(&db).await, (10, 0));
    let known = reservations(&db).get(&cup(), &order("o-1")).await.unwrap().unwrap();
    assert_eq!(known.state, ReservationState::Settled(Settlement::Expired, at(200)));

    // The order makes another one before the stream tells of the first.
    let db = with_cups(10).await;
    let first = kept(reservations(&db).reserve(&reservation("o-1", 4, 60, 0)).await.unwrap());
    let key = |text: &str| AttributeValue::S(text.to_owned());
    let delete = db.client.delete_item().table_name(Database::SHOP).key("PK", key("PRODUCT#cup"));
    delete.key("SK", key("RESERVATION#o-1")).send().await.unwrap();
    reservations(&db).reserve(&reservation("o-1", 3, 60, 100)).await.unwrap();
    for _ in 0..2 {
        reservations(&db).give_back_deleted(&cup(), &first, at(110)).await.unwrap();
    }
    assert_eq!(level(&db).await, (10, 3));
    assert_sound(&db).await;
}

#[tokio::test]
async fn a_reply_that_gets_lost_moves_goods_once_and_is_answered_as_done_now() {
    let db = with_cups(10).await;
    let chance = Chance { next: 1, probability: 0.0 };
    let fail_after = BTreeMap::from([("TransactWriteItems".to_owned(), chance)]);
    db.engine().faults().set(EngineFaults { fail_after, ..EngineFaults::default() });
    assert!(matches!(stock(&db).change(&movement("OUT", 2, "k", 1)).await, Ok(Changed::Now(_))));
    assert_eq!((level(&db).await, ledger(&db).await.len()), ((8, 0), 2));
}

/// What one of many does: a few things after one another, some of them twice.
async fn customer(db: &Database, n: i64, mut rng: fastrand::Rng) {
    for step in 0..6 {
        let (name, number) = (format!("{n}-{step}"), rng.i64(1..6));
        let twice = if rng.bool() { 2 } else { 1 };
        let kind = rng.u8(..6);
        for _ in 0..twice {
            let (stock, reservations) = (stock(db), reservations(db));
            match kind {
                0 => drop(stock.change(&movement("IN", number, &name, n)).await),
                1 => drop(stock.change(&movement("OUT", number, &name, n)).await),
                2 => drop(stock.change(&movement("ADJUST", number - 6, &name, n)).await),
                3 => drop(stock.change(&for_order("OUT", number, &name, n)).await),
                _ => {
                    let hold_seconds = if rng.bool() { 1 } else { 900 };
                    drop(reservations.reserve(&reservation(&name, number, hold_seconds, n)).await);
                    let later = at(n + rng.i64(0..3));
                    match rng.u8(..3) {
                        0 => drop(reservations.commit(&cup(), &order(&name), later, Uuid::now_v7()).await),
                        1 => drop(reservations.release(&cup(), &order(&name), later).await),
                        _ => {}
                    }
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crowd_the_ledger_chains_and_adds_up_and_nothing_is_promised_twice() {
    let db = with_cups(60).await;
    // Some transactions are cancelled for nothing, and some replies are lost: both are tried again.
    let chance = Chance { next: 0, probability: 0.05 };
    let fail_after = BTreeMap::from([("TransactWriteItems".to_owned(), chance)]);
    db.engine().faults().set(EngineFaults { transaction_conflicts: chance, fail_after, ..EngineFaults::default() });
    futures::future::join_all((0..16).map(|n| customer(&db, n, fastrand::Rng::with_seed(n as u64)))).await;
    db.engine().faults().set(EngineFaults::default());
    assert_sound(&db).await;
    let orders: Vec<_> =
        ledger(&db).await.into_iter().filter_map(|row| Some((row.order_id?, row.change_type))).collect();
    let mut once = orders.clone();
    once.sort_by_key(|(order_id, change_type)| (order_id.to_string(), change_type.as_str()));
    once.dedup();
    assert_eq!(orders.len(), once.len(), "an order has moved goods twice");
    // How many depends on who is faster.
    assert!(orders.len() > 10, "only {} orders were served: too few to prove anything", orders.len());
}
