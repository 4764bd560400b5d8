//! Compares random histories of clicks on several shards with a plain recount. The histories have
//! crashes, replays and changing batch boundaries.
//!
//! The store is a model of three maps. The test is about the rule of first-seen records and
//! checkpoints itself. Two weakened rules prove that the histories can catch a wrong rule.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::civil::{Date, date};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use tidemark_domain::calendar::YearMonth;
use tidemark_domain::clicks::{
    Chunk, FirstSeen, SequenceNumber, ShardHash, StatDelta, StreamClick, Sums, VisitFirstSeen, chunks,
};

#[derive(Debug, Clone)]
struct Record {
    user: String,
    date: Date,
    count: u32,
}

/// The course of one delivery of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Counted,
    /// The function crashes after it has written the first-seen records of its first chunk.
    CrashedAfterFirstSeen,
    /// The function crashes after its first transaction. The batch may need more.
    CrashedAfterCommit,
    /// The batch begins some records before the first uncounted one.
    Replayed {
        back: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    Real,
    /// A first-seen record is recognised by its shard alone, even if its visitor was counted long
    /// ago.
    ShardAlone,
    /// The checkpoint moves before the sums instead of with them.
    CheckpointFirst,
}

#[derive(Default)]
struct World {
    first_seen: HashMap<(String, String), FirstSeen>,
    checkpoints: HashMap<[u8; 8], SequenceNumber>,
    stats: StatDelta,
}

fn number(index: usize) -> SequenceNumber {
    (index + 1).to_string().parse().expect("digits")
}

impl World {
    fn record_first_seen(&mut self, shard_hash: ShardHash, chunk: &Chunk<'_>) -> Vec<VisitFirstSeen> {
        let visits = chunk.visits.iter().map(|visit| {
            let mut record = |period: String, sequence_number| {
                let first_seen = FirstSeen { shard: shard_hash, sequence_number };
                Some(*self.first_seen.entry((visit.user_id.to_owned(), period)).or_insert(first_seen))
            };
            VisitFirstSeen {
                month: record(visit.month.to_string(), visit.first),
                days: visit.days.iter().map(|(day, first)| record(day.to_string(), *first)).collect(),
            }
        });
        visits.collect()
    }

    fn deliver(&mut self, rule: Rule, shard_hash: ShardHash, shard: &[Record], from: usize, to: usize, fate: Fate) {
        let start = self.checkpoints.get(&shard_hash.0).copied();
        let clicks = shard[from..to].iter().zip(from..).map(|(record, index)| StreamClick {
            sequence_number: number(index),
            user_id: &record.user,
            date: record.date,
            count: record.count,
        });
        let clicks: Vec<_> =
            clicks.filter(|click| start.is_none_or(|checkpoint| click.sequence_number > checkpoint)).collect();
        if clicks.is_empty() {
            return;
        }
        for chunk in chunks(clicks, number(to - 1)) {
            let checkpoint = self.checkpoints.get(&shard_hash.0).copied();
            if rule == Rule::CheckpointFirst {
                self.checkpoints.insert(shard_hash.0, chunk.through);
            }
            let visits_first_seen = self.record_first_seen(shard_hash, &chunk);
            if fate == Fate::CrashedAfterFirstSeen {
                return;
            }
            let seen = if rule == Rule::ShardAlone { None } else { checkpoint };
            add(&mut self.stats, chunk.delta(shard_hash, seen, &visits_first_seen));
            self.checkpoints.insert(shard_hash.0, chunk.through);
            if fate == Fate::CrashedAfterCommit {
                return;
            }
        }
    }
}

fn add(stats: &mut StatDelta, delta: StatDelta) {
    fn plus<K: Ord>(sums: &mut BTreeMap<K, Sums>, more: BTreeMap<K, Sums>) {
        for (key, more) in more {
            let sums = sums.entry(key).or_default();
            sums.clicks += more.clicks;
            sums.unique_users += more.unique_users;
        }
    }
    stats.total_clicks += delta.total_clicks;
    plus(&mut stats.days, delta.days);
    plus(&mut stats.months, delta.months);
}

fn recount(shards: &[Vec<Record>]) -> StatDelta {
    let mut stats = StatDelta::default();
    let mut days: BTreeMap<Date, BTreeSet<&str>> = BTreeMap::new();
    let mut months: BTreeMap<YearMonth, BTreeSet<&str>> = BTreeMap::new();
    for Record { user, date, count } in shards.iter().flatten() {
        let count = u64::from(*count);
        stats.total_clicks += count;
        stats.days.entry(*date).or_default().clicks += count;
        stats.months.entry(YearMonth::of(*date)).or_default().clicks += count;
        days.entry(*date).or_default().insert(user);
        months.entry(YearMonth::of(*date)).or_default().insert(user);
    }
    for (day, users) in days {
        stats.days.entry(day).or_default().unique_users = users.len() as u64;
    }
    for (month, users) in months {
        stats.months.entry(month).or_default().unique_users = users.len() as u64;
    }
    stats
}

/// Runs a history to its end. An uncounted batch is delivered again until it is counted, as AWS
/// does it.
fn run(rule: Rule, shards: &[Vec<Record>], steps: &[(usize, usize, Fate)]) -> StatDelta {
    let mut world = World::default();
    let mut next = vec![0usize; shards.len()];
    let settle = shards.iter().enumerate().map(|(index, shard)| (index, shard.len(), Fate::Counted));
    for (index, size, fate) in steps.iter().copied().chain(settle) {
        let index = index % shards.len();
        let shard = &shards[index];
        let back = if let Fate::Replayed { back } = fate { back } else { 0 };
        let from = next[index].saturating_sub(back);
        let to = (next[index] + size).min(shard.len());
        if from < to {
            world.deliver(rule, ShardHash([index as u8; 8]), shard, from, to, fate);
            if matches!(fate, Fate::Counted | Fate::Replayed { .. }) {
                next[index] = to;
            }
        }
    }
    world.stats
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    // The days cross months and a year. There are few users, so each of them is on several shards.
    let record = (0..6u8, 0..130i32, 1..4u32).prop_map(|(user, day, count)| Record {
        user: format!("user-{user}"),
        date: date(2025, 12, 1).checked_add(jiff::Span::new().days(day)).expect("a date"),
        count,
    });
    proptest::collection::vec(record, 1..250)
}

fn steps() -> impl Strategy<Value = Vec<(usize, usize, Fate)>> {
    let fate = prop_oneof![
        3 => Just(Fate::Counted),
        1 => Just(Fate::CrashedAfterFirstSeen),
        1 => Just(Fate::CrashedAfterCommit),
        2 => (0..40usize).prop_map(|back| Fate::Replayed { back }),
    ];
    proptest::collection::vec((0..3usize, 1..150usize, fate), 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]
    #[test]
    fn any_history_of_batches_gives_the_sums_of_a_recount(
        shards in proptest::collection::vec(records(), 1..4),
        steps in steps(),
    ) {
        prop_assert_eq!(run(Rule::Real, &shards, &steps), recount(&shards));
    }
}

/// The number of random histories, of a hundred, in which a rule gives wrong sums.
fn wrong(rule: Rule) -> usize {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let histories = (proptest::collection::vec(records(), 2..4), steps());
    let mut wrong = 0;
    for _ in 0..100 {
        let (shards, steps) = histories.new_tree(&mut runner).expect("a history").current();
        wrong += usize::from(run(rule, &shards, &steps) != recount(&shards));
    }
    wrong
}

#[test]
fn weakened_rules_are_caught() {
    assert_eq!(wrong(Rule::Real), 0);
    let (shard_alone, checkpoint_first) = (wrong(Rule::ShardAlone), wrong(Rule::CheckpointFirst));
    assert!(shard_alone > 80 && checkpoint_first > 30, "caught {shard_alone} and {checkpoint_first} of 100");
}
