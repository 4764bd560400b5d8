//! Counting what could not be read, once it can be.

use super::*;

/// Puts a click that nobody can read, has it quarantined, and mends it in the table.
async fn with_a_mended_click(db: &Database, source: &mut Source) -> QuarantinedRecord {
    let broken = AttributeValue::S("one".to_owned());
    put_with_count(db, "eve", &format!("{DAY}T09:00:00.000Z"), broken).await;
    source.drain().await;
    put_at(db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    source.drain().await;
    let kept = aggregator(db).quarantined().await.unwrap();
    assert_eq!((kept.len(), kept[0].code.as_str(), kept[0].ending), (1, "click-count", None));
    kept.into_iter().next().unwrap()
}

async fn redrive(db: &Database, kept: &QuarantinedRecord) -> RedriveOutcome {
    let items = rollup_table(&db.table(Database::CLICKS));
    aggregator(db).redrive(kept, &items, Timestamp::now()).await.unwrap()
}

#[tokio::test]
async fn corrected_click_is_counted_once_despite_repeated_redrives() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    let kept = with_a_mended_click(&db, &mut source).await;
    let counted = RedriveOutcome::Settled(Ending::Counted);
    let redrives = (0..8).map(|_| redrive(&db, &kept));
    for redriven in futures::future::join_all(redrives).await {
        assert_eq!(redriven, counted);
    }
    assert_eq!(redrive(&db, &kept).await, counted);
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
    assert_eq!(errors(&recount(&db, RecountScope::All).await), []);
    // Her next click finds her first-seen record.
    put(&db, "eve", 1).await;
    source.drain().await;
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2]);
}

#[tokio::test]
async fn corrected_click_waits_for_redrive_and_no_repair_counts_it() {
    for repairs_first in [true, false] {
        let db = Database::start().await.unwrap();
        let mut source = Source::of(&db).await;
        let kept = with_a_mended_click(&db, &mut source).await;
        add(&db, "STAT#TOTAL", "METADATA", 0).await;
        let measured = recount(&db, RecountScope::All).await;
        assert_eq!((errors(&measured), measured.quarantined), (vec![], 1));
        if repairs_first {
            repair(&db, &measured, Lowering::UpTo(measured.too_high())).await.unwrap();
            assert_eq!(stats(&db).await, [0; 5]);
        }
        redrive(&db, &kept).await;
        let measured = recount(&db, RecountScope::All).await;
        assert_eq!((errors(&measured), measured.quarantined, measured.unrecorded), (vec![], 0, 0));
        repair(&db, &measured, Lowering::UpTo(measured.too_high())).await.unwrap();
        assert_eq!(stats(&db).await, [1, 1, 1, 1, 1], "repairs first: {repairs_first}");
    }
}

#[tokio::test]
async fn click_put_again_is_counted_and_its_old_record_dismissed() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put_with_count(&db, "eve", &format!("{DAY}T09:00:00.000Z"), AttributeValue::S("one".to_owned())).await;
    source.drain().await;
    delete(&db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    put_at(&db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    source.drain().await;
    assert_eq!(recount(&db, RecountScope::All).await.quarantined, 1);
    let kept = aggregator(&db).quarantined().await.unwrap().remove(0);
    let items = rollup_table(&db.table(Database::CLICKS));
    let ending = aggregator(&db).dismiss(&kept, &items, Timestamp::now()).await.unwrap();
    assert_eq!(ending, Ending::Dismissed);
    assert_eq!(redrive(&db, &kept).await, RedriveOutcome::Settled(Ending::Dismissed));
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
    assert_eq!(errors(&recount(&db, RecountScope::All).await), []);
}
