//! Where the statistics differ from their clicks.

use super::*;

#[tokio::test]
async fn what_is_counted_right_has_no_differences() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    for n in 0..20 {
        put(&db, &format!("user-{}", n % 3), n).await;
    }
    source.drain().await;
    assert_eq!(db.number("STAT#DAILY", DAY, "uniqueUsers").await.unwrap(), 3);
    for scope in scopes() {
        let measured = recount(&db, scope).await;
        assert_eq!((errors(&measured), measured.items, measured.pending), (vec![], 20, 0), "{scope:?}");
    }
}

#[tokio::test]
async fn clicks_that_the_stream_still_holds_are_no_differences() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    for n in 1..6 {
        put(&db, "bob", n).await;
    }
    for scope in scopes() {
        let measured = recount(&db, scope).await;
        assert_eq!((errors(&measured), measured.items, measured.pending), (vec![], 6, 5), "{scope:?}");
    }
}

#[tokio::test]
async fn abandoned_batch_is_missing_once_its_checkpoint_has_passed() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    put(&db, "bob", 1).await;
    source.give_up().await;
    put(&db, "ann", 2).await;
    source.drain().await;

    let day = [(DAY, "totalClicks", -1), (DAY, "uniqueUsers", -1)];
    let month = [(&DAY[..7], "totalClicks", -1), (&DAY[..7], "uniqueUsers", -1)];
    let total = [("METADATA", "totalClicks", -1)];
    let [of_day, of_month, of_all] = scopes();
    assert_eq!(errors(&recount(&db, of_day).await), day);
    assert_eq!(errors(&recount(&db, of_month).await), [day, month].concat());
    let all = recount(&db, of_all).await;
    assert_eq!(errors(&all), [&day[..], &month, &total].concat());
    assert_eq!((all.differences[4].stored.units, all.differences[4].recounted.units), (2, 3));
}

#[tokio::test]
async fn an_unreadable_click_is_told_of_and_is_no_difference() {
    let db = Database::start().await.unwrap();
    put(&db, "ann", 0).await;
    let update = db.client.update_item().table_name(Database::CLICKS);
    let update = update.key("userId", AttributeValue::S("ann".into()));
    let update = update.key("createDateTime", AttributeValue::S(format!("{DAY}T10:00:00.000Z")));
    let update = update.update_expression("SET clickCount = :text");
    update.expression_attribute_values(":text", AttributeValue::S("one".into())).send().await.unwrap();
    let measured = recount(&db, RecountScope::All).await;
    assert_eq!((errors(&measured), measured.items, measured.unreadable), (vec![], 0, 1));
}

#[tokio::test]
async fn while_clicks_keep_arriving_exactly_the_wrong_statistics_differ() {
    let clicks: u32 = tests::load(200, 600);
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put(&db, "ann", 0).await;
    source.drain().await;
    let first = source.shards().await.remove(0);
    // Counting begins once a measurement has seen clicks on their way; so it does see some, on a
    // machine of any speed.
    let (written, seen) = (AtomicBool::new(false), AtomicBool::new(false));

    let writing = async {
        for n in 1..clicks {
            put(&db, &format!("user-{}", n % 17), n).await;
            if n == clicks / 3 {
                db.engine().change_shard(Database::CLICKS, &first, ShardChange::Split).await.unwrap();
            }
        }
        written.store(true, Ordering::Release);
    };
    let counting = async {
        // The requests before the delivery cover everything that the delivery can find.
        loop {
            let is_last = written.load(Ordering::Acquire);
            let may_count = is_last || seen.load(Ordering::Acquire);
            if may_count && !source.deliver().await && is_last {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let measuring = async {
        let (mut right, mut on_their_way) = (0, 0);
        while !written.load(Ordering::Acquire) {
            for scope in scopes() {
                // One measurement, without a second one to confirm it.
                let queries = scope.of(&db.table(Database::CLICKS), DateShards::default());
                let measured = recounter(&db, &aggregator(&db)).measure(&queries, |_| {}).await.unwrap();
                assert_eq!(errors(&measured), [], "{scope:?}");
                on_their_way += measured.pending;
                seen.store(on_their_way > 0, Ordering::Release);
                right += 1;
            }
        }
        (right, on_their_way)
    };
    let ((), (), (right, on_their_way)) = tokio::join!(writing, counting, measuring);
    assert!(right > 0 && on_their_way > 0, "{right} measurements saw {on_their_way} clicks on their way");

    add(&db, "STAT#DAILY", DAY, 5).await;
    let more = async {
        for n in clicks..clicks + 200 {
            put(&db, "eve", n).await;
            source.deliver().await;
        }
    };
    let ((), measured) = tokio::join!(more, recount(&db, RecountScope::All));
    assert_eq!(errors(&measured), [(DAY, "totalClicks", 5)]);
}
