//! Orders of several lines: all lines are reserved, leave, come back and expire together.

use domain::shop::{Order, OrderLines, StockLevel};
use shop_store::{OrderRefusal, OrderRequest, Orders};

use super::*;

fn orders(db: &Database) -> Orders {
    Orders::new(&db.table(Database::SHOP))
}

/// An engine with these products.
async fn with_products(stocks: &[(&str, i64)]) -> Database {
    let db = Database::start().await.unwrap();
    for (id, pieces) in stocks {
        add_product(&db, id).await;
        let count = StockRequest { product_id: product_id(id), ..movement("COUNT", *pieces, "first count", 0) };
        stock(&db).change(&count).await.unwrap();
    }
    db
}

fn wanted(order_id: &str, lines: &[(&str, i64)], seconds: i64) -> OrderRequest {
    let line = |(id, quantity): &(&str, i64)| (product_id(id), Quantity::new(*quantity).unwrap());
    let lines = OrderLines::new(lines.iter().map(line).collect()).unwrap();
    OrderRequest { order_id: order(order_id), lines, hold_time: HoldTime::new(60).unwrap(), now: at(seconds) }
}

async fn level_of(db: &Database, id: &str) -> (u64, u64) {
    let level = Products::new(&db.table(Database::SHOP)).get(&product_id(id)).await.unwrap().unwrap().level;
    (level.stock(), level.reserved())
}

async fn levels(db: &Database) -> [(u64, u64); 2] {
    [level_of(db, "cup").await, level_of(db, "bowl").await]
}

async fn commit(db: &Database, order_id: &str, seconds: i64) -> Result<&'static str, ChangeError<SettleRefusal>> {
    orders(db).commit(&order(order_id), at(seconds), Uuid::now_v7()).await.map(state)
}

fn state(changed: ChangeOutcome<Order>) -> &'static str {
    let (ChangeOutcome::Applied(order) | ChangeOutcome::AlreadyApplied(order)) = changed;
    order.state.as_str()
}

#[tokio::test]
async fn lines_are_reserved_and_leave_together() {
    let db = with_products(&[("cup", 10), ("bowl", 5)]).await;
    let request = wanted("o-1", &[("cup", 2), ("bowl", 1), ("cup", 3)], 0);
    assert!(matches!(orders(&db).reserve(&request).await, Ok(ChangeOutcome::Applied(_))));
    assert!(matches!(orders(&db).reserve(&request).await, Ok(ChangeOutcome::AlreadyApplied(_))));
    assert_eq!(levels(&db).await, [(10, 5), (5, 1)]);
    for other in [wanted("o-1", &[("cup", 5)], 1), OrderRequest { hold_time: HoldTime::default(), ..request }] {
        assert!(matches!(orders(&db).reserve(&other).await, Err(ChangeError::Reused(Reused::Order))));
    }
    for _ in 0..2 {
        assert_eq!(commit(&db, "o-1", 10).await.unwrap(), "COMMITTED");
    }
    assert_eq!(levels(&db).await, [(5, 0), (4, 0)]);
    let row = ledger(&db).await.pop().unwrap();
    assert_eq!((row.change_type, row.quantity, row.order_id), (ChangeType::Out, -5, Some(order("o-1"))));
    let release = orders(&db).release(&order("o-1"), at(11)).await;
    assert!(matches!(release, Err(ChangeError::Refused(SettleRefusal::Settled(SettleError::Settled(..))))));
    assert_sound(&db).await;
}

#[tokio::test]
async fn one_missing_line_refuses_the_whole_order() {
    let db = with_products(&[("cup", 10), ("bowl", 1)]).await;
    let request = wanted("o-1", &[("cup", 2), ("bowl", 2), ("plate", 1)], 0);
    let short = StockChangeRefusal::Stock(StockRefusal::Insufficient(StockLevel::new(1, 0).unwrap()));
    let why = OrderRefusal(vec![(product_id("bowl"), short), (product_id("plate"), StockChangeRefusal::NotFound)]);
    let refused = orders(&db).reserve(&request).await;
    assert!(matches!(&refused, Err(ChangeError::Refused(told)) if *told == why), "{refused:?}");
    assert_eq!(levels(&db).await, [(10, 0), (1, 0)]);
    // It stays refused for a minute, although the goods are there now.
    add_product(&db, "plate").await;
    for id in ["bowl", "plate"] {
        let more = StockRequest { product_id: product_id(id), ..movement("IN", 9, "delivery", 1) };
        stock(&db).change(&more).await.unwrap();
    }
    let again = orders(&db).reserve(&OrderRequest { now: at(59), ..request.clone() }).await;
    assert!(matches!(&again, Err(ChangeError::RefusedBefore(told)) if *told == why), "{again:?}");
    assert!(orders(&db).reserve(&OrderRequest { now: at(60), ..request }).await.is_ok());
    assert_eq!(levels(&db).await, [(10, 2), (10, 2)]);
}

#[tokio::test]
async fn a_line_ends_only_with_its_order() {
    let db = with_products(&[("cup", 10), ("bowl", 5)]).await;
    orders(&db).reserve(&wanted("o-1", &[("cup", 2), ("bowl", 1)], 0)).await.unwrap();
    let alone = reservations(&db);
    let refused = |why| matches!(why, Err(ChangeError::Refused(SettleRefusal::OrderLine)));
    assert!(refused(alone.commit(&cup(), &order("o-1"), at(1), Uuid::now_v7()).await));
    assert!(refused(alone.release(&cup(), &order("o-1"), at(1)).await));
    let reserved = alone.reserve(&reservation("o-1", 2, 60, 1)).await;
    assert!(matches!(reserved, Err(ChangeError::Reused(Reused::Order))), "{reserved:?}");
    let moved = stock(&db).change(&for_order("OUT", 2, "o-1", 1)).await;
    assert!(matches!(moved, Err(ChangeError::Reused(Reused::Order))), "{moved:?}");
    assert_eq!(levels(&db).await, [(10, 2), (5, 1)]);
    // The other way round: goods that left for the order cannot be reserved for it.
    stock(&db).change(&for_order("OUT", 1, "o-2", 2)).await.unwrap();
    let late = orders(&db).reserve(&wanted("o-2", &[("bowl", 1), ("cup", 1)], 3)).await;
    assert!(matches!(late, Err(ChangeError::Reused(Reused::Order))), "{late:?}");
}

#[tokio::test]
async fn overdue_order_gives_back_all_lines_when_one_is_wanted() {
    let db = with_products(&[("cup", 2), ("bowl", 5)]).await;
    orders(&db).reserve(&wanted("o-1", &[("cup", 2), ("bowl", 1)], 0)).await.unwrap();
    assert!(orders(&db).reserve(&wanted("o-2", &[("cup", 1)], 59)).await.is_err());
    stock(&db).change(&movement("OUT", 1, "walk-in", 60)).await.unwrap();
    assert_eq!(levels(&db).await, [(1, 0), (5, 0)]);
    let late = commit(&db, "o-1", 61).await;
    assert!(matches!(late, Err(ChangeError::Refused(SettleRefusal::Settled(SettleError::Expired(_))))), "{late:?}");
    // A second order takes what the first one kept too long.
    orders(&db).reserve(&wanted("o-3", &[("cup", 1), ("bowl", 5)], 61)).await.unwrap();
    orders(&db).reserve(&wanted("o-4", &[("bowl", 5)], 200)).await.unwrap();
    assert_eq!(levels(&db).await, [(1, 0), (5, 5)]);
    assert_sound(&db).await;
}

#[tokio::test]
async fn an_overdue_order_stays_refused_for_a_slow_clock() {
    let db = with_products(&[("cup", 2), ("bowl", 5)]).await;
    orders(&db).reserve(&wanted("o-1", &[("cup", 2), ("bowl", 1)], 0)).await.unwrap();
    for seconds in [60, 59] {
        let late = commit(&db, "o-1", seconds).await;
        assert!(matches!(late, Err(ChangeError::Refused(SettleRefusal::Settled(SettleError::Expired(_))))), "{late:?}");
    }
    assert_eq!(levels(&db).await, [(2, 0), (5, 0)]);
}

#[tokio::test]
async fn deleted_order_gives_its_goods_back_once() {
    let db = with_products(&[("cup", 2), ("bowl", 5)]).await;
    let first = orders(&db).reserve(&wanted("o-1", &[("cup", 2), ("bowl", 1)], 0)).await.unwrap();
    let (ChangeOutcome::Applied(first) | ChangeOutcome::AlreadyApplied(first)) = first;
    let key = [("PK", "ORDER#o-1"), ("SK", "RESERVATION#o-1")];
    let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value.to_owned())));
    db.client.delete_item().table_name(Database::SHOP).set_key(Some(key.into())).send().await.unwrap();
    assert!(matches!(commit(&db, "o-1", 61).await, Err(ChangeError::Refused(SettleRefusal::NotFound))));
    assert_eq!(levels(&db).await, [(2, 2), (5, 1)]);
    for is_new in [true, false] {
        assert_eq!(orders(&db).release_expired(&first, at(62)).await.unwrap(), is_new);
        assert_eq!(levels(&db).await, [(2, 0), (5, 0)]);
    }
    let late = commit(&db, "o-1", 63).await;
    assert!(matches!(late, Err(ChangeError::Refused(SettleRefusal::Settled(SettleError::Expired(_))))), "{late:?}");
}

#[tokio::test]
async fn an_order_of_thirty_products_fits_one_transaction() {
    let ids: Vec<_> = (0..OrderLines::MAX).map(|number| format!("p-{number}")).collect();
    let stocks: Vec<_> = ids.iter().map(|id| (id.as_str(), 3)).collect();
    let db = with_products(&stocks).await;
    let lines: Vec<_> = ids.iter().map(|id| (id.as_str(), 2)).collect();
    orders(&db).reserve(&wanted("o-1", &lines, 0)).await.unwrap();
    assert_eq!(commit(&db, "o-1", 1).await.unwrap(), "COMMITTED");
    for id in &ids {
        assert_eq!(level_of(&db, id).await, (1, 0), "{id}");
    }
}

#[tokio::test]
async fn orders_at_once_never_promise_a_piece_twice() {
    let db = with_products(&[("cup", 5), ("bowl", 5)]).await;
    let ask = |number: i64| {
        let orders = orders(&db);
        async move {
            let lines = [[("cup", 1), ("bowl", 2)], [("bowl", 1), ("cup", 2)]][number as usize % 2];
            orders.reserve(&wanted(&format!("o-{number}"), &lines, 0)).await
        }
    };
    let answers = futures::future::join_all((0..8).map(ask)).await;
    let [cups, bowls] = levels(&db).await;
    let kept: u64 = answers.iter().filter(|answer| answer.is_ok()).count() as u64;
    assert!(
        answers.iter().all(|answer| matches!(answer, Ok(_) | Err(ChangeError::Refused(_) | ChangeError::Conflict)))
    );
    assert_eq!(cups.1 + bowls.1, 3 * kept, "{answers:?}");
    assert!(kept >= 1 && cups.1 <= 5 && bowls.1 <= 5, "{cups:?} {bowls:?}");
}
