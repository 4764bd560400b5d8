//! The slot itself: what stops a capture, what the reports say, and what a rollback removes.

use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Parser;
use migration_tests::Migration;
use serde_json::Value;
use tests::binary;
use tidemark_migrate::{FailureKind, PhaseOutcome, Report, run_quietly};

use super::{CAPTURE, assert_untouched, replication_state, until};

const CHANGE: &str = "UPDATE medication_logs SET has_bleeding = NOT has_bleeding";

async fn report(migration: &Migration, phase: &str, flags: &[&str], role: &str) -> Report {
    let arguments = ["okusuri-migrate".to_owned()].into_iter().chain(migration.arguments(phase, flags));
    let arguments = arguments.map(|argument| argument.replace("user=okusuri", &format!("user={role}")));
    run_quietly(tidemark_migrate::Command::parse_from(arguments), &migration.product).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lost_slot_ends_the_capture_and_a_rollback_removes_it() {
    let mut migration = Migration::new(51, 4).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("SET synchronous_commit = on").await.unwrap();
    // Without this, the third loss would lose nothing.
    client.batch_execute("ALTER SYSTEM SET max_slot_wal_keep_size = 1").await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let before = replication_state(&client).await;
    for (loss, is_gone) in [
        ("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots", true),
        (
            "SELECT pg_logical_slot_get_binary_changes(slot_name, NULL, NULL, 'proto_version', '1', 'publication_names', slot_name)
                 FROM pg_replication_slots",
            false,
        ),
        ("SELECT pg_switch_wal(); CHECKPOINT", true),
        ("ALTER TABLE medication_logs REPLICA IDENTITY DEFAULT", false),
    ] {
        std::fs::remove_dir_all(migration.folder.path().join("run")).ok();
        migration.phase("cutover", &CAPTURE).await.unwrap();
        for name in ["export", "transform", "load"] {
            migration.phase(name, &[]).await.unwrap();
        }
        client.batch_execute(CHANGE).await.unwrap();
        // The server removes WAL only after it has begun further files.
        for _ in 0..3 {
            client.batch_execute(loss).await.unwrap();
            client.batch_execute(CHANGE).await.unwrap();
        }
        for flags in [&CAPTURE[..], &["--to", "dual"]] {
            let failure = migration.phase("cutover", flags).await.unwrap_err();
            assert!(failure.kind == FailureKind::CaptureLost && failure.detail.contains("`rollback`"), "{loss}: {failure}");
        }
        let state = report(&migration, "cutover", &[], "okusuri").await;
        let is_reported = state.outcome == PhaseOutcome::NeedsReview && state.text.contains("slot is lost");
        assert_eq!(is_reported, is_gone, "{loss}: {}", state.text);
        migration.phase("rollback", &[]).await.unwrap();
        assert_untouched(&client).await;
        assert_eq!(replication_state(&client).await, before, "{loss}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_capture_that_is_killed_before_it_begins_leaves_nothing_after_a_rollback() {
    let mut migration = Migration::new(52, 4).await.unwrap();
    let (client, open) = (migration.postgres.client().await.unwrap(), migration.postgres.client().await.unwrap());
    let before = replication_state(&client).await;
    // The slot waits for this transaction.
    open.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    let mut program = Command::new(binary("okusuri-migrate").unwrap());
    let mut child = program
        .args(migration.arguments("cutover", &CAPTURE))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until(&client, "EXISTS (SELECT FROM pg_replication_slots)").await;
    assert_eq!(migration.phase("export", &[]).await.unwrap_err().kind, FailureKind::RunBusy);
    child.kill().unwrap();
    child.wait().unwrap();
    // No capture has begun, so there is nothing that an export could contain.
    assert_eq!(migration.phase("export", &[]).await.unwrap_err().kind, FailureKind::SourceBehind);
    open.batch_execute("COMMIT").await.unwrap();
    // The folder of another run may belong to another database, whose items must stay.
    let rename = |from: &str, to: &str| {
        for file in ["run.json", "cutover.json"].map(|name| migration.path(name)) {
            std::fs::write(&file, std::fs::read_to_string(&file).unwrap().replace(from, to)).unwrap();
        }
    };
    let id = migration.run_id().unwrap();
    rename(&id, "other");
    assert_eq!(migration.phase("rollback", &[]).await.unwrap_err().kind, FailureKind::Cutover);
    rename("other", &id);
    migration.phase("rollback", &[]).await.unwrap();
    assert_untouched(&client).await;
    assert_eq!(replication_state(&client).await, before);
    migration.phase("cutover", &CAPTURE).await.unwrap();
    let truncate = client.batch_execute("TRUNCATE session").await.unwrap_err();
    assert_eq!(truncate.code().map(|code| code.code()), Some("TM002"));
    let other = migration.phase("cutover", &["--to", "capture", "--capture", "triggers"]).await.unwrap_err();
    assert_eq!(other.kind, FailureKind::Options);
    let slot = migration.json("report-cutover.json").unwrap()["slot"].clone();
    assert!(slot["name"].as_str().is_some_and(|name| name.starts_with("tidemark_")), "{slot}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_command_waits_for_what_the_server_still_does_for_a_killed_one() {
    let mut migration = Migration::new(55, 4).await.unwrap();
    let (client, other) = (migration.postgres.client().await.unwrap(), migration.postgres.client().await.unwrap());
    migration.phase("cutover", &CAPTURE).await.unwrap();
    for name in ["export", "transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    // A session that has ended gives up its locks before the slot. This one has the slot while it waits
    // for a lock, and then is stopped.
    client.batch_execute(CHANGE).await.unwrap();
    other.batch_execute("BEGIN; LOCK TABLE pg_publication_rel IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let reader = migration.postgres.client().await.unwrap();
    let read = "SELECT count(*) FROM pg_replication_slots,
        pg_logical_slot_peek_binary_changes(slot_name, NULL, NULL, 'proto_version', '1', 'publication_names', slot_name)";
    let command = async {
        until(&client, "EXISTS (SELECT FROM pg_replication_slots WHERE active)").await;
        let pid = client.query_one("SELECT active_pid FROM pg_replication_slots", &[]).await.unwrap();
        let signal = |name: &str| {
            let sent = Command::new("kill").args([name, &pid.get::<_, i32>(0).to_string()]).status().unwrap();
            assert!(sent.success(), "{name}: {sent}");
        };
        signal("-STOP");
        other.batch_execute("COMMIT").await.unwrap();
        let resume = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            signal("-CONT");
        };
        tokio::join!(migration.phase("cutover", &CAPTURE), resume).0.unwrap();
    };
    tokio::join!(reader.batch_execute(read), command).0.unwrap();
    // The triggers are created.
    other.batch_execute("BEGIN; LOCK TABLE session IN ROW EXCLUSIVE MODE").await.unwrap();
    let mut program = Command::new(binary("okusuri-migrate").unwrap());
    program.args(migration.arguments("cutover", &["--to", "dual"])).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = program.spawn().unwrap();
    until(&client, "EXISTS (SELECT FROM pg_locks WHERE locktype = 'relation' AND NOT granted)").await;
    child.kill().unwrap();
    child.wait().unwrap();
    let release = async {
        until(&client, "(SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted) = 2").await;
        other.batch_execute("COMMIT").await.unwrap();
    };
    tokio::join!(migration.phase("cutover", &["--to", "dual"]), release).0.unwrap();
    client.batch_execute(CHANGE).await.unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_transaction_that_is_not_visible_when_the_slot_begins_is_in_the_export() {
    let mut migration = Migration::new(53, 4).await.unwrap();
    // A transaction that waits for this standby is in the WAL and is not visible.
    migration.postgres.set("synchronous_standby_names=nobody").await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(migration.postgres.client().await.unwrap());
    }
    let [client, first, second, slow] = clients.try_into().unwrap();
    // The slot begins after the transactions that run now, and after those that begin until then.
    first.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    let steps = async {
        until(&client, "EXISTS (SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted)").await;
        second.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
        let of_second: String = second.query_one("SELECT pg_current_xact_id()::text", &[]).await.unwrap().get(0);
        first.batch_execute("COMMIT").await.unwrap();
        let waits = format!(
            "EXISTS (SELECT FROM pg_locks WHERE locktype = 'transactionid' AND NOT granted AND transactionid::text = '{of_second}')"
        );
        until(&client, &waits).await;
        slow.batch_execute("SET synchronous_commit = on").await.unwrap();
        let update = slow.batch_execute("UPDATE medication_logs SET has_bleeding = NOT has_bleeding");
        let release = async {
            until(&client, "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')").await;
            second.batch_execute("COMMIT").await.unwrap();
            until(
                &client,
                "EXISTS (SELECT FROM pg_replication_slots WHERE confirmed_flush_lsn IS NOT NULL AND NOT active)",
            )
            .await;
            // The export must wait for the transaction, so it gets the chance not to.
            tokio::time::sleep(Duration::from_millis(300)).await;
            let release = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
            client.batch_execute(release).await.unwrap();
        };
        tokio::join!(update, release).0.unwrap();
    };
    let export = async {
        migration.phase("cutover", &CAPTURE).await.unwrap();
        migration.phase("export", &[]).await.unwrap();
    };
    tokio::join!(export, steps);
    for name in ["transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    assert_eq!(migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_preflight_names_what_a_slot_lacks_and_the_capture_changes_nothing() {
    let mut migration = Migration::new(54, 4).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let nothing = report(&migration, "preflight", &["--capture", "logical"], "okusuri").await.json;
    assert_eq!(nothing["stops"], Value::Array(Vec::new()));
    assert!(nothing["warnings"].to_string().contains("max_slot_wal_keep_size"), "{nothing}");
    let obstacles = "ALTER TABLE session SET UNLOGGED;
        CREATE PUBLICATION other FOR TABLE account (id);
        SELECT pg_create_physical_replication_slot('slot' || n) FROM generate_series(1, 10) AS n;
        CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE okusuri TO plain";
    client.batch_execute(obstacles).await.unwrap();
    let stops = report(&migration, "preflight", &["--capture", "logical"], "okusuri").await.json["stops"].to_string();
    for word in ["session are unlogged", "list of columns", "max_replication_slots"] {
        assert!(stops.contains(word), "{word}: {stops}");
    }
    let stops = report(&migration, "preflight", &["--capture", "logical"], "plain").await;
    assert!(stops.json["stops"].to_string().contains("ALTER ROLE ... REPLICATION"), "{}", stops.text);
    migration.postgres.set("wal_level=replica").await.unwrap();
    let refused = migration.phase("cutover", &CAPTURE).await.unwrap_err();
    assert!(refused.kind == FailureKind::Cutover && refused.detail.contains("wal_level is replica"), "{refused}");
    assert_untouched(&migration.postgres.client().await.unwrap()).await;
}
