//! The live application moves from PostgreSQL to DynamoDB and back, while writers keep writing, and
//! while writers and the tool are killed.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use migration_tests::Migration;
use migration_tests::migration::{okusuri_mapping, okusuri_world};
use migration_tests::okusuri_traffic::{Oracle, Traffic};
use serde_json::json;
use tests::{Database, binary};
use tidemark_migrate::PhaseOutcome;
use tidemark_migrate::cutover::{Dynamo, Postgres, Sides};
use tidemark_migrate::export::Manifest;
use tidemark_migrate::source::{Server, connect};

mod single_user;
mod sources;

/// Runs a program, and kills it if it has not ended after a while.
pub(super) async fn run_for(program: &str, arguments: &[String], patience: Duration) -> Output {
    let mut command = Command::new(binary(program).unwrap());
    let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = std::time::Instant::now() + patience;
    while std::time::Instant::now() < until && child.try_wait().unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    if child.try_wait().unwrap().is_none() {
        child.kill().unwrap();
    }
    child.wait_with_output().unwrap()
}

/// Runs a phase with the real program, which is killed at random moments until it finishes. Returns
/// the number of kills.
pub(super) async fn killed(migration: &Migration, random: &mut fastrand::Rng, name: &str, more: &[&str]) -> u32 {
    let (mut arguments, mut program) = (migration.arguments(name, more), "okusuri-migrate");
    if migration.product.extension.is_none() {
        let mapping = migration.folder.path().join("mapping.toml");
        std::fs::write(&mapping, migration.product.mapping.unwrap()).unwrap();
        arguments.extend(["--mapping".to_owned(), mapping.display().to_string()]);
        program = "tidemark-migrate";
    }
    for kills in 0..200 {
        // Each attempt gets more time, so that the phase finishes at last.
        let patience = Duration::from_millis(random.u64(5..30 + u64::from(kills) * 60));
        let output = run_for(program, &arguments, patience).await;
        match output.status.code() {
            Some(0) => return kills,
            None => {}
            Some(_) => panic!("{name} {more:?}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    panic!("{name} {more:?} never came to an end");
}

/// Both sides, as the application sees them.
pub(super) async fn sides(migration: &Migration, run: &str) -> Sides {
    let manifest: Option<Manifest> =
        migration.json("manifest.json").ok().and_then(|json| serde_json::from_value(json).ok());
    let as_of = manifest.map_or_else(|| "2025-01-01T00:00:00Z".parse().unwrap(), |manifest| manifest.taken_at);
    sides_as_of(migration, migration.postgres.url(), run, as_of).await
}

/// The same, as another role or for an export of another time.
async fn sides_as_of(migration: &Migration, source: String, run: &str, as_of: jiff::Timestamp) -> Sides {
    let server = Server { source, schema: "public".to_owned() };
    let client = connect(&server).await.unwrap();
    let world = okusuri_world(as_of).unwrap();
    let dynamo = Dynamo::new(migration.database.table(Database::OKUSURI), &world, run);
    Sides::new(Postgres::open(client, "public", &world.mapping).await.unwrap(), dynamo, world)
}

/// Sides for several writers, each with its own connection.
pub(super) async fn sides_of(migration: &Migration, run: &str, writers: usize) -> Vec<Sides> {
    let mut all = Vec::new();
    for _ in 0..writers {
        all.push(sides(migration, run).await);
    }
    all
}

/// The users that write: some exist in the source, and some are new.
pub(super) async fn users(migration: &mut Migration) -> Vec<String> {
    let client = migration.postgres.client().await.unwrap();
    let known = r#"SELECT id FROM "user" WHERE "deletedAt" IS NULL AND length(id) = 32 AND email LIKE 'user%@example.com' ORDER BY id LIMIT 5"#;
    let known = client.query(known, &[]).await.unwrap();
    let known = known.iter().map(|row| row.get(0));
    known.chain((0..4).map(|n| format!("newcomer{n}"))).collect()
}

pub(super) async fn run_of(migration: &mut Migration) -> String {
    let client = migration.postgres.client().await.unwrap();
    client.query_one("SELECT run FROM tidemark_migration.plan", &[]).await.unwrap().get(0)
}

/// Runs everything up to a loaded table, while writers write: some unaware of the cutover, some
/// aware and killed. Returns the answers that they got.
pub(super) async fn loaded(migration: &mut Migration, seed: u64, users: &[String]) -> Oracle {
    let early = sides_of(migration, "none", users.len()).await;
    let mut traffic = Traffic::start(seed, users, early, &Oracle::default());
    traffic.more(20).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    traffic.more(20).await.unwrap();
    migration.phase("export", &[]).await.unwrap();
    migration.phase("transform", &[]).await.unwrap();
    traffic.more(20).await.unwrap();
    migration.phase("load", &[]).await.unwrap();
    assert_eq!(migration.phase("check", &["--strict"]).await.unwrap(), PhaseOutcome::Done);
    traffic.stop().await.unwrap()
}

/// Goes to a phase while nobody writes, and finds no difference there and nothing pending.
pub(super) async fn compared(migration: &Migration, to: &str) {
    let outcome = migration.phase("cutover", &["--to", to, "--compare"]).await.unwrap();
    let report = migration.json("report-cutover.json").unwrap();
    let counts = [&report["state"]["pending"], &report["compared"]["late"], &report["compared"]["differences"]];
    let differences = migration.lines("differences-cutover.jsonl").unwrap();
    assert_eq!((counts, &report["stuck"]), ([&0.into(); 3], &json!([])), "{to}: {report} {differences:?}");
    // The traffic may write values that the mapping leaves out.
    let is_complete = report["leftOut"].as_object().is_none_or(serde_json::Map::is_empty);
    assert!(outcome == PhaseOutcome::Done || !is_complete, "{to}: {report}");
}

/// Checks that PostgreSQL contains nothing of a migration.
pub(super) async fn assert_untouched(client: &tokio_postgres::Client) {
    let left = "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = 'tidemark_migration')
                     + (SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'tidemark%')";
    assert_eq!(client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_phase_can_be_rolled_back_to_postgresql() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut migration = Migration::new(11, 16).await.unwrap();
    let users = users(&mut migration).await;
    // Before the cutover, only items have to be removed.
    for phases in [
        &["export"][..],
        &["export", "transform"],
        &["export", "transform", "load"],
        &["export", "transform", "load", "check"],
    ] {
        std::fs::remove_dir_all(migration.folder.path().join("run")).ok();
        for name in phases {
            migration.phase(name, &[]).await.unwrap();
        }
        assert_eq!(migration.items().await.unwrap().is_empty(), phases.len() < 3, "{phases:?}");
        killed(&migration, &mut random, "rollback", &[]).await;
        assert_eq!(migration.items().await.unwrap().len(), 0, "{phases:?}");
        assert_untouched(&migration.postgres.client().await.unwrap()).await;
    }
    // From each step of the cutover, while writers unaware of it keep writing.
    let mut oracle = Oracle::default();
    for (n, steps) in [&[][..], &["dual"], &["dual", "0%"], &["dual", "1%"], &["dual", "50%"], &["dual", "50%", "100%"]]
        .into_iter()
        .enumerate()
    {
        std::fs::remove_dir_all(migration.folder.path().join("run")).ok();
        migration.phase("cutover", &["--to", "capture"]).await.unwrap();
        let early = sides_of(&migration, "none", users.len()).await;
        let mut traffic = Traffic::start(20 + n as u64, &users, early, &oracle);
        traffic.more(20).await.unwrap();
        for name in ["export", "transform", "load"] {
            migration.phase(name, &[]).await.unwrap();
        }
        oracle = traffic.stop().await.unwrap();
        let run = run_of(&mut migration).await;
        let mut traffic = Traffic::start(40 + n as u64, &users, sides_of(&migration, &run, users.len()).await, &oracle);
        for to in steps {
            migration.phase("cutover", &["--to", to]).await.unwrap();
            traffic.more(20).await.unwrap();
        }
        if n % 2 == 1 {
            // Interrupted between two steps.
            let mut half = Command::new(binary("okusuri-migrate").unwrap())
                .args(migration.arguments("cutover", &["--to", "80%"]))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            tokio::time::sleep(Duration::from_millis(random.u64(20..120))).await;
            half.kill().unwrap();
            half.wait().unwrap();
        }
        killed(&migration, &mut random, "rollback", &[]).await;
        traffic.more(20).await.unwrap();
        oracle = traffic.stop().await.unwrap();
        println!("{steps:?}: {oracle}");
        let client = migration.postgres.client().await.unwrap();
        oracle.verify(&client).await.unwrap();
        assert_untouched(&client).await;
        let left = migration.items().await.unwrap();
        assert_eq!(left.keys().collect::<Vec<_>>(), Vec::<&(String, String)>::new(), "{steps:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn finished_cutover_refuses_writes_and_rollback_keeps_foreign_items() {
    let mut migration = Migration::new(13, 16).await.unwrap();
    let users = users(&mut migration).await;
    let client = migration.postgres.client().await.unwrap();

    // Steps cannot be skipped.
    for to in ["dual", "50%", "finished"] {
        assert_eq!(
            migration.phase("cutover", &["--to", to]).await.unwrap_err().kind,
            tidemark_migrate::FailureKind::Cutover
        );
    }
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    let unloaded = migration.phase("cutover", &["--to", "dual"]).await.unwrap_err();
    assert_eq!(unloaded.kind, tidemark_migrate::FailureKind::RunIncomplete);
    migration.loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();

    // The new application was tried out with one user.
    let profile = [("PK", format!("USER#{}", users[0])), ("SK", "PROFILE".to_owned())];
    let request =
        migration.database.client.update_item().table_name(Database::OKUSURI).update_expression("SET UpdatedAt = :now");
    let s = aws_sdk_dynamodb::types::AttributeValue::S;
    let request = profile.iter().fold(request, |request, (name, value)| request.key(*name, s(value.clone())));
    request.expression_attribute_values(":now", s("2031-01-01T00:00:00Z".to_owned())).send().await.unwrap();
    assert_eq!(migration.phase("rollback", &["--dry-run"]).await.unwrap(), PhaseOutcome::NeedsReview);
    assert!(migration.items().await.unwrap().len() > 100);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    let left: Vec<_> = migration.items().await.unwrap().into_keys().collect();
    assert_eq!(left, [(profile[0].1.clone(), profile[1].1.clone())]);
    assert_untouched(&client).await;

    // A second rollback finishes.
    let left = migration.database.client.delete_item().table_name(Database::OKUSURI);
    let left = profile.iter().fold(left, |left, (name, value)| left.key(*name, s(value.clone())));
    left.send().await.unwrap();
    std::fs::remove_dir_all(migration.folder.path().join("run")).unwrap();
    let oracle = loaded(&mut migration, 13, &users).await;
    for to in ["dual", "100%", "finished"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    oracle.verify(&client).await.unwrap();
    for sql in [
        format!("UPDATE \"user\" SET name = 'too late' WHERE id = '{}'", users[0]),
        "INSERT INTO \"user\" (id, email) VALUES ('latecomer', 'latecomer@example.com')".to_owned(),
        "DELETE FROM medication_logs".to_owned(),
    ] {
        let refused = client.batch_execute(&sql).await.unwrap_err();
        assert_eq!(refused.code().map(|code| code.code().to_owned()), Some("TM001".to_owned()), "{sql}");
    }
    assert_eq!(client.batch_execute("TRUNCATE session").await.unwrap_err().code().unwrap().code(), "TM002");
    for name in ["cutover", "rollback"] {
        let flags = if name == "cutover" { &["--to", "50%"][..] } else { &[] };
        assert_eq!(migration.phase(name, flags).await.unwrap_err().kind, tidemark_migrate::FailureKind::Cutover);
    }
}
