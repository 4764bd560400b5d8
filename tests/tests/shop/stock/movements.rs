//! Goods that come and go, each with a row of the ledger.

use super::*;

#[tokio::test]
async fn each_movement_row_begins_where_the_last_ended() {
    let db = with_cups(10).await;
    let moves = [("IN", 5, 15), ("OUT", 7, 8), ("ADJUST", -2, 6), ("COUNT", 6, 6), ("COUNT", 9, 9)];
    for (n, (change_type, number, after)) in (0..).zip(moves) {
        let changed = stock(&db).change(&movement(change_type, number, &n.to_string(), n)).await.unwrap();
        let ChangeOutcome::Applied(row) = changed else { panic!("{changed:?}") };
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
    let ChangeOutcome::Applied(row) = stock(&db).change(&wanted).await.unwrap() else { panic!("not now") };
    assert_eq!(ledger(&db).await.last(), Some(&row));
    assert_eq!((row.reason, row.changed_by, row.order_id), (wanted.reason, wanted.changed_by, wanted.order_id));
    assert_eq!((row.idempotency_key, row.row.at, row.row.id), (wanted.key, at(1), wanted.row_id));
}

#[tokio::test]
async fn slow_clock_puts_no_row_before_an_earlier_one() {
    let db = with_cups(10).await;
    stock(&db).change(&movement("IN", 1, "a", 100)).await.unwrap();
    let late = entry(stock(&db).change(&movement("IN", 1, "b", 40)).await.unwrap());
    assert_eq!(late.row.at, at(100).next().unwrap());
    assert_sound(&db).await;
}

#[tokio::test]
async fn stock_request_moves_goods_once_per_key() {
    let db = with_cups(10).await;
    let wanted = movement("OUT", 2, "k", 1);
    let first = entry(stock(&db).change(&wanted).await.unwrap());
    let again = StockRequest { now: at(50), row_id: Uuid::now_v7(), ..wanted.clone() };
    assert_eq!(stock(&db).change(&again).await.unwrap(), ChangeOutcome::AlreadyApplied(first));
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
    assert_eq!(
        stock(&db).change(&for_order("OUT", 2, "o-1", 2)).await.unwrap(),
        ChangeOutcome::AlreadyApplied(out.clone())
    );
    // Under a key of its own, it is the order's all the same.
    let keyed = StockRequest { key: IdempotencyKey::new("k").ok(), ..for_order("OUT", 2, "o-1", 3) };
    assert_eq!(stock(&db).change(&keyed).await.unwrap(), ChangeOutcome::AlreadyApplied(out));
    assert!(matches!(stock(&db).change(&for_order("OUT", 3, "o-1", 4)).await, Err(ChangeError::Reused(Reused::Order))));
    // Returned goods are another type.
    assert!(matches!(stock(&db).change(&for_order("IN", 2, "o-1", 5)).await, Ok(ChangeOutcome::Applied(_))));
    assert_eq!((level(&db).await, ledger(&db).await.len()), ((10, 0), 3));
}

#[tokio::test]
async fn refused_movement_changes_nothing_and_stays_refused() {
    let db = with_cups(2).await;
    let before = product(&db).await;
    let Err(ChangeError::Refused(StockChangeRefusal::Stock(StockRefusal::Insufficient(there)))) =
        stock(&db).change(&movement("OUT", 3, "k", 1)).await
    else {
        panic!("not refused")
    };
    assert_eq!((there.stock(), there.reserved(), there.available()), (2, 0, 2));
    assert_eq!((product(&db).await, ledger(&db).await.len()), (before, 1));
    stock(&db).change(&movement("IN", 1, "more", 2)).await.unwrap();
    let again = stock(&db).change(&movement("OUT", 3, "k", 3)).await;
    assert!(
        matches!(again, Err(ChangeError::RefusedBefore(StockChangeRefusal::Stock(StockRefusal::Insufficient(_))))),
        "{again:?}"
    );
    assert!(matches!(stock(&db).change(&movement("OUT", 3, "another", 4)).await, Ok(ChangeOutcome::Applied(_))));

    let nobody = StockRequest { product_id: ProductId::new("mug").unwrap(), ..movement("IN", 1, "k", 1) };
    assert!(matches!(stock(&db).change(&nobody).await, Err(ChangeError::Refused(StockChangeRefusal::NotFound))));
}
