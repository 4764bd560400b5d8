//! A backlog of changes: `dual` replicates it faster than an application writes, and ends although
//! the application goes on.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use migration_tests::{Migration, okusuri_row};
use serde_json::json;
use tests::binary;
use tidemark_migrate::PhaseOutcome;
use tidemark_migrate::cutover::{Side, Writer};

use super::cutover::compared;

/// Longer than `dual` may take by far, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(120);

/// The programs that write to one user without a pause.
const WRITERS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dual_phase_ends_while_programs_keep_writing_to_one_user() {
    let mut migration = Migration::new(71, 20).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let sql = "SELECT user_id FROM medication_logs GROUP BY 1 ORDER BY count(*) DESC LIMIT 1";
    let user: String = client.query_one(sql, &[]).await.unwrap().get(0);
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for _ in 0..WRITERS {
        let (client, user, stop) = (migration.postgres.client().await.unwrap(), user.clone(), Arc::clone(&stop));
        writers.push(tokio::spawn(async move {
            let mut changes = 0;
            let sql = "UPDATE medication_logs SET has_bleeding = NOT has_bleeding, updated_at = now() WHERE id =
                       (SELECT id FROM medication_logs WHERE user_id = $1 ORDER BY random() LIMIT 1)";
            while !stop.load(Ordering::Relaxed) {
                changes += client.execute(sql, &[&user]).await.unwrap();
            }
            changes
        }));
    }
    let dual = tokio::time::timeout(PATIENCE, migration.phase("cutover", &["--to", "dual"])).await;
    stop.store(true, Ordering::Relaxed);
    let mut changes = 0;
    for writer in writers {
        changes += writer.await.unwrap();
    }
    assert_eq!(dual.expect("dual ends").unwrap(), PhaseOutcome::Done);
    assert!(changes > 100, "{changes} changes were made");
    assert_eq!(migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap(), PhaseOutcome::Done);
    let whole = migration.json("report-cutover.json").unwrap();
    assert_eq!((&whole["state"]["pending"], &whole["compared"]["sample"]), (&json!(0), &json!(null)));
    migration.phase("cutover", &["--to", "dual", "--compare=20"]).await.unwrap();
    let part = migration.json("report-cutover.json").unwrap()["compared"].clone();
    assert_eq!(part["sample"]["percent"], 20);
    assert!(part["users"].as_u64() < whole["compared"]["users"].as_u64(), "{part} of {whole}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn follow_replicates_foreign_changes_until_interrupted() {
    let mut migration = Migration::new(73, 4).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let arguments = migration.arguments("cutover", &["--to", "dual", "--follow"]);
    let mut command = Command::new(binary("okusuri-migrate").unwrap());
    let mut child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("Replicating")));
    for round in 1..=2 {
        let sql =
            "UPDATE medication_logs SET has_bleeding = NOT has_bleeding, updated_at = now() WHERE user_id IS NOT NULL";
        let changes = client.execute(sql, &[]).await.unwrap();
        assert!(lines.any(|line| line.starts_with(&format!("{} changes", round * changes))));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    drop(lines);
    assert!(child.wait().unwrap().success());
    compared(&migration, "dual").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_writer_does_not_wait_for_the_backlog_of_others() {
    let mut migration = Migration::new(72, 4).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let sql = "INSERT INTO medication_logs (user_id, has_bleeding, created_at, updated_at)
               SELECT (SELECT min(id) FROM \"user\"), true, at, at
               FROM generate_series(timestamptz '2020-01-01', '2022-01-01', '1 day') AS at";
    let backlog = client.execute(sql, &[]).await.unwrap();
    let user: String = client.query_one("SELECT min(id) FROM \"user\"", &[]).await.unwrap().get(0);
    let at = "2030-01-01T00:00:00+00:00";
    let log = json!({ "id": 2_000_000, "user_id": user, "has_bleeding": true, "created_at": at, "updated_at": at, "deleted_at": null });
    let writer = Writer::new(migration.sides().await.unwrap());
    assert_eq!(writer.put(&okusuri_row("medication_logs", &log)).await.unwrap(), Side::Postgres);
    let pending: i64 = client.query_one("SELECT count(*) FROM tidemark_migration.outbox", &[]).await.unwrap().get(0);
    assert!(pending > 0 && pending.unsigned_abs() < backlog, "{pending} of {backlog} changes are pending");
    // A move replicates the backlog before the user has to wait.
    migration.phase("cutover", &["--to", "100%", "--compare"]).await.unwrap();
    assert_eq!(migration.json("report-cutover.json").unwrap()["state"]["pending"], 0);
}
