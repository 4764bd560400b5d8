//! The clicks table's access patterns against a real engine.

use std::time::Duration;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use clicks_store::{ClickDetailsReader, ClickWriter, ClicksReader, DateShards, PutClick, StoredClick};
use domain::calendar::DateRange;
use domain::clicks::{Click, ClickCount, ClickTarget, ClickTime};
use domain::{Moment, TimeRange, UserId};
use jiff::Timestamp;
use jiff::civil::date;
use store_base::Direction;
use tests::Database;

fn click(user: &str, time: &str) -> Click {
    Click {
        user_id: UserId::new(user).unwrap(),
        time: ClickTime::parse(time).unwrap(),
        count: ClickCount::new(2).unwrap(),
        target: None,
    }
}

fn shards(n: u8) -> DateShards {
    DateShards::new(n).unwrap()
}

fn writer(db: &Database, date_shards: DateShards) -> ClickWriter {
    ClickWriter::new(&db.table(Database::CLICKS), date_shards, None)
}

fn users(clicks: &[StoredClick]) -> Vec<&str> {
    clicks.iter().map(|click| click.user_id.as_str()).collect()
}

#[tokio::test]
async fn taken_click_key_shows_its_holder_and_stays_unchanged() {
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
async fn clicks_of_a_user_are_paged_in_either_order() {
    let db = Database::start().await.unwrap();
    let writer = writer(&db, shards(1));
    for second in 0..5 {
        writer.put(&click("ann", &format!("2025-10-02T10:30:0{second}.000Z")), "x").await.unwrap();
    }
    writer.put(&click("bob", "2025-10-02T10:30:02.000Z"), "x").await.unwrap();
    let reader = ClicksReader::new(&db.table(Database::CLICKS), shards(1));
    let ann = UserId::new("ann").unwrap();
    let [from, late, later, to] =
        ["2025-10-02T10:30:01Z", "2025-10-02T10:30:00.0005Z", "2025-10-02T10:30:00.0007Z", "2025-10-02T10:30:04Z"]
            .map(|text| Moment::parse(text).unwrap());
    for (from, to, direction, expected, pages_min) in [
        (from, to, Direction::Asc, "123", 2),
        (from, to, Direction::Desc, "321", 2),
        (late, to.next().unwrap(), Direction::Asc, "1234", 2),
        // Without a whole millisecond.
        (late, later, Direction::Asc, "", 1),
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
        assert!(seconds == expected && pages >= pages_min, "{seconds} in {pages} pages");
    }
}

#[tokio::test]
async fn clicks_of_a_day_are_merged_over_grown_partitions() {
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
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let statistic = db.client.put_item().table_name(Database::CLICKS).item("userId", text("STAT#DAILY"));
    let statistic = statistic.item("createDateTime", text("2025-10-02")).item("dateKey", text("DATE#2025-10-02"));
    statistic.item("recordSort", text("STAT#DAILY")).send().await.unwrap();

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
async fn day_is_read_from_the_most_partitions_ever_used() {
    let db = Database::start().await.unwrap();
    for (now, wanted) in [(1, 1), (10, 10), (4, 10), (7, 10), (20, 20)] {
        shards(now).remember(&db.table(Database::CLICKS)).await.unwrap();
        let read_from = shards(now).max_with_stored(&db.table(Database::CLICKS)).await.unwrap();
        assert_eq!(read_from, shards(wanted), "{now}");
    }
}

#[tokio::test]
async fn foreign_click_is_shown_as_far_as_it_is_readable() {
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
async fn unreadable_statistic_leaves_the_other_days_of_a_range() {
    let db = Database::start().await.unwrap();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let number = |number: &str| AttributeValue::N(number.to_owned());
    for (sort, name, value) in [
        ("2025-10-01", "totalClicks", number("5")),
        ("2025-10-02", "uniqueUsers", text("many")),
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
async fn the_total_of_a_target_has_all_its_days() {
    let db = Database::start().await.unwrap();
    let days: Vec<_> = date(2020, 1, 1).series(jiff::Span::new().days(1)).take(1_100).collect();
    for (target, days) in [("tide", &days[..]), ("tide 2", &days[..1])] {
        let put = |day: &jiff::civil::Date| {
            let text = |text: String| AttributeValue::S(text);
            let put = PutRequest::builder()
                .item("userId", text(format!("STAT#TARGET#{target}")))
                .item("createDateTime", text(day.to_string()))
                .item("totalClicks", AttributeValue::N("3".to_owned()));
            WriteRequest::builder().put_request(put.build().unwrap()).build()
        };
        for some in days.chunks(25) {
            let puts = some.iter().map(put).collect::<Vec<_>>();
            db.client.batch_write_item().request_items(Database::CLICKS, puts).send().await.unwrap();
        }
    }
    let details = ClickDetailsReader::new(&db.table(Database::CLICKS)).unwrap();
    for (target, total) in [("tide", 3_300), ("tide 2", 3), ("none", 0)] {
        assert_eq!(details.total(&ClickTarget::new(target).unwrap()).await.unwrap(), total, "{target}");
    }
}
