//! The capture in PostgreSQL: it records every change, refuses those of a moved user, and stops no
//! transaction that would succeed without it.

use std::collections::BTreeMap;
use std::time::Duration;

use migration_tests::Migration;
use serde_json::Value;
use tidemark_migrate::PhaseOutcome;
use tokio_postgres::Client;

use super::cutover::assert_untouched;

/// Two users with a session and a log each, and PostgreSQL records their changes.
async fn captured(seed: u64) -> (Migration, Client, Client) {
    let mut migration = Migration::new(seed, 4).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let rows = r#"INSERT INTO "user" (id, name, "emailVerified") VALUES ('ann', '0', true), ('ben', '0', true);
        INSERT INTO session (id, token, "userId", "expiresAt") VALUES ('a', 'a', 'ann', '2099-01-01'), ('b', 'b', 'ben', '2099-01-01');
        INSERT INTO medication_logs (id, user_id, created_at, updated_at) VALUES (9001, 'ann', now(), now()), (9002, 'ben', now(), now())"#;
    client.batch_execute(rows).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    let other = migration.postgres.client().await.unwrap();
    (migration, client, other)
}

async fn load(migration: &Migration) {
    migration.loaded().await.unwrap();
}

fn code(error: &tokio_postgres::Error) -> &str {
    error.code().map_or("", |code| code.code())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn captured_transactions_over_two_users_do_not_deadlock() {
    let (migration, one, other) = captured(101).await;
    load(&migration).await;
    for isolation in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let begin = format!("BEGIN ISOLATION LEVEL {isolation}");
        one.batch_execute(&format!("{begin}; UPDATE session SET \"userAgent\" = 'one' WHERE id = 'a'")).await.unwrap();
        other
            .batch_execute(&format!("{begin}; UPDATE medication_logs SET updated_at = now() WHERE id = 9002"))
            .await
            .unwrap();
        // Each transaction changes other rows, but of the same two users.
        let (one, other) = tokio::join!(
            one.batch_execute("UPDATE session SET \"userAgent\" = 'one' WHERE id = 'b'; COMMIT"),
            other.batch_execute("UPDATE medication_logs SET updated_at = now() WHERE id = 9001; COMMIT"),
        );
        one.unwrap();
        other.unwrap();
    }
    assert_eq!(migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap(), PhaseOutcome::Done);
    let report = migration.json("report-cutover.json").unwrap();
    assert_eq!((&report["replicated"], &report["state"]["pending"]), (&12.into(), &0.into()), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn user_move_waits_for_open_transactions_and_refuses_later_ones() {
    let (migration, one, other) = captured(102).await;
    load(&migration).await;
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    one.batch_execute("BEGIN; UPDATE session SET \"userAgent\" = 'before' WHERE id = 'a'").await.unwrap();
    // This transaction has a snapshot in which PostgreSQL owns everybody.
    other.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM session").await.unwrap();
    let moved = migration.phase("cutover", &["--to", "100%", "--compare"]);
    let commit = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        one.batch_execute("COMMIT").await
    };
    let (moved, committed) = tokio::join!(moved, commit);
    committed.unwrap();
    assert_eq!(moved.unwrap(), PhaseOutcome::Done);
    let agents = migration.items().await.unwrap().into_values().filter_map(|item| item.get("UserAgent").cloned());
    assert_eq!(agents.filter(|agent| agent.as_s().is_ok_and(|text| text == "before")).count(), 2);

    let update = "UPDATE session SET \"userAgent\" = 'late' WHERE id = 'b'";
    assert_eq!(code(&other.batch_execute(update).await.unwrap_err()), "40001");
    other.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(code(&one.batch_execute(update).await.unwrap_err()), "TM001");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn user_move_is_not_starved_by_overlapping_transactions() {
    let (mut migration, client, _) = captured(105).await;
    let mut writers = Vec::new();
    for n in 0..16 {
        let client = migration.postgres.client().await.unwrap();
        let write = format!(
            "BEGIN; INSERT INTO session (id, \"userId\") VALUES ('w{n}-' || gen_random_uuid(), 'ann'); SELECT pg_sleep(0.02); COMMIT"
        );
        writers.push(tokio::spawn(async move {
            loop {
                if let Err(error) = client.batch_execute(&write).await {
                    return code(&error).to_owned();
                }
            }
        }));
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    // The first step of a move to DynamoDB.
    let close = client.query_one("SELECT tidemark_migration.advance_epoch('ann', 0, NULL)", &[]);
    let closed = tokio::time::timeout(Duration::from_secs(120), close).await;
    assert!(closed.expect("the move never got its turn").unwrap().get::<_, bool>(0));
    for writer in writers {
        assert_eq!(writer.await.unwrap(), "TM001");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn capture_includes_sessions_with_triggers_off_as_replica() {
    let (migration, client, _) = captured(103).await;
    load(&migration).await;
    client.batch_execute("SET session_replication_role = replica").await.unwrap();
    client.batch_execute("UPDATE session SET \"userAgent\" = 'as a replica' WHERE id = 'a'").await.unwrap();
    assert_eq!(code(&client.batch_execute("TRUNCATE session").await.unwrap_err()), "TM002");
    assert_eq!(
        migration.phase("cutover", &["--to", "100%"]).await.unwrap_err().kind,
        tidemark_migrate::FailureKind::Cutover
    );
    for to in ["dual", "100%"] {
        assert_eq!(migration.phase("cutover", &["--to", to, "--compare"]).await.unwrap(), PhaseOutcome::Done);
    }
    let refused = client.batch_execute("UPDATE session SET \"userAgent\" = 'late' WHERE id = 'a'").await.unwrap_err();
    assert_eq!(code(&refused), "TM001");
    assert!(refused.as_db_error().and_then(|error| error.hint()).unwrap().contains("docs/sidecar.md"), "{refused}");
    migration.phase("rollback", &[]).await.unwrap();
    assert_untouched(&client).await;
}

/// A random transaction of some changes of a few rows; a fifth of them are rolled back.
async fn write(client: &Client, random: &mut fastrand::Rng) {
    let isolation = ["READ COMMITTED", "READ COMMITTED", "REPEATABLE READ"][random.usize(..3)];
    client.batch_execute(&format!("BEGIN ISOLATION LEVEL {isolation}")).await.unwrap();
    for _ in 0..random.u8(1..5) {
        let (id, user) = (random.u8(..6), ["ann", "ben", "cem"][random.usize(..3)]);
        let sql = match random.u8(..4) {
            0 => format!("DELETE FROM session WHERE id = 's{id}'"),
            1 => format!("UPDATE session SET \"userAgent\" = '{}' WHERE id = 's{id}'", random.u32(..)),
            // An insert that becomes an update, which may also give the row to another user.
            _ => format!(
                "INSERT INTO session (id, \"userId\", \"userAgent\") VALUES ('s{id}', '{user}', '{}')
                 ON CONFLICT (id) DO UPDATE SET \"userId\" = EXCLUDED.\"userId\", \"userAgent\" = EXCLUDED.\"userAgent\"",
                random.u32(..)
            ),
        };
        if let Err(error) = client.batch_execute(&sql).await {
            // Two transactions that change the same rows in opposite order have always deadlocked.
            assert!(["40P01", "40001"].contains(&code(&error)), "{error:?}");
            break;
        }
    }
    let end = if random.u8(..5) == 0 { "ROLLBACK" } else { "COMMIT" };
    client.batch_execute(end).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn captured_versions_have_no_gaps_and_follow_row_changes() {
    let (mut migration, client, _) = captured(104).await;
    let mut writers = Vec::new();
    for n in 0..4 {
        let client = migration.postgres.client().await.unwrap();
        writers.push(tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(n);
            for _ in 0..150 {
                write(&client, &mut random).await;
            }
        }));
    }
    // The changes are numbered while others are being made.
    let numbering =
        "SELECT version, source, before::text, after::text FROM tidemark_migration.numbered_changes($1, 1000000)";
    while writers.iter().any(|writer| !writer.is_finished()) {
        for user in ["ann", "ben", "cem"] {
            client.query(numbering, &[&user]).await.unwrap();
        }
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let mut all = 0;
    let mut rows = BTreeMap::new();
    for user in ["ann", "ben", "cem"] {
        let changes = client.query(numbering, &[&user]).await.unwrap();
        all += changes.len();
        let mut of_user: BTreeMap<String, Value> = BTreeMap::new();
        for (n, change) in changes.iter().enumerate() {
            assert_eq!(change.get::<_, i64>(0), i64::try_from(n).unwrap() + 1, "{user}");
            let json = |n| change.get::<_, Option<&str>>(n).map(|text| serde_json::from_str::<Value>(text).unwrap());
            let (before, after) = (json(2), json(3));
            let id = before.as_ref().or(after.as_ref()).unwrap()["id"].as_str().unwrap().to_owned();
            // Each change begins where the change before it has ended.
            assert_eq!(of_user.remove(&id), before, "{user} {id} version {}", n + 1);
            of_user.extend(after.map(|after| (id, after)));
        }
        rows.extend(of_user);
    }
    assert!(all > 300, "{all}");
    let found = client.query("SELECT id, to_jsonb(s)::text FROM session s WHERE id LIKE 's_'", &[]).await.unwrap();
    let found: BTreeMap<String, Value> =
        found.iter().map(|row| (row.get(0), serde_json::from_str(row.get(1)).unwrap())).collect();
    assert_eq!(rows, found);
}
