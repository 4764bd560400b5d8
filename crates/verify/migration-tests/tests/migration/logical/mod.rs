//! Capture by logical replication: no change is lost or recorded twice, also if commands are killed,
//! and the triggers take over while programs write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fastrand::Rng;
use migration_tests::okusuri_traffic::{Oracle, Traffic};
use migration_tests::{Migration, Postgres};
use tidemark_migrate::{FailureKind, PhaseOutcome};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use super::cutover::{assert_untouched, killed, run_of, sides_of, users};
use super::foreign::{assert_expected, stored};
use super::foreign_cutover::SHOP;

mod owners;
mod rows;
mod slot;

/// The flags that begin such a capture, and that read its slot later.
const CAPTURE: [&str; 4] = ["--to", "capture", "--capture", "logical"];

/// Each table's replica identity, and the numbers of slots and publications.
async fn replication_state(client: &Client) -> String {
    let sql = "SELECT string_agg(relname || ' ' || relreplident::text, ', ' ORDER BY relname)
            || (SELECT '; ' || count(*) FROM pg_replication_slots) || (SELECT '; ' || count(*) FROM pg_publication)
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')";
    client.query_one(sql, &[]).await.unwrap().get(0)
}

/// Waits until a query is true.
async fn until(client: &Client, condition: &str) {
    let wait = async {
        while !client.query_one(&format!("SELECT {condition}"), &[]).await.unwrap().get::<_, bool>(0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), wait).await.unwrap_or_else(|_| panic!("never: {condition}"));
}

/// Programs that know nothing of the migration and write without a pause.
struct Programs {
    stop: Arc<AtomicBool>,
    running: Vec<JoinHandle<u32>>,
}

impl Programs {
    /// Each program has its own random numbers, of which `next` makes a transaction.
    async fn start(postgres: &mut Postgres, seeds: std::ops::Range<u64>, next: fn(&mut Rng) -> String) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let mut running = Vec::new();
        for seed in seeds {
            let client = postgres.client().await.unwrap();
            client.batch_execute("SET application_name = 'program'").await.unwrap();
            let (stop, mut random) = (Arc::clone(&stop), Rng::with_seed(seed));
            running.push(tokio::spawn(async move {
                let mut transactions = 0;
                while !stop.load(Ordering::Relaxed) {
                    // Otherwise the programs would write more than the slowest machine reads.
                    tokio::time::sleep(Duration::from_millis(30)).await;
                    let sql = next(&mut random);
                    match client.batch_execute(&sql).await {
                        Ok(()) => transactions += 1,
                        Err(error) if is_conflict(&error) => {
                            client.batch_execute("ROLLBACK").await.unwrap();
                        }
                        Err(error) => panic!("{sql}: {error:?}"),
                    }
                }
                transactions
            }));
        }
        Self { stop, running }
    }

    /// Stops them; returns the number of transactions.
    async fn stop(self) -> u32 {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = 0;
        for program in self.running {
            all += program.await.unwrap();
        }
        all
    }
}

/// A deadlock of two programs, a row that another program has moved to another partition, or a row that
/// conflicts with another program's.
fn is_conflict(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| ["23", "40"].iter().any(|class| code.code().starts_with(class)))
}

/// Runs a cutover again and again while the server ends its sessions at random moments, until it
/// finishes. Returns how often a session was ended.
async fn interrupted(migration: &Migration, client: &Client, random: &mut Rng, flags: &[&str]) -> u32 {
    let sessions = "FROM pg_stat_activity
        WHERE datname = 'okusuri' AND pid <> pg_backend_pid() AND application_name = ''";
    for kills in 0..200 {
        // The first kills meet the first requests, however slow the machine is.
        let patience = Duration::from_millis(random.u64(0..=u64::from(kills * kills) * 10));
        let kill = async {
            until(client, &format!("EXISTS (SELECT {sessions})")).await;
            tokio::time::sleep(patience).await;
            client.execute(&format!("SELECT pg_terminate_backend(pid) {sessions}"), &[]).await.unwrap();
            std::future::pending().await
        };
        let done = tokio::select! {
            done = migration.phase("cutover", flags) => done,
            never = kill => never,
        };
        // The server may still carry out the last kill, which must not meet the next command.
        client.batch_execute("SELECT").await.unwrap();
        match done {
            Ok(_) => return kills,
            Err(failure) if [FailureKind::SourceGone, FailureKind::SourceUnreachable].contains(&failure.kind) => {}
            Err(failure) => panic!("{flags:?}: {failure}"),
        }
    }
    panic!("{flags:?} never came to an end");
}

/// A transaction that writes a row or two, and may move an order to another customer, or a row to
/// another partition.
fn change_of_a_shop(random: &mut Rng) -> String {
    let (id, number) = (50 * random.u32(1..360), random.u8(..40));
    match random.u8(..7) {
        0 => format!("UPDATE orders SET status = 'paid', note = 'number {number}' WHERE id = {id}"),
        1 => format!("UPDATE order_lines SET quantity = {number} + 1 WHERE order_id = {id}"),
        2 => format!(
            "UPDATE orders SET customer_id = (SELECT id FROM customers ORDER BY id OFFSET {number} LIMIT 1) WHERE id = {id}"
        ),
        3 => format!("DELETE FROM orders WHERE id = {id}"),
        4 => format!("UPDATE products SET price = {number} WHERE id = {id} % 2000"),
        5 => format!(
            "UPDATE stock_movements SET moved_at = moved_at + interval '1 year' WHERE product_id = 50 * {number}"
        ),
        _ => format!(
            "INSERT INTO orders (customer_id, status, placed_at, total) SELECT id, 'placed', now(), 1 FROM customers ORDER BY id LIMIT 1 OFFSET {number}"
        ),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_shop_that_a_slot_captures_has_the_expected_items_after_killed_commands() {
    let mut postgres = Postgres::start().await.unwrap();
    let client = postgres.client().await.unwrap();
    client.batch_execute("SET application_name = 'program'").await.unwrap();
    SHOP.fill(&client, 1, 50).await;
    SHOP.source.expect(&client).await.unwrap();
    let identities = "ALTER TABLE products REPLICA IDENTITY USING INDEX products_sku_key;
        ALTER TABLE reviews REPLICA IDENTITY FULL; ALTER TABLE stock_movements_2024 REPLICA IDENTITY NOTHING";
    client.batch_execute(identities).await.unwrap();
    let before = replication_state(&client).await;
    let mut migration = Migration::of_postgres(postgres, SHOP.source.mapping).await.unwrap();
    let mut random = Rng::with_seed(44);

    let programs = Programs::start(&mut migration.postgres, 0..2, change_of_a_shop).await;
    let mut kills = interrupted(&migration, &client, &mut random, &CAPTURE).await;
    SHOP.change(&client, 0).await;
    migration.phase("export", &[]).await.unwrap();
    SHOP.change(&client, 1).await;
    kills += interrupted(&migration, &client, &mut random, &CAPTURE).await;
    for name in ["transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    SHOP.change(&client, 2).await;
    kills += interrupted(&migration, &client, &mut random, &["--to", "dual"]).await;
    assert_eq!(replication_state(&client).await, before);
    let transactions = programs.stop().await;
    assert!(kills > 5 && transactions > 30, "{kills} kills, {transactions} transactions");

    let outcome = migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap();
    assert_expected(SHOP.source, &client, &stored(&migration).await).await;
    assert_eq!(outcome, PhaseOutcome::Done, "{:?}", migration.lines("differences-cutover.jsonl").unwrap());
    migration.phase("rollback", &[]).await.unwrap();
    assert_untouched(&client).await;
    assert!(stored(&migration).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_answered_write_is_lost_while_a_slot_captures_and_the_tool_is_killed() {
    let mut random = Rng::with_seed(45);
    let mut migration = Migration::new(45, 16).await.unwrap();
    let users = users(&mut migration).await;
    let client = migration.postgres.client().await.unwrap();
    let before = replication_state(&client).await;
    let early = sides_of(&migration, "none", users.len()).await;
    let mut traffic = Traffic::start(45, &users, early, &Oracle::default());
    traffic.more(20).await.unwrap();
    let mut kills = killed(&migration, &mut random, "cutover", &CAPTURE).await;
    traffic.more(20).await.unwrap();
    for name in ["export", "transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
        traffic.more(10).await.unwrap();
    }
    kills += killed(&migration, &mut random, "cutover", &CAPTURE).await;
    let oracle = traffic.stop().await.unwrap();
    let run = run_of(&mut migration).await;
    let mut traffic = Traffic::start(46, &users, sides_of(&migration, &run, users.len()).await, &oracle);
    traffic.more(20).await.unwrap();
    for to in ["dual", "100%"] {
        kills += killed(&migration, &mut random, "cutover", &["--to", to]).await;
        traffic.more(20).await.unwrap();
    }
    let oracle = traffic.stop().await.unwrap();
    println!("{oracle}, {kills} kills of the tool");
    assert!(kills > 5 && oracle.unanswered > 5);
    assert_eq!(migration.phase("cutover", &["--to", "100%", "--compare"]).await.unwrap(), PhaseOutcome::Done);
    oracle.verify(&client).await.unwrap();
    killed(&migration, &mut random, "rollback", &[]).await;
    oracle.verify(&client).await.unwrap();
    assert_untouched(&client).await;
    assert_eq!(replication_state(&client).await, before);
}
