//! Recounting while no shard ever rests.

use super::*;

/// Loops that click and count at the same time: between any two requests of the recount, some of
/// the others' take place.
const LOOPS: u32 = 4;

#[tokio::test]
async fn recount_and_repair_are_exact_while_four_shards_count() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    for _ in 0..2 {
        for shard in source.shards().await {
            // A shard that has been split is closed, and refuses.
            let _ = db.engine().change_shard(Database::CLICKS, &shard, ShardChange::Split).await;
        }
    }
    for n in 0..40 {
        put(&db, &format!("user-{n}"), n).await;
    }
    source.drain().await;
    add(&db, "STAT#DAILY", DAY, -3).await;

    let stop = AtomicBool::new(false);
    let traffic = (1..=LOOPS).map(|of| {
        let (db, stop) = (&db, &stop);
        async move {
            let mut n = of * 10_000;
            while !stop.load(Ordering::Relaxed) {
                put(db, &format!("user-{}", n % 37), n).await;
                n += 1;
            }
        }
    });
    let counting = async {
        while !stop.load(Ordering::Relaxed) {
            source.deliver().await;
        }
    };
    let recounting = async {
        let measured = recount(&db, RecountScope::All).await;
        assert_eq!(errors(&measured), [(DAY, "totalClicks", -3)]);
        // Another repair is nowhere, so the first try is the last.
        repair(&db, &measured, Lowering::Nothing).await.unwrap();
        assert_eq!(errors(&recount(&db, RecountScope::All).await), []);
        stop.store(true, Ordering::Relaxed);
    };
    tokio::join!(futures::future::join_all(traffic), counting, recounting);
    source.drain().await;
    let clicks = stats(&db).await;
    assert_eq!((clicks[0], clicks[2]), (clicks[4], clicks[4]));
}
