//! Sums that checkpoints keep, and their way to the statistics.

use domain::clicks::{SequenceNumber, StatDelta, Sums};
use store::clicks::{Checkpoints, CommitError, Merger};

use super::*;

fn merger(db: &Database) -> Merger {
    Merger::new(&db.table(Database::CLICKS))
}

fn number(n: u64) -> SequenceNumber {
    n.to_string().parse().unwrap()
}

/// Two clicks of one visitor on the day.
fn two_clicks() -> StatDelta {
    let (day, sums): (Date, _) = (DAY.parse().unwrap(), Sums { clicks: 2, unique_users: 1 });
    let month = domain::calendar::YearMonth::of(day);
    StatDelta { total_clicks: 2, days: [(day, sums)].into(), months: [(month, sums)].into() }
}

#[tokio::test]
async fn buffered_sums_are_stored_to_a_recount_and_merging_takes_them_where_readers_look() {
    let db = Database::start().await.unwrap();
    let mut source = Source::in_layout(&db, StatLayout::Buffers).await;
    for n in 0..20 {
        put(&db, &format!("user-{}", n % 3), n).await;
    }
    source.drain().await;
    assert_eq!(stats(&db).await, [0; 5]);
    for scope in scopes() {
        assert_eq!(recount(&db, scope).await.differences, [], "{scope:?}");
    }
    let report = stats_merger::handle(&merger(&db)).await.unwrap();
    assert_eq!((report.shards, report.clicks, report.left), (1, 20, 0));
    assert_eq!(stats(&db).await, [20, 3, 20, 3, 20]);
    assert_eq!(stats_merger::handle(&merger(&db)).await.unwrap(), stats_merger::Report::default());
    assert_eq!(recount(&db, RecountScope::All).await.differences, []);
}

#[tokio::test]
async fn sums_are_merged_once_and_none_that_came_since_are_thrown_away() {
    let db = Database::start().await.unwrap();
    let stream_arn = Source::of(&db).await.stream_arn;
    let (shard, now) = (ShardCheckpoint::new(stream_arn, "0"), Timestamp::UNIX_EPOCH);
    let checkpoints = Checkpoints::new(&db.table(Database::CLICKS)).in_layout(StatLayout::Buffers);
    checkpoints.commit(&shard, None, number(1), &two_clicks(), now).await.unwrap();
    let again = checkpoints.commit(&shard, None, number(1), &two_clicks(), now).await;
    assert!(matches!(again, Err(CommitError::CheckpointMoved)), "{again:?}");

    let (merger, early) = (merger(&db), merger(&db).list().await.unwrap().remove(0));
    checkpoints.commit(&shard, Some(number(1)), number(2), &two_clicks(), now).await.unwrap();
    let late = merger.list().await.unwrap().remove(0);
    for read_too_early in [early.clone(), early] {
        assert!(matches!(merger.merge(read_too_early).await, Err(CommitError::CheckpointMoved)));
    }
    assert_eq!(merger.merge(late.clone()).await.unwrap(), None);
    assert!(matches!(merger.merge(late).await, Err(CommitError::CheckpointMoved)), "folded twice");
    assert_eq!(stats(&db).await, [4, 2, 4, 2, 4]);
    assert_eq!(merger.read(&shard).await.unwrap(), None);
}

#[tokio::test]
async fn the_layout_may_change_at_any_time_and_a_chunk_of_many_days_does_not_stay_in_the_buffer() {
    let db = Database::start().await.unwrap();
    let first: Date = DAY.parse().unwrap();
    for (n, layout) in (0..).zip([StatLayout::Sums, StatLayout::Buffers, StatLayout::Sums]) {
        // Starts from the beginning each time. Counted clicks are not counted again.
        let mut source = Source::in_layout(&db, layout).await;
        put(&db, "ann", n).await;
        source.drain().await;
    }
    assert_eq!(stats(&db).await, [2, 1, 2, 1, 2], "one is in the shard");
    let mut source = Source::in_layout(&db, StatLayout::Buffers).await;
    source.drain().await;
    for days in 0..9 {
        let day = first.checked_add(jiff::Span::new().days(days)).unwrap();
        put_at(&db, "bob", &format!("{day}T11:00:00.000Z")).await;
        put_at(&db, "bob", &format!("{}T11:00:00.000Z", day.checked_add(jiff::Span::new().years(1)).unwrap())).await;
    }
    source.drain().await;
    let total = stats(&db).await[4];
    assert!(total > 2, "a page of seven clicks has twelve statistics or so: {total}");
    stats_merger::handle(&merger(&db)).await.unwrap();
    assert_eq!(stats(&db).await[4], 21);
    assert_eq!(recount(&db, RecountScope::All).await.differences, []);
}
