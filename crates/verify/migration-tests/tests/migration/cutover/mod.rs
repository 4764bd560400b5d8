//! The cutover of Okusuri, and what the other tests of cutovers share.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::Migration;
use serde_json::{Map, Value, json};
use tests::binary;
use tidemark_migrate::PhaseOutcome;

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

/// The real program for a phase, and its arguments.
pub(super) fn program(migration: &Migration, phase: &str, flags: &[&str]) -> (&'static str, Vec<String>) {
    let mut arguments = migration.arguments(phase, flags);
    if migration.product.extension.is_some() {
        return ("okusuri-migrate", arguments);
    }
    if phase != "load" {
        let mapping = migration.folder.path().join("mapping.toml");
        std::fs::write(&mapping, migration.product.mapping.unwrap()).unwrap();
        arguments.extend(["--mapping".to_owned(), mapping.display().to_string()]);
    }
    ("tidemark-migrate", arguments)
}

/// The most kills of a phase. The time before a kill doubles, so the phase ends at last.
const KILLS_MAX: u32 = 40;

/// Runs a phase with the real program, which is killed at random moments until it finishes. Returns
/// the number of kills.
pub(super) async fn killed(migration: &Migration, random: &mut fastrand::Rng, phase: &str, flags: &[&str]) -> u32 {
    let (program, arguments) = program(migration, phase, flags);
    for kills in 0..KILLS_MAX {
        let patience = Duration::from_millis(random.u64(10..80 << (kills / 2)));
        let output = run_for(program, &arguments, patience).await;
        let may_need_review = phase == "transform" || (phase == "cutover" && only_leaves_out(&output.stdout));
        match output.status.code() {
            Some(0) => return kills,
            Some(1) if may_need_review => return kills,
            None => {}
            Some(_) => panic!(
                "{phase} {flags:?}: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            ),
        }
    }
    panic!("{phase} {flags:?} never came to an end");
}

/// Whether a report needs a review only because the traffic wrote values that the mapping leaves out.
fn only_leaves_out(report: &[u8]) -> bool {
    let report: Value = serde_json::from_slice(report).unwrap_or_default();
    let is_complete = report["leftOut"].as_object().is_none_or(Map::is_empty);
    let differences = report["compared"]["differences"].as_u64().unwrap_or_default();
    !is_complete && differences == 0 && report["stuck"] == json!([])
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
async fn finished_cutover_refuses_writes_and_rollback_keeps_foreign_items() {
    let mut migration = Migration::new(13, 16).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let known =
        r#"SELECT min(id) FROM "user" WHERE email LIKE 'user%@example.com' AND "createdAt" = '2023-11-05 01:30:00.5'"#;
    let user: String = client.query_one(known, &[]).await.unwrap().get(0);

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
    let profile = (format!("USER#{user}"), "PROFILE".to_owned());
    let mut changed = migration.items().await.unwrap()[&profile].clone();
    changed.insert("UpdatedAt".to_owned(), AttributeValue::S("2031-01-01T00:00:00Z".to_owned()));
    migration.put_item(changed).await.unwrap();
    assert_eq!(migration.phase("rollback", &["--dry-run"]).await.unwrap(), PhaseOutcome::NeedsReview);
    assert!(migration.items().await.unwrap().len() > 100);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    let left: Vec<_> = migration.items().await.unwrap().into_keys().collect();
    assert_eq!(left, std::slice::from_ref(&profile));
    assert_untouched(&client).await;

    // A second rollback finishes.
    migration.delete_item(&profile.0, &profile.1).await.unwrap();
    std::fs::remove_dir_all(migration.folder.path().join("run")).unwrap();
    migration.captured_and_loaded().await.unwrap();
    for to in ["dual", "100%", "finished"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    for sql in [
        format!("UPDATE \"user\" SET name = 'too late' WHERE id = '{user}'"),
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
