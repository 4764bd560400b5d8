//! The journal against the engine: entries are stored once, and readers get them in order.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::types::AttributeValue;
use domain::EntryId;
use domain::journal::{Entry, JournalStream};
use domain::{Moment, TimeRange};
use jiff::{SignedDuration, Timestamp};
use journal_store::AppendOutcome;
use tests::Database;
use tests::journal::{entry, journal, midnight, now, read_all, reader};

#[tokio::test]
async fn day_grown_to_twenty_shards_is_paged_in_order() {
    let db = Database::start().await.unwrap();
    let stream = JournalStream::new("grown").unwrap();
    let mut expected = Vec::new();
    for (shards, numbers) in [(1, 0..60), (20, 60..80)] {
        let journal = journal(&db.client, shards, "default=0");
        for number in numbers {
            // Twenty in each millisecond.
            let at = now() + SignedDuration::from_millis(number / 20);
            let entry = entry(&stream, EntryId::derived(at, &number.to_string()), &format!("entry {number}")).unwrap();
            assert_eq!(journal.append(&entry, now()).await.unwrap(), AppendOutcome::New);
            expected.push(entry);
        }
    }
    expected.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    for limit in [1, 2, 7, 19, 20, 21, 79, 80, 81] {
        assert_eq!(
            read_all(&db.client, &stream, TimeRange::default(), limit).await.unwrap(),
            expected,
            "limit {limit}"
        );
    }
}

#[tokio::test]
async fn entry_stored_twice_during_resharding_is_shown_once() {
    let db = Database::start().await.unwrap();
    let stream = JournalStream::new("raised").unwrap();
    let (old, new) = (journal(&db.client, 1, "default=0"), journal(&db.client, 9, "default=0"));
    let mut expected = Vec::new();
    for number in 0..40 {
        let entry = entry(&stream, EntryId::derived(now(), &number.to_string()), &format!("entry {number}")).unwrap();
        // The old instance has opened the day before it grows, and does not look again.
        if number == 0 {
            assert_eq!(old.append(&entry, now()).await.unwrap(), AppendOutcome::New);
        }
        new.append(&entry, now()).await.unwrap();
        old.append(&entry, now()).await.unwrap();
        expected.push(entry);
    }
    let items = db.client.scan().table_name(Database::JOURNAL).send().await.unwrap().count();
    assert!(items > 41, "nothing was stored twice, so nothing is shown");
    expected.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    for limit in [1, 3, 40, 100] {
        assert_eq!(
            read_all(&db.client, &stream, TimeRange::default(), limit).await.unwrap(),
            expected,
            "limit {limit}"
        );
    }
}

#[tokio::test]
async fn empty_days_end_a_page_early_with_a_cursor() {
    let db = Database::start().await.unwrap();
    let stream = JournalStream::new("empty").unwrap();
    let journal = journal(&db.client, 4, "default=0");
    let of_day = |days_ago| {
        let id = EntryId::derived(midnight(days_ago), &days_ago.to_string());
        entry(&stream, id, &format!("{days_ago} days ago")).unwrap()
    };
    for days_ago in (0..300).rev() {
        let text = |text: String| AttributeValue::S(text);
        let request = db.client.put_item().table_name(Database::JOURNAL);
        let request = request.item("PK", text(format!("FEEDDAYS#{stream}")));
        let request = request.item("SK", text(of_day(days_ago).id.day().to_string()));
        let request = request.item("shards", AttributeValue::N("4".into()));
        request.item("counts", AttributeValue::Ns(vec!["4".into()])).send().await.unwrap();
    }
    for days_ago in [0, 299] {
        journal.append(&of_day(days_ago), now()).await.unwrap();
    }
    let reader = reader(&db.client, "default=0");
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = reader.page(&stream, TimeRange::default(), 50, after, now()).await.unwrap();
        pages.push(page.items.len());
        after = page.next;
        if after.is_none() {
            break;
        }
        assert!(pages.len() < 20, "the pages do not end: {pages:?}");
    }
    assert_eq!((pages.first(), pages.last(), pages.iter().sum::<usize>()), (Some(&1), Some(&1), 2));
    assert!(pages.len() > 5, "a page of 300 days: {pages:?}");
}

/// Counts requests as they go out.
#[derive(Debug, Clone, Default)]
struct Requests(Arc<AtomicUsize>);

impl Intercept for Requests {
    fn name(&self) -> &'static str {
        "Requests"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[tokio::test]
async fn newest_page_requests_do_not_grow_with_history() {
    let db = Database::start().await.unwrap();
    let requests = Requests::default();
    let config = db.client.config().to_builder().interceptor(requests.clone()).build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let reader = reader(&client, "default=0");
    let journal = journal(&db.client, 4, "default=0");
    for (name, history) in [("young", 0), ("old", 150)] {
        let stream = JournalStream::new(name).unwrap();
        let times = (1..=history).map(midnight).chain((0..60).map(|n| midnight(0) + SignedDuration::from_secs(n)));
        for (number, at) in times.enumerate() {
            let entry = entry(&stream, EntryId::derived(at, &number.to_string()), "x").unwrap();
            journal.append(&entry, now()).await.unwrap();
        }
        requests.0.store(0, Ordering::Relaxed);
        let page = reader.page(&stream, TimeRange::default(), 50, None, now()).await.unwrap();
        assert_eq!(page.items.len(), 50);
        // The list of days, and today's four shards.
        assert_eq!(requests.0.load(Ordering::Relaxed), 5, "{history} days of history");
    }
}

#[tokio::test]
async fn entries_beyond_retention_are_neither_stored_nor_shown() {
    let db = Database::start().await.unwrap();
    let (kept, others) = (JournalStream::suite(), JournalStream::new("others").unwrap());
    let retention = "suite=10,default=1";
    let journal = journal(&db.client, 4, retention);
    let at =
        |stream: &JournalStream, ago: SignedDuration| entry(stream, EntryId::derived(now() - ago, "x"), "x").unwrap();
    let day = SignedDuration::from_hours(24);
    let a_little = SignedDuration::from_millis(1);
    for (stream, ago, outcome) in [
        (&kept, day * 10, AppendOutcome::New),
        (&kept, day * 10 + a_little, AppendOutcome::Expired),
        (&others, day, AppendOutcome::New),
        (&others, day + a_little, AppendOutcome::Expired),
    ] {
        assert_eq!(journal.append(&at(stream, ago), now()).await.unwrap(), outcome, "{stream} {ago}");
    }
    let items = db.client.scan().table_name(Database::JOURNAL).filter_expression("attribute_exists(message)");
    for item in items.send().await.unwrap().items() {
        let id: EntryId = item["SK"].as_s().unwrap().parse().unwrap();
        let ttl: i64 = item["ttl"].as_n().unwrap().parse().unwrap();
        let days = if item["PK"].as_s().unwrap().contains("#suite#") { 10 } else { 1 };
        assert!(Timestamp::from_second(ttl).unwrap() >= id.at() + day * days, "{item:?}");
    }

    let reader = reader(&db.client, retention);
    let shown = async |stream: &JournalStream, now: Timestamp| {
        reader.page(stream, TimeRange::default(), 10, None, now).await.unwrap().items.len()
    };
    assert_eq!(shown(&kept, now()).await, 1);
    assert_eq!(shown(&others, now()).await, 1);
    // Nobody has swept it yet.
    assert_eq!(shown(&kept, now() + a_little).await, 0);
    assert_eq!(shown(&others, now() + a_little).await, 0);
    // A range that lies before all that is kept.
    let to = Moment::new(now() - day * 20).unwrap();
    let page = reader.page(&kept, TimeRange::new(None, Some(to)).unwrap(), 10, None, now()).await.unwrap();
    assert_eq!((page.items, page.next), (Vec::new(), None));
}

#[tokio::test]
async fn backfill_appears_behind_an_open_cursor_only() {
    let db = Database::start().await.unwrap();
    let stream = JournalStream::new("backfilled").unwrap();
    let (journal, reader) = (journal(&db.client, 4, "default=0"), reader(&db.client, "default=0"));
    let append = async |days_ago, name: &str| {
        let entry = entry(&stream, EntryId::derived(midnight(days_ago), name), name).unwrap();
        journal.append(&entry, now()).await.unwrap();
    };
    for (days_ago, name) in [(0, "today"), (2, "two days ago"), (4, "four days ago")] {
        append(days_ago, name).await;
    }
    let first = reader.page(&stream, TimeRange::default(), 2, None, now()).await.unwrap();
    append(1, "late, a day ago").await;
    append(3, "late, three days ago").await;
    let second = reader.page(&stream, TimeRange::default(), 10, first.next, now()).await.unwrap();
    let messages = |items: &[Entry]| items.iter().map(|entry| entry.message.as_str().to_owned()).collect::<Vec<_>>();
    assert_eq!(messages(&first.items), ["today", "two days ago"]);
    assert_eq!(messages(&second.items), ["late, three days ago", "four days ago"]);
    assert_eq!(read_all(&db.client, &stream, TimeRange::default(), 10).await.unwrap().len(), 5);
}

#[tokio::test]
async fn streams_with_a_common_prefix_are_separate() {
    let db = Database::start().await.unwrap();
    let journal = journal(&db.client, 2, "default=0");
    let streams = ["a", "a-b", "a-2024-03-02"].map(|name| JournalStream::new(name).unwrap());
    for stream in &streams {
        journal.append(&entry(stream, EntryId::derived(now(), "x"), stream.as_str()).unwrap(), now()).await.unwrap();
    }
    for stream in &streams {
        let read = read_all(&db.client, stream, TimeRange::default(), 10).await.unwrap();
        assert_eq!(read.iter().map(|entry| entry.message.as_str()).collect::<Vec<_>>(), [stream.as_str()]);
    }
}
