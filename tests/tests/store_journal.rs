//! The journal against the engine: what is stored once, and what a reader gets in which order.

#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::ops::Range;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::journal::{Entry, EntryId, Message, Stream};
use domain::{Attributes, Moment, TimeRange};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::journal::{Appended, Journal, JournalPosition, JournalReader, JournalShards};
use tidemark_tests::Database;
use tokio::runtime::Runtime;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The last day of the histories below. Some of their days before it are of the last year, and of a leap year's February.
fn now() -> Timestamp {
    time("2024-03-02T10:30:00Z")
}

fn entry(stream: &Stream, id: EntryId, message: &str) -> Entry {
    let attributes = Attributes::new([("kind".to_owned(), "test".to_owned())].into()).unwrap();
    Entry { stream: stream.clone(), id, message: Message::new(message).unwrap(), attributes }
}

fn journal(db: &Database, shards: u8, retention: &str) -> Journal {
    let shards = JournalShards::new(shards).unwrap();
    Journal::new(db.client.clone(), Database::JOURNAL, shards, retention.parse().unwrap())
}

fn reader(db: &Database, retention: &str) -> JournalReader {
    JournalReader::new(db.client.clone(), Database::JOURNAL, retention.parse().unwrap())
}

/// Everything of a range, in pages of one size.
async fn read_all(db: &Database, stream: &Stream, range: TimeRange, limit: u16) -> Vec<Entry> {
    let reader = reader(db, "default=0");
    let (mut read, mut after) = (Vec::new(), None);
    loop {
        let page = reader.page(stream, range, limit, after, now()).await.unwrap();
        assert!(page.items.len() <= usize::from(limit));
        read.extend(page.items);
        assert!(page.next.is_none() || page.next != after, "a page leads to itself");
        after = page.next;
        if after.is_none() {
            return read;
        }
    }
}

/// One thing that happens to a journal.
#[derive(Debug, Clone)]
enum Step {
    /// An entry, so many days ago, in that millisecond of the day.
    Append { days_ago: i64, millisecond: i64 },
    /// The same entry as some earlier one is told again.
    Repeat { index: usize },
    /// The number of shards is raised.
    Grow { by: u8 },
    /// All of a day's entries are gone, as after their time to live.
    Sweep { days_ago: i64 },
    /// Somebody reads a page: the next one, if the last one had a cursor.
    Read { limit: u16 },
}

fn step(days: Range<i64>) -> impl Strategy<Value = Step> {
    // Midnight and the last millisecond of a day more often than chance would have them; one millisecond for many.
    let millisecond = prop_oneof![Just(0), Just(DAY_MS - 1), Just(DAY_MS / 2), 0..DAY_MS];
    prop_oneof![
        12 => (days.clone(), millisecond).prop_map(|(days_ago, millisecond)| Step::Append { days_ago, millisecond }),
        2 => any::<usize>().prop_map(|index| Step::Repeat { index }),
        1 => (1..5_u8).prop_map(|by| Step::Grow { by }),
        1 => days.prop_map(|days_ago| Step::Sweep { days_ago }),
        4 => (1..9_u16).prop_map(|limit| Step::Read { limit }),
    ]
}

/// The journal, and beside it the vector that it has to agree with.
struct History<'a> {
    db: &'a Database,
    stream: Stream,
    shards: u8,
    journal: Journal,
    /// In no order.
    stored: Vec<Entry>,
    after: Option<JournalPosition>,
    read: Vec<EntryId>,
}

impl History<'_> {
    fn expected(&self, is_in: impl Fn(&Entry) -> bool) -> Vec<Entry> {
        let mut expected: Vec<_> = self.stored.iter().filter(|entry| is_in(entry)).cloned().collect();
        expected.sort_by_key(|entry| std::cmp::Reverse(entry.id));
        expected
    }

    async fn take(&mut self, number: usize, step: Step) {
        match step {
            Step::Append { days_ago, millisecond } => {
                let at = midnight(days_ago) + SignedDuration::from_millis(millisecond);
                let entry = entry(&self.stream, EntryId::derived(at, &number.to_string()), &format!("entry {number}"));
                assert_eq!(self.journal.append(&entry, now()).await.unwrap(), Appended::New);
                self.stored.push(entry);
            }
            Step::Repeat { index } if !self.stored.is_empty() => {
                let known = &self.stored[index % self.stored.len()];
                assert_eq!(self.journal.append(known, now()).await.unwrap(), Appended::Known);
                let other = entry(&self.stream, known.id, "another one");
                assert_eq!(self.journal.append(&other, now()).await.unwrap(), Appended::Different);
            }
            Step::Repeat { .. } => {}
            Step::Grow { by } => {
                self.shards += by;
                self.journal = journal(self.db, self.shards, "default=0");
            }
            Step::Sweep { days_ago } => {
                let day = EntryId::first_from(midnight(days_ago)).day();
                sweep(self.db, &self.stream, &day.to_string(), self.shards).await;
                self.stored.retain(|entry| entry.id.day() != day);
            }
            Step::Read { limit } => {
                let reader = reader(self.db, "default=0");
                let before = self.after;
                let page = reader.page(&self.stream, TimeRange::default(), limit, before, now()).await.unwrap();
                let position = |at: JournalPosition| String::from(at).parse::<EntryId>().unwrap();
                // All that lies between the old position and the new one, as the table is now, and nothing else.
                let is_in = |entry: &Entry| {
                    before.is_none_or(|before| entry.id < position(before))
                        && page.next.is_none_or(|next| entry.id >= position(next))
                };
                assert_eq!(page.items, self.expected(is_in), "{before:?} to {:?}", page.next);
                assert!(page.items.len() <= usize::from(limit));
                self.read.extend(page.items.iter().map(|entry| entry.id));
                assert!(self.read.is_sorted_by(|a, b| a > b), "out of order, or twice: {:?}", self.read);
                self.after = page.next;
                if self.after.is_none() {
                    self.read.clear();
                }
            }
        }
    }
}

fn midnight(days_ago: i64) -> Timestamp {
    time("2024-03-02T00:00:00Z") - SignedDuration::from_millis(days_ago * DAY_MS)
}

async fn sweep(db: &Database, stream: &Stream, day: &str, shards: u8) {
    for shard in 0..shards {
        let partition = AttributeValue::S(format!("FEED#{stream}#{day}#{shard}"));
        let query = db.client.query().table_name(Database::JOURNAL).key_condition_expression("PK = :pk");
        let found = query.expression_attribute_values(":pk", partition.clone()).send().await.unwrap();
        for item in found.items() {
            let request = db.client.delete_item().table_name(Database::JOURNAL).key("PK", partition.clone());
            request.key("SK", item["SK"].clone()).send().await.unwrap();
        }
    }
}

#[test]
fn a_reader_gets_what_a_sorted_vector_has_whatever_happens_between_its_pages() {
    let runtime = Runtime::new().unwrap();
    let db = runtime.block_on(Database::start()).unwrap();
    let mut runner = TestRunner::new(Config { cases: 16, ..Config::default() });
    let histories_begun = Cell::new(0);
    let histories = (prop::collection::vec(step(0..65), 1..100), 1..4_u8, 0..70_i64, 0..70_i64);
    let outcome = runner.run(&histories, |(steps, shards, from, to)| {
        histories_begun.set(histories_begun.get() + 1);
        let stream = Stream::new(&format!("history-{}", histories_begun.get())).unwrap();
        runtime.block_on(async {
            let journal = journal(&db, shards, "default=0");
            let mut history =
                History { db: &db, stream, shards, journal, stored: Vec::new(), after: None, read: Vec::new() };
            for (number, step) in steps.into_iter().enumerate() {
                history.take(number, step).await;
            }
            for limit in [1, 3, 7, 50] {
                let read = read_all(&db, &history.stream, TimeRange::default(), limit).await;
                assert_eq!(read, history.expected(|_| true), "limit {limit}");
            }
            let bound = |days_ago| Moment::new(midnight(days_ago)).unwrap();
            if let Ok(range) = TimeRange::new(Some(bound(from)), Some(bound(to))) {
                let read = read_all(&db, &history.stream, range, 5).await;
                let is_in = |entry: &Entry| range.contains(Moment::new(entry.id.at()).unwrap());
                assert_eq!(read, history.expected(is_in), "{range:?}");
            }
        });
        Ok(())
    });
    outcome.unwrap();
}

#[tokio::test]
async fn a_day_that_grows_from_one_shard_to_twenty_is_read_in_order_on_pages_of_every_size() {
    let db = Database::start().await.unwrap();
    let stream = Stream::new("grown").unwrap();
    let mut expected = Vec::new();
    for (shards, numbers) in [(1, 0..60), (20, 60..80)] {
        let journal = journal(&db, shards, "default=0");
        for number in numbers {
            // Twenty in each millisecond.
            let at = now() + SignedDuration::from_millis(number / 20);
            let entry = entry(&stream, EntryId::derived(at, &number.to_string()), &format!("entry {number}"));
            assert_eq!(journal.append(&entry, now()).await.unwrap(), Appended::New);
            expected.push(entry);
        }
    }
    expected.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    for limit in [1, 2, 7, 19, 20, 21, 79, 80, 81] {
        assert_eq!(read_all(&db, &stream, TimeRange::default(), limit).await, expected, "limit {limit}");
    }
}

#[tokio::test]
async fn an_entry_that_two_instances_store_while_shards_are_raised_is_shown_once() {
    let db = Database::start().await.unwrap();
    let stream = Stream::new("raised").unwrap();
    let (old, new) = (journal(&db, 1, "default=0"), journal(&db, 9, "default=0"));
    let mut expected = Vec::new();
    for number in 0..40 {
        let entry = entry(&stream, EntryId::derived(now(), &number.to_string()), &format!("entry {number}"));
        // The old instance has opened the day before it grows, and does not look again.
        if number == 0 {
            assert_eq!(old.append(&entry, now()).await.unwrap(), Appended::New);
        }
        new.append(&entry, now()).await.unwrap();
        old.append(&entry, now()).await.unwrap();
        expected.push(entry);
    }
    let items = db.client.scan().table_name(Database::JOURNAL).send().await.unwrap().count();
    assert!(items > 41, "nothing was stored twice, so nothing is shown");
    expected.sort_by_key(|entry| std::cmp::Reverse(entry.id));
    for limit in [1, 3, 40, 100] {
        assert_eq!(read_all(&db, &stream, TimeRange::default(), limit).await, expected, "limit {limit}");
    }
}

#[tokio::test]
async fn days_with_nothing_in_them_end_a_page_early_and_the_next_one_goes_on() {
    let db = Database::start().await.unwrap();
    let stream = Stream::new("empty").unwrap();
    let journal = journal(&db, 4, "default=0");
    let of_day = |days_ago| {
        let id = EntryId::derived(midnight(days_ago), &days_ago.to_string());
        entry(&stream, id, &format!("{days_ago} days ago"))
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
    let reader = reader(&db, "default=0");
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

#[tokio::test]
async fn what_a_stream_does_not_keep_is_neither_stored_nor_shown() {
    let db = Database::start().await.unwrap();
    let (kept, others) = (Stream::suite(), Stream::new("others").unwrap());
    let retention = "suite=10,default=1";
    let journal = journal(&db, 4, retention);
    let at = |stream: &Stream, ago: SignedDuration| entry(stream, EntryId::derived(now() - ago, "x"), "x");
    let day = SignedDuration::from_hours(24);
    let a_little = SignedDuration::from_millis(1);
    for (stream, ago, outcome) in [
        (&kept, day * 10, Appended::New),
        (&kept, day * 10 + a_little, Appended::Expired),
        (&others, day, Appended::New),
        (&others, day + a_little, Appended::Expired),
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

    let reader = reader(&db, retention);
    let shown = async |stream: &Stream, now: Timestamp| {
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
async fn a_backfill_behind_an_open_cursor_is_shown_and_one_before_it_is_not() {
    let db = Database::start().await.unwrap();
    let stream = Stream::new("backfilled").unwrap();
    let (journal, reader) = (journal(&db, 4, "default=0"), reader(&db, "default=0"));
    let append = async |days_ago, name: &str| {
        let entry = entry(&stream, EntryId::derived(midnight(days_ago), name), name);
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
    assert_eq!(read_all(&db, &stream, TimeRange::default(), 10).await.len(), 5);
}

#[tokio::test]
async fn streams_do_not_see_each_other_even_when_one_is_named_like_the_others_beginning() {
    let db = Database::start().await.unwrap();
    let journal = journal(&db, 2, "default=0");
    let streams = ["a", "a-b", "a-2024-03-02"].map(|name| Stream::new(name).unwrap());
    for stream in &streams {
        journal.append(&entry(stream, EntryId::derived(now(), "x"), stream.as_str()), now()).await.unwrap();
    }
    for stream in &streams {
        let read = read_all(&db, stream, TimeRange::default(), 10).await;
        assert_eq!(read.iter().map(|entry| entry.message.as_str()).collect::<Vec<_>>(), [stream.as_str()]);
    }
}
