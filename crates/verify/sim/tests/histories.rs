//! Some histories on every test run, and the proof that they would show a wrong count. `make sim`
//! plays more.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use engine::{Engine, Options};
use tidemark_sim::{Database, Embedded, Fault, HistoryOutcome, Implementation, Layout, Tally, play};

/// Plays the histories of some seeds on two threads.
fn play_all(implementation: Implementation, layout: Layout, seeds: std::ops::Range<u64>) -> Vec<HistoryOutcome> {
    let half = |seeds: Vec<u64>| {
        let play = |seed| play(seed, implementation, layout, Box::new(Embedded::new().unwrap()), false).unwrap();
        move || seeds.into_iter().map(play).collect::<Vec<_>>()
    };
    let (odd, even) = seeds.partition::<Vec<_>, _>(|seed| seed % 2 == 1);
    thread::scope(|scope| {
        let odd = scope.spawn(half(odd));
        let mut outcomes = half(even)();
        outcomes.extend(odd.join().unwrap());
        outcomes
    })
}

/// How many of the histories an implementation gets wrong. Where nothing went wrong on the way it
/// has to be right: then it is the faults that it cannot stand, and not the simulation that is
/// unfair to it.
fn caught(implementation: Implementation) -> usize {
    caught_in(implementation, Layout::Sums)
}

fn caught_in(implementation: Implementation, layout: Layout) -> usize {
    let outcomes = play_all(implementation, layout, 1..17);
    for calm in outcomes.iter().filter(|outcome| outcome.faults.total() == 0) {
        assert_eq!(calm.miscounts, [""; 0], "seed {}", calm.seed);
    }
    outcomes.iter().filter(|outcome| !outcome.miscounts.is_empty()).count()
}

#[test]
fn the_statistics_are_exact_in_every_history() {
    let mut faults = Tally::default();
    let mut calm = 0;
    for outcome in play_all(Implementation::Tidemark, Layout::Sums, 1..301) {
        assert!(outcome.miscounts.is_empty(), "make sim SEED={}: {:#?}", outcome.seed, outcome.miscounts);
        faults.add(&outcome.faults);
        calm += usize::from(outcome.faults.total() == 0);
    }
    // A batch that is counted in part takes an outage at the right moment: a few in a thousand
    // histories.
    for fault in Fault::ALL.iter().filter(|fault| ![Fault::PartialFailure, Fault::Timeout].contains(fault)) {
        assert!(faults.of(*fault) > 0, "{fault:?} never struck");
    }
    assert_eq!(faults.of(Fault::Timeout), 0, "the function is to answer before Lambda ends it");
    assert!(calm > 0, "every history had faults");
}

#[test]
fn the_statistics_are_exact_in_every_history_with_buffered_sums() {
    let (mut faults, mut merges) = (Tally::default(), 0);
    for outcome in play_all(Implementation::Tidemark, Layout::Buffers, 1..41) {
        assert!(
            outcome.miscounts.is_empty(),
            "make sim LAYOUT=buffers SEED={}: {:#?}",
            outcome.seed,
            outcome.miscounts
        );
        faults.add(&outcome.faults);
        merges += outcome.merges;
    }
    assert!(merges > 60 && faults.of(Fault::Repair) > 0 && faults.of(Fault::Split) > 0, "{merges} merges, {faults}");
}

#[test]
fn a_merger_that_adds_and_removes_in_two_requests_is_caught() {
    assert!(caught_in(Implementation::MergeInTwoRequests, Layout::Buffers) > 3);
}

#[test]
fn the_usual_handler_is_caught() {
    assert!(caught(Implementation::UsualHandler) > 8);
}

#[test]
fn an_idempotency_record_for_each_stream_record_is_caught() {
    assert!(caught(Implementation::IdempotencyLayer) > 6);
}

#[test]
fn a_first_seen_record_recognised_by_its_shard_alone_is_caught() {
    assert!(caught(Implementation::ShardAlone) > 6);
}

#[test]
fn a_cache_that_skips_own_uncounted_first_seen_records_is_caught() {
    assert!(caught(Implementation::SkippingCache) > 3);
}

#[test]
fn a_checkpoint_outside_of_the_transaction_is_caught() {
    assert!(caught(Implementation::CheckpointOutsideTransaction) > 3);
}

#[test]
fn an_unconditional_repair_is_caught() {
    // Two repairs seldom meet since a recount takes but a few requests: 11 of 128 histories.
    let outcomes = play_all(Implementation::UnconditionalRepair, Layout::Sums, 1..33);
    assert!(outcomes.iter().filter(|outcome| !outcome.miscounts.is_empty()).count() > 1);
}

#[test]
fn a_repair_without_first_seen_records_is_caught() {
    assert!(caught(Implementation::RepairWithoutFirstSeen) > 0);
}

#[test]
fn a_redrive_that_is_not_idempotent_is_caught() {
    assert!(caught(Implementation::NonIdempotentRedrive) > 1);
}

#[test]
fn the_steps_that_are_weakened_are_right_without_the_weakness() {
    assert_eq!(caught(Implementation::Unweakened), 0);
}

/// What happened, without the bodies of requests, which say the same in any order.
fn without_bodies(mut outcome: HistoryOutcome) -> HistoryOutcome {
    for line in &mut outcome.trace {
        line.truncate(line.find('{').unwrap_or(line.len()));
    }
    outcome
}

fn trace(seed: u64, database: Box<dyn Database>) -> HistoryOutcome {
    without_bodies(play(seed, Implementation::Tidemark, Layout::Buffers, database, true).unwrap())
}

/// Shows where two histories part, and not all of both.
fn assert_same(one: &HistoryOutcome, other: &HistoryOutcome) {
    assert!(!one.trace.is_empty());
    let parting = one.trace.iter().zip(&other.trace).find(|(one, other)| one != other);
    assert_eq!(parting, None, "seed {}", one.seed);
    assert!(one == other, "seed {}", one.seed);
}

#[test]
fn a_seed_always_gives_the_same_history() {
    for seed in 1..4 {
        let (first, second) =
            (trace(seed, Box::new(Embedded::new().unwrap())), trace(seed, Box::new(Embedded::new().unwrap())));
        assert_same(&first, &second);
    }
}

/// The whole engine, over HTTP, from a thread of its own: to the history, a request takes no
/// virtual time.
struct Served {
    requests: Sender<(String, Vec<u8>)>,
    replies: Receiver<(u16, Vec<u8>)>,
}

impl Served {
    fn start() -> Self {
        let (requests, to_do) = channel::<(String, Vec<u8>)>();
        let (done, replies) = channel();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
            let engine = runtime.block_on(Engine::start(Options::default())).unwrap();
            let client = reqwest::blocking::Client::new();
            for (operation, body) in to_do {
                let family = match operation.as_str() {
                    "DescribeStream" | "GetShardIterator" | "GetRecords" => "DynamoDBStreams",
                    _ => "DynamoDB",
                };
                let request = client.post(engine.url()).body(body);
                let headers = BTreeMap::from([
                    ("content-type", "application/x-amz-json-1.0".to_owned()),
                    ("x-amz-target", format!("{family}_20120810.{operation}")),
                    ("x-amz-date", "20251002T103000Z".to_owned()),
                    ("authorization", "AWS4-HMAC-SHA256 Credential=local/20251002/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0".to_owned()),
                ]);
                let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
                let reply = request.send().unwrap();
                let status = reply.status().as_u16();
                if done.send((status, reply.bytes().unwrap().to_vec())).is_err() {
                    return;
                }
            }
        });
        Self { requests, replies }
    }
}

impl Database for Served {
    fn answer(&mut self, operation: &str, body: &[u8]) -> (u16, Vec<u8>) {
        self.requests.send((operation.to_owned(), body.to_owned())).unwrap();
        self.replies.recv().unwrap()
    }
}

#[test]
fn the_statistics_are_exact_behind_the_engines_own_server() {
    for (seed, layout) in [(1, Layout::Sums), (2, Layout::Buffers), (3, Layout::Sums), (4, Layout::Buffers)] {
        let outcome = play(seed, Implementation::Tidemark, layout, Box::new(Served::start()), false).unwrap();
        assert!(outcome.clicks > 0 && (outcome.merges > 0) == (layout == Layout::Buffers));
        assert_eq!(outcome.miscounts, [""; 0], "seed {seed}");
    }
}
