//! Setting statistics right beside the stream.

use super::*;

/// Three clicks of two visitors, of which the mapping gave one up: bob's only one.
async fn with_a_batch_given_up(db: &Database, source: &mut Source) {
    put(db, "ann", 0).await;
    source.drain().await;
    put(db, "bob", 1).await;
    source.give_up().await;
    put(db, "ann", 2).await;
    source.drain().await;
}

#[tokio::test]
async fn abandoned_batch_is_repaired_and_its_visitor_counted_once() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    with_a_batch_given_up(&db, &mut source).await;
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2]);

    let [of_day, _, of_all] = scopes();
    let measured = recount(&db, of_day).await;
    assert_eq!(measured.unrecorded, 1);
    assert_eq!(repair(&db, &measured, Lowering::Nothing).await.unwrap().recorded, 1);
    assert_eq!(stats(&db).await, [3, 2, 2, 1, 2], "a day's repair leaves the month and the total");
    repair(&db, &recount(&db, of_all).await, Lowering::Nothing).await.unwrap();
    assert_eq!(stats(&db).await, [3, 2, 3, 2, 3]);

    put(&db, "bob", 3).await;
    source.drain().await;
    assert_eq!(stats(&db).await, [4, 2, 4, 2, 4], "bob's next click counts him again");
    assert_eq!(errors(&recount(&db, of_all).await), []);
}

#[tokio::test]
async fn a_measurement_is_repaired_once_however_often_it_is_tried() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    with_a_batch_given_up(&db, &mut source).await;
    let measured = recount(&db, RecountScope::All).await;
    let (one, other) =
        tokio::join!(repair(&db, &measured, Lowering::Nothing), repair(&db, &measured, Lowering::Nothing));
    assert_eq!(u8::from(one.is_ok()) + u8::from(other.is_ok()), 1);
    assert!(matches!(repair(&db, &measured, Lowering::Nothing).await, Err(RepairError::ConcurrentRepair)));
    assert_eq!(stats(&db).await, [3, 2, 3, 2, 3]);
    assert_eq!(
        db.number("ROLLUP#clicks#CHECKPOINT#operator", "repair", "expiresAt").await.unwrap(),
        0,
        "the checkpoint of the repairs never expires"
    );
}

#[tokio::test]
async fn killed_repair_is_correct_when_it_is_run_again() {
    const DAYS: i64 = 150;
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    let first: Date = DAY.parse().unwrap();
    let days: Vec<_> = (0..DAYS).map(|n| first.checked_add(jiff::Span::new().days(n)).unwrap()).collect();
    for day in &days {
        put_at(&db, "ann", &format!("{day}T10:00:00.000Z")).await;
    }
    source.drain().await;
    for day in &days {
        delete(&db, "STAT#DAILY", &day.to_string()).await;
    }
    let measured = recount(&db, RecountScope::All).await;
    assert_eq!(measured.differences.len(), 2 * days.len());

    let first_part = Notify::new();
    let (aggregator, now) = (aggregator(&db), Timestamp::now());
    let recounter = recounter(&db, &aggregator);
    let told = |repaired: &RepairReport| {
        if !repaired.corrections.is_empty() {
            first_part.notify_one();
        }
    };
    tokio::select! {
        biased;
        () = first_part.notified() => {}
        repaired = recounter.repair(&measured, Lowering::Nothing, now, told) => panic!("it was to be killed: {repaired:?}"),
    }
    let left = recount(&db, RecountScope::All).await;
    assert!(left.differences.len() < 2 * days.len());
    repair(&db, &left, Lowering::Nothing).await.unwrap();
    assert_eq!(errors(&recount(&db, RecountScope::All).await), []);
    for day in &days {
        assert_eq!(db.number("STAT#DAILY", &day.to_string(), "totalClicks").await.unwrap(), 1, "{day}");
        assert_eq!(db.number("STAT#DAILY", &day.to_string(), "uniqueUsers").await.unwrap(), 1, "{day}");
    }
    // A statistic that was made anew is where its readers look.
    let item = db.client.get_item().table_name(Database::CLICKS).key("userId", AttributeValue::S("STAT#DAILY".into()));
    let item = item.key("createDateTime", AttributeValue::S(DAY.into())).send().await.unwrap().item.unwrap();
    assert_eq!(item["dateKey"], AttributeValue::S(format!("DATE#{DAY}")));
    assert_eq!(item["recordSort"], AttributeValue::S("STAT#DAILY".into()));
}

#[tokio::test]
async fn what_is_too_much_is_lowered_only_when_told_to() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    add(&db, "STAT#DAILY", DAY, 5).await;
    let measured = recount(&db, RecountScope::All).await;
    assert_eq!(repair(&db, &measured, Lowering::Nothing).await.unwrap(), RepairReport::default());
    assert_eq!(stats(&db).await, [6, 1, 1, 1, 1]);
    repair(&db, &measured, Lowering::UpTo(1)).await.unwrap();
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
}

#[tokio::test]
async fn a_statistic_below_zero_is_repaired_like_any_other() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    add(&db, "STAT#DAILY", DAY, -5).await;
    let measured = recount(&db, RecountScope::All).await;
    assert_eq!(measured.differences[0].stored.units, -4);
    repair(&db, &measured, Lowering::Nothing).await.unwrap();
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
}

#[tokio::test]
async fn lost_first_seen_record_is_restored_by_a_repair() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    delete(&db, "ROLLUP#clicks#SEEN#uniqueUsers#ann", &DAY[..7]).await;
    let measured = recount(&db, RecountScope::Month(DAY[..7].parse().unwrap())).await;
    assert_eq!((measured.differences.len(), measured.unrecorded), (0, 2));
    let repaired = repair(&db, &measured, Lowering::Nothing).await.unwrap();
    assert_eq!((repaired.recorded, repaired.corrections.len(), repaired.holdings), (2, 0, 0));
    put(&db, "ann", 1).await;
    source.drain().await;
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2]);
}

#[tokio::test]
async fn repair_during_traffic_neither_loses_nor_doubles_clicks() {
    const CLICKS: u32 = 400;
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    with_a_batch_given_up(&db, &mut source).await;
    add(&db, "STAT#DAILY", DAY, -1).await;
    let written = AtomicBool::new(false);
    let writing = async {
        for n in 10..10 + CLICKS {
            put(&db, &format!("user-{}", n % 17), n).await;
        }
        written.store(true, Ordering::Release);
    };
    let counting = async {
        loop {
            let is_last = written.load(Ordering::Acquire);
            if !source.deliver().await && is_last {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let repairing = async {
        let measured = recount(&db, RecountScope::All).await;
        repair(&db, &measured, Lowering::Nothing).await.unwrap()
    };
    let ((), (), repaired) = tokio::join!(writing, counting, repairing);
    let corrections = repaired.corrections.iter();
    let corrections: Vec<_> = corrections.map(|it| (&*it.sort, &*it.attribute, it.added.units)).collect();
    let (day, month) = (DAY, &DAY[..7]);
    let expected = [
        (day, "totalClicks", 2),
        (day, "uniqueUsers", 1),
        (month, "totalClicks", 1),
        (month, "uniqueUsers", 1),
        ("METADATA", "totalClicks", 1),
    ];
    assert_eq!(corrections, expected);
    let clicks = u64::from(CLICKS) + 3;
    assert_eq!(stats(&db).await, [clicks, 19, clicks, 19, clicks]);
    assert_eq!(errors(&recount(&db, RecountScope::All).await), []);
}
