//! The clicks table's access patterns against a real engine.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::calendar::{DateRange, MonthRange};
use domain::clicks::{Click, ClickCount, ClickTime, SequenceNumber, ShardHash, StatDelta, StreamClick, Sums, chunks};
use domain::{Moment, TimeRange, UserId};
use jiff::Timestamp;
use jiff::civil::date;
use store::Direction;
use store::clicks::{
    Checkpoints, ClickWriter, ClicksReader, CommitError, DateShards, FirstSeenCache, FirstSeenRecords,
    NewQuarantinedRecord, PutClick, Quarantine, ShardCheckpoint, StoredClick,
};
use tidemark_tests::Database;

fn click(user: &str, time: &str) -> Click {
    Click {
        user_id: UserId::new(user).unwrap(),
        time: ClickTime::parse(time).unwrap(),
        count: ClickCount::new(2).unwrap(),
    }
}

fn shards(n: u8) -> DateShards {
    DateShards::new(n).unwrap()
}

fn number(n: u64) -> SequenceNumber {
    n.to_string().parse().unwrap()
}

fn writer(db: &Database, date_shards: DateShards) -> ClickWriter {
    ClickWriter::new(&db.table(Database::CLICKS), date_shards, None)
}

fn users(clicks: &[StoredClick]) -> Vec<&str> {
    clicks.iter().map(|click| click.user_id.as_str()).collect()
}

#[tokio::test]
async fn a_key_that_is_taken_shows_its_holder_and_is_left_alone() {
    let db = Database::start().await.unwrap();
    let writer = writer(&db, shards(1));
    let click = click("ann", "2025-10-02T10:30:00.000Z");
    assert_eq!(writer.put(&click, "first").await.unwrap(), PutClick::Stored);
    let again = Click { count: ClickCount::default(), ..click.clone() };
    assert_eq!(writer.put(&again, "second").await.unwrap(), PutClick::Held(StoredClick::new(&click, "first")));
    assert_eq!(db.number("ann", "2025-10-02T10:30:00.000Z", "clickCount").await.unwrap(), 2);
}

#[tokio::test]
async fn a_click_expires_only_where_clicks_are_told_to() {
    let db = Database::start().await.unwrap();
    let week = Some(Duration::from_secs(7 * 24 * 60 * 60));
    let expiring = ClickWriter::new(&db.table(Database::CLICKS), shards(1), week);
    expiring.put(&click("ann", "2025-10-02T10:30:00.000Z"), "1").await.unwrap();
    writer(&db, shards(1)).put(&click("bob", "2025-10-02T10:30:00.000Z"), "2").await.unwrap();
    let expires_at = Timestamp::from_second(1_760_005_800).unwrap();
    assert_eq!(expires_at.to_string(), "2025-10-09T10:30:00Z");
    assert_eq!(db.number("ann", "2025-10-02T10:30:00.000Z", "expiresAt").await.unwrap(), 1_760_005_800);
    assert_eq!(db.number("bob", "2025-10-02T10:30:00.000Z", "expiresAt").await.unwrap(), 0);
}

#[tokio::test]
async fn the_clicks_of_a_user_come_in_either_order_and_in_pages() {
    let db = Database::start().await.unwrap();
    let writer = writer(&db, shards(1));
    for second in 0..5 {
        writer.put(&click("ann", &format!("2025-10-02T10:30:0{second}.000Z")), "x").await.unwrap();
    }
    writer.put(&click("bob", "2025-10-02T10:30:02.000Z"), "x").await.unwrap();
    let reader = ClicksReader::new(&db.table(Database::CLICKS), shards(1));
    let ann = UserId::new("ann").unwrap();
    let [from, late, to] = ["2025-10-02T10:30:01Z", "2025-10-02T10:30:00.0005Z", "2025-10-02T10:30:04Z"]
        .map(|text| Moment::parse(text).unwrap());
    for (from, to, direction, expected) in [
        (from, to, Direction::Asc, "123"),
        (from, to, Direction::Desc, "321"),
        (late, to.next().unwrap(), Direction::Asc, "1234"),
    ] {
        let range = TimeRange::new(Some(from), Some(to)).unwrap();
        let (mut seconds, mut after, mut pages) = (String::new(), None, 0);
        loop {
            let page = reader.of_user(&ann, range, direction, 2, after.as_ref()).await.unwrap();
            seconds.extend(page.items.iter().map(|click| &click.create_date_time[18..19]));
            (after, pages) = (page.next, pages + 1);
            if after.is_none() {
                break;
            }
        }
        // Behind a full last page, engines differ in whether they look for another one.
        assert!(seconds == expected && pages >= 2, "{seconds} in {pages} pages");
    }
}

#[tokio::test]
async fn the_clicks_of_a_day_are_merged_over_partitions_whose_number_has_grown() {
    let db = Database::start().await.unwrap();
    let mut expected = Vec::new();
    for n in 0..60 {
        let layout = shards([1, 3, 8][n % 3]);
        let user = format!("user-{n:02}");
        // Two users share each millisecond.
        let time = format!("2025-10-02T10:30:00.{:03}Z", n / 2);
        writer(&db, layout).put(&click(&user, &time), "x").await.unwrap();
        expected.push(user);
    }
    writer(&db, shards(8)).put(&click("late", "2025-10-03T00:00:00.000Z"), "x").await.unwrap();
    // The day's statistic lies in the same partition, and is no click.
    let checkpoints = Checkpoints::new(&db.table(Database::CLICKS));
    let delta = StatDelta { days: [(date(2025, 10, 2), Sums::default())].into(), ..StatDelta::default() };
    checkpoints.commit(&ShardCheckpoint::new("s", "0"), None, number(1), &delta, Timestamp::UNIX_EPOCH).await.unwrap();

    let reader = ClicksReader::new(&db.table(Database::CLICKS), shards(8));
    for limit in [1, 7, 60, 1_000] {
        let (mut read, mut after) = (Vec::new(), None);
        loop {
            let page = reader.of_day(date(2025, 10, 2), limit, after.as_ref()).await.unwrap();
            assert!(page.items.len() <= usize::from(limit));
            read.extend(page.items.into_iter().map(|click| click.user_id));
            after = page.next;
            if after.is_none() {
                break;
            }
            assert!(read.len() < 100, "the pages do not end");
        }
        assert_eq!(read, expected, "limit {limit}");
    }
}

#[tokio::test]
async fn a_day_is_read_from_as_many_partitions_as_it_was_ever_spread_over() {
    let db = Database::start().await.unwrap();
    for (now, wanted) in [(1, 1), (10, 10), (4, 10), (7, 10), (20, 20)] {
        shards(now).remember(&db.table(Database::CLICKS)).await.unwrap();
        let read_from = shards(now).max_with_stored(&db.table(Database::CLICKS)).await.unwrap();
        assert_eq!(read_from, shards(wanted), "{now}");
    }
}

#[tokio::test]
async fn a_click_of_a_foreign_client_is_shown_as_far_as_it_can_be_read() {
    let db = Database::start().await.unwrap();
    let number = |number: &str| AttributeValue::N(number.to_owned());
    for (user, count) in [
        ("ann", None),
        ("bob", Some(AttributeValue::S("many".into()))),
        ("cem", Some(number("7"))),
        ("dan", Some(number("-3"))),
    ] {
        let time = "2025-10-02T10:30:00.000Z";
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let request = db.client.put_item().table_name(Database::CLICKS).item("userId", text(user));
        let request = request.item("createDateTime", text(time)).item("dateKey", text("DATE#2025-10-02"));
        let mut request = request.item("recordSort", text(&format!("CLICK#{time}#{user}")));
        if let Some(count) = count {
            // Its id is not a text either.
            request = request.item("clickCount", count).item("clickId", number("7"));
        }
        request.send().await.unwrap();
    }
    let reader = ClicksReader::new(&db.table(Database::CLICKS), shards(1));
    let page = reader.of_day(date(2025, 10, 2), 10, None).await.unwrap();
    assert_eq!(users(&page.items), ["ann", "bob", "cem", "dan"]);
    let shown: Vec<_> = page.items.iter().map(|click| (click.click_count, click.click_id.as_deref())).collect();
    assert_eq!(shown, [(Some(1), None), (None, None), (Some(7), None), (None, None)]);
    // A click at a millisecond that such a click holds gets the next one.
    let dan = click("dan", "2025-10-02T10:30:00.000Z");
    assert!(matches!(writer(&db, shards(1)).put(&dan, "id").await.unwrap(), PutClick::Held(_)));
}

#[tokio::test]
async fn a_statistic_that_cannot_be_read_leaves_the_other_days_of_a_range() {
    let db = Database::start().await.unwrap();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let number = |number: &str| AttributeValue::N(number.to_owned());
    for (sort, name, value) in [
        ("2025-10-01", "totalClicks", number("5")),
        ("2025-10-02", "totalClicks", text("many")),
        // A click that somebody has put where the days' statistics are.
        ("2025-10-02T10:30:00.000Z", "clickCount", number("1")),
        ("2025-10-03", "totalClicks", number("7")),
    ] {
        let request = db.client.put_item().table_name(Database::CLICKS).item("userId", text("STAT#DAILY"));
        request.item("createDateTime", text(sort)).item(name, value).send().await.unwrap();
    }
    let reader = ClicksReader::new(&db.table(Database::CLICKS), shards(1));
    let stats = reader.daily(DateRange::new(date(2025, 10, 1), date(2025, 10, 3)).unwrap()).await.unwrap();
    let clicks = |day: &str| stats.by_period[day].map(|stat| stat.total_clicks);
    assert_eq!((clicks("2025-10-01"), clicks("2025-10-02"), clicks("2025-10-03")), (Some(5), None, Some(7)));
    assert_eq!(stats.skipped, 2);
}

#[tokio::test]
async fn a_commit_adds_all_of_a_part_and_moves_the_lane_once() {
    let db = Database::start().await.unwrap();
    let checkpoints = Checkpoints::new(&db.table(Database::CLICKS));
    let (shard, now) = (ShardCheckpoint::new("stream", "shard"), Timestamp::UNIX_EPOCH);
    let day = date(2025, 10, 2);
    let sums = Sums { clicks: 5, unique_users: 2 };
    let month = domain::calendar::YearMonth::of(day);
    let delta = StatDelta { total_clicks: 5, days: [(day, sums)].into(), months: [(month, sums)].into() };

    assert_eq!(checkpoints.checkpoint(&shard).await.unwrap(), None);
    checkpoints.commit(&shard, None, number(10), &delta, now).await.unwrap();
    assert_eq!(checkpoints.checkpoint(&shard).await.unwrap(), Some(number(10)));
    for stale in [None, Some(number(9))] {
        let again = checkpoints.commit(&shard, stale, number(11), &delta, now).await;
        assert!(matches!(again, Err(CommitError::CheckpointMoved)), "{again:?}");
    }
    checkpoints.commit(&shard, Some(number(10)), number(20), &delta, now).await.unwrap();

    let reader = ClicksReader::new(&db.table(Database::CLICKS), shards(1));
    assert_eq!(reader.total().await.unwrap().total_clicks, 10);
    let days = reader.daily(DateRange::new(date(2025, 9, 1), date(2025, 10, 31)).unwrap()).await.unwrap();
    let months = reader.monthly(MonthRange::new(month, month).unwrap()).await.unwrap();
    let expected = store::clicks::Stat { total_clicks: 10, unique_users: 4 };
    assert_eq!(days.by_period, [("2025-10-02".to_owned(), Some(expected))].into());
    assert_eq!(months.by_period, [("2025-10".to_owned(), Some(expected))].into());
}

#[tokio::test]
async fn a_visitor_is_new_to_the_lane_that_claims_first_until_it_has_counted() {
    let db = Database::start().await.unwrap();
    let first_seen_records = FirstSeenRecords::new(&db.table(Database::CLICKS));
    let (day, next_day) = (date(2025, 10, 2), date(2025, 10, 3));
    let clicks = |first: u64| {
        [(first, "ann", day), (first + 1, "ann", next_day), (first + 2, "bob", day)]
            .map(|(n, user_id, date)| StreamClick { sequence_number: number(n), user_id, date, count: 1 })
    };
    let (a, b) = (ShardHash([1; 8]), ShardHash([2; 8]));
    let chunk_a = &chunks(clicks(5), number(7))[0];
    let chunk_b = &chunks(clicks(90), number(92))[0];
    let new = |shard, checkpoint, chunk: &domain::clicks::Chunk<'_>, standing: &[domain::clicks::VisitFirstSeen]| {
        let delta = chunk.delta(shard, checkpoint, standing);
        let days: u64 = delta.days.values().map(|sums| sums.unique_users).sum();
        (days, delta.months.values().map(|sums| sums.unique_users).sum::<u64>())
    };

    let mut known = FirstSeenCache::default();
    let standing = first_seen_records.record(&mut known, a, None, &chunk_a.visits).await.unwrap();
    assert_eq!(new(a, None, chunk_a, &standing), (3, 2));
    // Another shard meets the same visitors: on a cold instance, and on the one that has just
    // claimed them.
    for known in [&mut FirstSeenCache::default(), &mut known] {
        let standing = first_seen_records.record(known, b, None, &chunk_b.visits).await.unwrap();
        assert_eq!(new(b, None, chunk_b, &standing), (0, 0));
    }
    // The first shard's batch comes again before it was counted: the claims are still its own,
    // however they are known.
    for known in [&mut FirstSeenCache::default(), &mut known] {
        let standing = first_seen_records.record(known, a, None, &chunk_a.visits).await.unwrap();
        assert_eq!(new(a, None, chunk_a, &standing), (3, 2));
        let standing = first_seen_records.record(known, a, Some(number(7)), &chunk_a.visits).await.unwrap();
        assert_eq!(new(a, Some(number(7)), chunk_a, &standing), (0, 0));
    }
}

#[tokio::test]
async fn a_quarantined_record_is_kept_once_with_its_reason() {
    let db = Database::start().await.unwrap();
    let quarantine = Quarantine::new(&db.table(Database::CLICKS));
    let long = "客".repeat(200_000);
    for (sequence_number, record) in [(Some("7"), "{}"), (None, "?"), (Some("8"), long.as_str())] {
        let record = NewQuarantinedRecord { sequence_number, reason: "record", detail: "why".into(), record };
        for _ in 0..2 {
            quarantine.put(&ShardCheckpoint::new("stream", "shard"), &record, Timestamp::UNIX_EPOCH).await.unwrap();
        }
    }
    let request = db.client.query().table_name(Database::CLICKS).key_condition_expression("userId = :q");
    let items = request.expression_attribute_values(":q", AttributeValue::S("QUARANTINE#CLICKS".into())).send().await;
    let items = items.unwrap().items.unwrap();
    assert_eq!(items.len(), 3);
    assert!(items.iter().all(|item| item["reason"] == AttributeValue::S("record".into())));
}
