//! Random histories of a journal on a real engine, against a sorted vector: what a reader gets,
//! whatever happens between its pages.

use std::cell::Cell;
use std::ops::Range;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::EntryId;
use domain::journal::{Entry, JournalStream};
use domain::{Moment, TimeRange};
use jiff::SignedDuration;
use journal_store::{AppendOutcome, Journal, JournalPosition};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tests::Database;
use tests::journal::{entry, journal, midnight, now, read_all, reader};
use tokio::runtime::Runtime;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

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
    // Midnight and the last millisecond of a day more often than chance would have them; one
    // millisecond for many.
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
    stream: JournalStream,
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
                let entry =
                    entry(&self.stream, EntryId::derived(at, &number.to_string()), &format!("entry {number}")).unwrap();
                assert_eq!(self.journal.append(&entry, now()).await.unwrap(), AppendOutcome::New);
                self.stored.push(entry);
            }
            Step::Repeat { index } if !self.stored.is_empty() => {
                let known = &self.stored[index % self.stored.len()];
                assert_eq!(self.journal.append(known, now()).await.unwrap(), AppendOutcome::Known);
                let other = entry(&self.stream, known.id, "another one").unwrap();
                assert_eq!(self.journal.append(&other, now()).await.unwrap(), AppendOutcome::Different);
            }
            Step::Repeat { .. } => {}
            Step::Grow { by } => {
                self.shards += by;
                self.journal = journal(&self.db.client, self.shards, "default=0");
            }
            Step::Sweep { days_ago } => {
                let day = EntryId::first_from(midnight(days_ago)).day();
                sweep(self.db, &self.stream, &day.to_string(), self.shards).await;
                self.stored.retain(|entry| entry.id.day() != day);
            }
            Step::Read { limit } => {
                let reader = reader(&self.db.client, "default=0");
                let before = self.after;
                let page = reader.page(&self.stream, TimeRange::default(), limit, before, now()).await.unwrap();
                let position = |at: JournalPosition| String::from(at).parse::<EntryId>().unwrap();
                // All that lies between the old position and the new one, as the table is now, and
                // nothing else.
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

async fn sweep(db: &Database, stream: &JournalStream, day: &str, shards: u8) {
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
fn journal_reader_matches_a_sorted_vector_in_any_history() {
    let runtime = Runtime::new().unwrap();
    let db = runtime.block_on(Database::start()).unwrap();
    let mut runner = TestRunner::new(Config { cases: tests::load(3, 12), ..Config::default() });
    let histories_begun = Cell::new(0);
    let histories = (prop::collection::vec(step(0..65), 1..100), 1..4_u8, 0..70_i64, 0..70_i64);
    let outcome = runner.run(&histories, |(steps, shards, from, to)| {
        histories_begun.set(histories_begun.get() + 1);
        let stream = JournalStream::new(&format!("history-{}", histories_begun.get())).unwrap();
        runtime.block_on(async {
            let journal = journal(&db.client, shards, "default=0");
            let mut history =
                History { db: &db, stream, shards, journal, stored: Vec::new(), after: None, read: Vec::new() };
            for (number, step) in steps.into_iter().enumerate() {
                history.take(number, step).await;
            }
            for limit in [1, 7, 50] {
                let read = read_all(&db.client, &history.stream, TimeRange::default(), limit).await.unwrap();
                assert_eq!(read, history.expected(|_| true), "limit {limit}");
            }
            let bound = |days_ago| Moment::new(midnight(days_ago)).unwrap();
            if let Ok(range) = TimeRange::new(Some(bound(from)), Some(bound(to))) {
                let read = read_all(&db.client, &history.stream, range, 5).await.unwrap();
                let is_in = |entry: &Entry| range.contains(Moment::new(entry.id.at()).unwrap());
                assert_eq!(read, history.expected(is_in), "{range:?}");
            }
        });
        Ok(())
    });
    outcome.unwrap();
}
