//! Counting what could not be read, once it can be.

use super::*;

/// Puts a click that nobody can read, has it quarantined, and mends it in the table.
async fn with_a_mended_click(db: &Database, source: &mut Source) -> QuarantinedRecord {
    let broken = AttributeValue::S("one".to_owned());
    put_with_count(db, "eve", &format!("{DAY}T09:00:00.000Z"), broken).await;
    source.drain().await;
    put_at(db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    source.drain().await;
    let (kept, _) = Quarantine::new(&db.table(Database::CLICKS)).list(None).await.unwrap();
    assert_eq!((kept.len(), kept[0].reason.as_str(), kept[0].ending), (1, "click-count", None));
    kept.into_iter().next().unwrap()
}

#[tokio::test]
async fn a_mended_click_is_counted_once_however_often_it_is_redriven() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    let kept = with_a_mended_click(&db, &mut source).await;
    let redriver = Redriver::new(&db.table(Database::CLICKS));
    let counted = RedriveOutcome::Ended(QuarantineEnding::Counted);
    let redrives = (0..8).map(|_| redriver.redrive(&kept, Timestamp::now()));
    for redriven in futures::future::join_all(redrives).await {
        assert_eq!(redriven.unwrap(), counted);
    }
    assert_eq!(redriver.redrive(&kept, Timestamp::now()).await.unwrap(), counted);
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
    assert_eq!(recount(&db, RecountScope::All).await.differences, []);
    // Her next click finds her claimed and counted.
    put(&db, "eve", 1).await;
    source.drain().await;
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2]);
}

#[tokio::test]
async fn a_mended_click_waits_for_its_redrive_and_no_repair_counts_it() {
    for repairs_first in [true, false] {
        let db = Database::start().await.unwrap();
        let mut source = Source::of(&db).await;
        let kept = with_a_mended_click(&db, &mut source).await;
        add(&db, "STAT#TOTAL", "METADATA", 0).await;
        let measured = recount(&db, RecountScope::All).await;
        assert_eq!((&measured.differences, measured.quarantined), (&vec![], 1));
        if repairs_first {
            repair(&db, &measured, true).await.unwrap();
            assert_eq!(stats(&db).await, [0; 5]);
        }
        Redriver::new(&db.table(Database::CLICKS)).redrive(&kept, Timestamp::now()).await.unwrap();
        let measured = recount(&db, RecountScope::All).await;
        assert_eq!((&measured.differences, measured.quarantined, measured.unmarked.len()), (&vec![], 0, 0));
        repair(&db, &measured, true).await.unwrap();
        assert_eq!(stats(&db).await, [1, 1, 1, 1, 1], "repairs first: {repairs_first}");
    }
}

#[tokio::test]
async fn a_click_that_was_put_anew_is_counted_by_the_stream_and_its_old_record_dismissed() {
    let db = Database::start().await.unwrap();
    let mut source = Source::of(&db).await;
    put_with_count(&db, "eve", &format!("{DAY}T09:00:00.000Z"), AttributeValue::S("one".to_owned())).await;
    source.drain().await;
    delete(&db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    put_at(&db, "eve", &format!("{DAY}T09:00:00.000Z")).await;
    source.drain().await;
    assert_eq!(recount(&db, RecountScope::All).await.quarantined, 1);
    let (kept, _) = Quarantine::new(&db.table(Database::CLICKS)).list(None).await.unwrap();
    let redriver = Redriver::new(&db.table(Database::CLICKS));
    assert_eq!(
        redriver.dismiss(&kept[0], Timestamp::now()).await.unwrap(),
        RedriveOutcome::Ended(QuarantineEnding::Dismissed)
    );
    assert_eq!(
        redriver.redrive(&kept[0], Timestamp::now()).await.unwrap(),
        RedriveOutcome::Ended(QuarantineEnding::Dismissed)
    );
    assert_eq!(stats(&db).await, [1, 1, 1, 1, 1]);
    assert_eq!(recount(&db, RecountScope::All).await.differences, []);
}
