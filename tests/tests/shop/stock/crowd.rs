//! Replies that get lost, and many customers at once.

use super::*;

#[tokio::test]
async fn lost_reply_moves_goods_only_once() {
    let db = with_cups(10).await;
    db.lose_answers("TransactWriteItems", 1);
    assert!(matches!(stock(&db).change(&movement("OUT", 2, "k", 1)).await, Ok(ChangeOutcome::Applied(_))));
    assert_eq!((level(&db).await, ledger(&db).await.len()), ((8, 0), 2));
}

/// The actions of one of many writers: some changes in a row, some of them sent twice.
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
async fn ledger_adds_up_after_a_crowd_without_double_promises() {
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
    // The number depends on the order of the writers.
    assert!(orders.len() > 10, "only {} orders were served: too few to prove anything", orders.len());
}
