//! The shop, the issue tracker and the chat move through all phases while programs and the library
//! change their rows, and while the tool is killed. At each step the table has the items that the
//! oracle in SQL expects of the present rows, and PostgreSQL has what was answered.
//!
//! `SEED` and `ONE_OF` (of how many rows one is kept) change a run that is made by hand:
//! `ONE_OF=1 SEED=7 cargo test ... -- foreign_cutover:: --nocapture`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;
use migration_tests::foreign::Source;
use migration_tests::foreign_traffic::{Column, Told, Traffic};
use migration_tests::{Migration, Postgres};
use tidemark_migrate::cutover::Writer;
use tidemark_migrate::mapping::Mapping;
use tokio_postgres::Client;

use super::cutover::{assert_untouched, compared, killed, program, run_for};
use super::foreign::{assert_expected, stored};

mod rows;

/// What changes in a source.
struct Live {
    source: Source,
    /// Keeps one of `ONE_OF` rows.
    thin: &'static str,
    /// Changes by programs that know nothing of the migration. `ROUND` counts the calls.
    changes: &'static [&'static str],
    /// What the traffic writes.
    columns: &'static [Column],
    /// Rows with rows of other owners below them, which the library deletes: the table, and an
    /// expression for such a row's JSON.
    parents: &'static [(&'static str, &'static str)],
}

fn parameter(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

impl Live {
    /// Fills a database, and keeps one of so many rows.
    async fn fill(&self, client: &Client, seed: u64, one_of: u64) {
        self.source.fill(client, seed).await.unwrap();
        if one_of > 1 {
            let thin = self.thin.replace("ONE_OF", &one_of.to_string());
            // Without the foreign keys, most of which have no index.
            let thin =
                format!("SET session_replication_role = replica; {thin}; SET session_replication_role = DEFAULT");
            client.batch_execute(&thin).await.unwrap();
        }
    }

    async fn change(&self, client: &Client, round: u32) {
        for sql in self.changes {
            client.batch_execute(&sql.replace("ROUND", &round.to_string())).await.unwrap();
        }
    }
}

/// A source in a run, with what its programs were told.
struct Moving {
    live: &'static Live,
    migration: Migration,
    client: Client,
    mapping: Arc<Mapping>,
    random: Rng,
    told: Told,
    kills: u32,
    seed: u64,
    start: Instant,
}

impl Moving {
    async fn new(live: &'static Live) -> Self {
        let (seed, one_of) = (parameter("SEED", 1), parameter("ONE_OF", 50));
        let start = Instant::now();
        let mut postgres = Postgres::start().await.unwrap();
        let client = postgres.client().await.unwrap();
        live.fill(&client, seed, one_of).await;
        live.source.expect(&client).await.unwrap();
        let migration = Migration::of_postgres(postgres, live.source.mapping).await.unwrap();
        let mapping = Arc::new(Mapping::read(live.source.mapping, &[]).unwrap());
        let random = Rng::with_seed(seed);
        Self { live, migration, client, mapping, random, told: Told::default(), kills: 0, seed, start }
    }

    async fn killed(&mut self, phase: &str, flags: &[&str]) {
        self.kills += killed(&self.migration, &mut self.random, phase, flags).await;
    }

    /// Starts the programs, which write while the tool takes a step and is killed.
    async fn under_traffic(&mut self, phase: &str, flags: &[&str]) {
        let mut sides = Vec::new();
        let mut clients = Vec::new();
        for _ in 0..Traffic::writers() {
            sides.push(self.migration.sides().await.unwrap());
            clients.push(self.migration.postgres.client().await.unwrap());
        }
        self.seed += 1;
        let told = std::mem::take(&mut self.told);
        let before = Told::default().after(&told);
        let mut traffic = Traffic::start(self.seed, told, sides, clients, &self.mapping);
        traffic.more(40).await.unwrap();
        self.killed(phase, flags).await;
        traffic.more(40).await.unwrap();
        self.told = traffic.stop().await.unwrap().after(&before);
    }

    async fn cutover(&mut self, to: &str) {
        self.under_traffic("cutover", &["--to", to]).await;
        self.compare(to).await;
    }

    /// Goes back, and leaves nothing but the rows.
    async fn roll_back(&mut self) {
        self.under_traffic("rollback", &[]).await;
        self.told.verify(&self.client).await.unwrap();
        assert_untouched(&self.client).await;
        let left: Vec<_> = self.migration.items().await.unwrap().into_keys().collect();
        assert_eq!(left, []);
        std::fs::remove_dir_all(self.migration.path("")).unwrap();
    }

    /// Without traffic both sides are equal, and as expected.
    async fn compare(&mut self, to: &str) {
        compared(&self.migration, to).await;
        assert_expected(self.live.source, &self.client, &stored(&self.migration).await).await;
        self.told.verify(&self.client).await.unwrap();
        println!("{} {to}: {:?}, {} kills, {}", self.live.source.name, self.start.elapsed(), self.kills, self.told);
    }

    /// Up to a loaded table, while programs change rows.
    async fn load(&mut self) {
        self.killed("cutover", &["--to", "capture"]).await;
        self.live.change(&self.client, 0).await;
        self.killed("export", &[]).await;
        self.live.change(&self.client, 1).await;
        self.killed("transform", &[]).await;
        self.killed("load", &[]).await;
        self.killed("check", &["--strict"]).await;
        self.live.change(&self.client, 2).await;
        self.choose().await;
    }

    /// Chooses the rows that the traffic writes, of those that are there now.
    async fn choose(&mut self) {
        let told = Told::choose(&self.client, self.live.columns, &self.mapping, 12).await.unwrap();
        self.told = told.after(&self.told);
    }

    /// The library deletes rows that have rows of other owners below them.
    async fn delete_parents(&mut self, to: &str) {
        let writer = Writer::new(self.migration.sides().await.unwrap());
        for (table, row) in self.live.parents {
            let row = self.client.query_one(&format!("SELECT ({row})::text"), &[]).await.unwrap();
            // A small part of the rows may have no such row left.
            let Some(row) = row.get::<_, Option<&str>>(0) else { continue };
            let row = self.mapping.row(table, row).unwrap();
            writer.delete(&row).await.unwrap_or_else(|error| panic!("{table} {row:?}: {error:?}"));
        }
        // Rows of the traffic may be gone with them.
        self.told = Told::default().after(&self.told);
        self.compare(to).await;
        self.choose().await;
    }

    /// Everything up to 100 % and back, and then to the end.
    async fn everywhere(mut self, last: &str) {
        self.load().await;
        for to in ["dual", "30%", "100%"] {
            self.cutover(to).await;
        }
        self.delete_parents("100%").await;
        self.cutover("40%").await;
        self.delete_parents("40%").await;
        if last == "finished" {
            for to in ["100%", "finished"] {
                self.killed("cutover", &["--to", to]).await;
            }
            assert_expected(self.live.source, &self.client, &stored(&self.migration).await).await;
            self.told.verify(&self.client).await.unwrap();
        } else {
            self.roll_back().await;
        }
        assert!(self.kills > 10, "{} kills", self.kills);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changing_shop_moves_and_returns_while_the_tool_is_killed() {
    Moving::new(&rows::SHOP).await.everywhere("rollback").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changing_tracker_moves_for_good_while_the_tool_is_killed() {
    Moving::new(&rows::TRACKER).await.everywhere("finished").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changing_chat_moves_and_returns_while_the_tool_is_killed() {
    Moving::new(&rows::CHAT).await.everywhere("rollback").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_step_can_be_rolled_back_while_programs_write() {
    let mut moving = Moving::new(&rows::SHOP).await;
    let before = ["export", "transform", "load", "check"];
    for steps in (1..=before.len()).map(|last| &before[..last]) {
        for phase in steps {
            moving.migration.phase(phase, &[]).await.unwrap();
        }
        assert_eq!(stored(&moving.migration).await.is_empty(), steps.len() < 3, "{steps:?}");
        moving.choose().await;
        moving.roll_back().await;
    }
    for steps in [&[][..], &["dual"], &["dual", "1%"], &["dual", "50%", "100%"]] {
        moving.migration.captured_and_loaded().await.unwrap();
        moving.choose().await;
        for to in steps {
            moving.under_traffic("cutover", &["--to", to]).await;
        }
        if !steps.is_empty() {
            // Interrupted in the middle of moves.
            let (program, arguments) = program(&moving.migration, "cutover", &["--to", "80%"]);
            let patience = Duration::from_millis(moving.random.u64(20..120));
            run_for(program, &arguments, patience).await;
        }
        moving.roll_back().await;
    }
}
