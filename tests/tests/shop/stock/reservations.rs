//! Goods that are kept for an order, until it takes them, gives them up or comes too late.

use super::*;

#[tokio::test]
async fn reserved_goods_leave_only_with_their_order() {
    let db = with_cups(10).await;
    let wanted = reservation("o-1", 4, 900, 0);
    let ChangeOutcome::Applied(kept) = reservations(&db).reserve(&wanted).await.unwrap() else { panic!("not now") };
    assert_eq!(reservations(&db).get(&cup(), &order("o-1")).await.unwrap(), Some(kept.clone()));
    assert_eq!(level(&db).await, (10, 4));
    assert!(matches!(
        stock(&db).change(&movement("OUT", 7, "too many", 1)).await,
        Err(ChangeError::Refused(StockChangeRefusal::Stock(StockRefusal::Insufficient(_))))
    ));
    assert!(matches!(
        stock(&db).change(&movement("COUNT", 3, "too few", 1)).await,
        Err(ChangeError::Refused(StockChangeRefusal::Stock(StockRefusal::Reserved(_))))
    ));
    assert_eq!(reservations(&db).reserve(&wanted).await.unwrap(), ChangeOutcome::AlreadyApplied(kept));
    for other in [reservation("o-1", 5, 900, 1), reservation("o-1", 4, 901, 1)] {
        assert!(matches!(reservations(&db).reserve(&other).await, Err(ChangeError::Reused(Reused::Order))));
    }

    let commit = || async { reservations(&db).commit(&cup(), &order("o-1"), at(10), Uuid::now_v7()).await };
    assert!(matches!(commit().await, Ok(ChangeOutcome::Applied(_))));
    assert!(matches!(commit().await, Ok(ChangeOutcome::AlreadyApplied(_))));
    assert_eq!(level(&db).await, (6, 0));
    let row = ledger(&db).await.pop().unwrap();
    assert_eq!((row.change_type, row.quantity, row.order_id), (ChangeType::Out, -4, Some(order("o-1"))));
    // The ledger knows the order: a movement for it is the one that has been made.
    assert!(matches!(stock(&db).change(&for_order("OUT", 4, "o-1", 20)).await, Ok(ChangeOutcome::AlreadyApplied(_))));
    let Err(ChangeError::Refused(SettleRefusal::Settled(why))) =
        reservations(&db).release(&cup(), &order("o-1"), at(20)).await
    else {
        panic!("released")
    };
    assert_eq!(why, SettleError::Settled(Settlement::Committed, at(10)));
    assert_sound(&db).await;
}

#[tokio::test]
async fn order_served_in_another_way_cannot_commit_its_reservation() {
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
    assert!(matches!(commit, Err(ChangeError::Refused(SettleRefusal::Settled(found))) if found == why));
    let nobody = reservations(&db).release(&cup(), &order("o-2"), at(1)).await;
    assert!(matches!(nobody, Err(ChangeError::Refused(SettleRefusal::NotFound))));
    assert_eq!(ledger(&db).await.len(), 1);
}

#[tokio::test]
async fn overdue_goods_go_to_others_not_their_order() {
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
    assert!(matches!(commit, Err(ChangeError::Refused(SettleRefusal::Settled(found))) if found == why));
    assert_eq!(settled(reservations(&db).release(&cup(), &order("o-0"), at(63)).await.unwrap()), "EXPIRED");

    // Another order also releases expired reservations first, and a count may use goods that are no
    // longer reserved.
    reservations(&db).reserve(&reservation("late", 2, 60, 63)).await.unwrap();
    assert!(stock(&db).change(&movement("COUNT", 2, "count", 64)).await.is_ok());
    assert_eq!(kept(&db).await["o-4"].0, "EXPIRED");
    assert_sound(&db).await;
}

#[tokio::test]
async fn many_overdue_reservations_are_released_over_several_transactions() {
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
async fn late_commit_is_refused_before_any_cleanup() {
    let db = with_cups(4).await;
    reservations(&db).reserve(&reservation("o-1", 4, 60, 0)).await.unwrap();
    let commit = reservations(&db).commit(&cup(), &order("o-1"), at(60), Uuid::now_v7()).await;
    assert!(matches!(commit, Err(ChangeError::Refused(SettleRefusal::Settled(SettleError::Expired(_))))));
    // The refusal has given them back.
    assert_eq!(level(&db).await, (4, 0));
    reservations(&db).reserve(&reservation("o-2", 4, 60, 0)).await.unwrap();
    let end = Moment::new(at(60).timestamp() - SignedDuration::from_nanos(1)).unwrap();
    assert!(matches!(
        reservations(&db).commit(&cup(), &order("o-2"), end, Uuid::now_v7()).await,
        Ok(ChangeOutcome::Applied(_))
    ));
}

#[tokio::test]
async fn ttl_deleted_reservation_is_released_once() {
    let db = with_cups(10).await;
    let kept = |changed| match changed {
        ChangeOutcome::Applied(reservation) | ChangeOutcome::AlreadyApplied(reservation) => reservation,
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
        async move { reservations(db).release_expired(&cup(), &of, at(200)).await.unwrap() }
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
        reservations(&db).release_expired(&cup(), &first, at(110)).await.unwrap();
    }
    assert_eq!(level(&db).await, (10, 3));
    assert_sound(&db).await;
}

#[tokio::test]
async fn archived_product_moves_only_goods_promised_to_orders() {
    let db = with_cups(10).await;
    for order_id in ["o-1", "o-2"] {
        reservations(&db).reserve(&reservation(order_id, 2, 900, 0)).await.unwrap();
    }
    archive(&db).await;
    for change_type in ["IN", "OUT", "ADJUST", "COUNT"] {
        let refused = stock(&db).change(&movement(change_type, 7, change_type, 1)).await;
        assert!(matches!(refused, Err(ChangeError::Refused(StockChangeRefusal::Archived))), "{refused:?}");
    }
    let refused = reservations(&db).reserve(&reservation("o-3", 1, 900, 1)).await;
    assert!(matches!(refused, Err(ChangeError::Refused(StockChangeRefusal::Archived))), "{refused:?}");
    // An earlier result is returned again.
    let again = stock(&db).change(&movement("COUNT", 10, "first count", 1)).await.unwrap();
    assert!(matches!(again, ChangeOutcome::AlreadyApplied(_)), "{again:?}");
    let again = reservations(&db).reserve(&reservation("o-1", 2, 900, 1)).await.unwrap();
    assert!(matches!(again, ChangeOutcome::AlreadyApplied(_)), "{again:?}");

    let committed = reservations(&db).commit(&cup(), &order("o-1"), at(2), Uuid::now_v7()).await.unwrap();
    assert_eq!(settled(committed), "COMMITTED");
    assert_eq!(settled(reservations(&db).release(&cup(), &order("o-2"), at(2)).await.unwrap()), "RELEASED");
    assert_eq!(level(&db).await, (8, 0));
    assert!(product(&db).await.archived_at.is_some());
    assert_sound(&db).await;
}
