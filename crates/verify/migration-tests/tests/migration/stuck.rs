//! A row that one side refuses stops its own user only. The user is named, and the others go on.

use migration_tests::{Migration, okusuri_row};
use serde_json::json;
use tidemark_migrate::cutover::{Side, Writer};
use tidemark_migrate::row::Row;
use tidemark_migrate::{FailureKind, PhaseOutcome};

use super::cutover::assert_untouched;

fn time() -> &'static str {
    "2030-01-01T00:00:00+00:00"
}

fn user(id: &str) -> Row {
    okusuri_row(
        "user",
        &json!({ "id": id, "name": null, "email": null, "emailVerified": true, "image": null, "createdAt": time(), "updatedAt": time(), "deletedAt": null }),
    )
}

fn setting(id: i64) -> Row {
    okusuri_row(
        "notification_settings",
        &json!({ "id": id, "user_id": "hand", "platform": "web", "is_enabled": true, "subscription": null, "created_at": time(), "updated_at": time(), "deleted_at": null }),
    )
}

fn log(user: &str) -> Row {
    okusuri_row(
        "medication_logs",
        &json!({ "id": 2_000_000, "user_id": user, "has_bleeding": true, "created_at": time(), "updated_at": time(), "deleted_at": null }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stuck_row_blocks_only_its_user_and_is_set_aside() {
    let mut migration = Migration::new(61, 4).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let writer = Writer::new(migration.sides().await.unwrap());
    for id in ["hand", "other"] {
        writer.put(&user(id)).await.unwrap();
    }
    migration.phase("cutover", &["--to", "100%"]).await.unwrap();
    assert_eq!(writer.put(&setting(3_000_001)).await.unwrap(), Side::Dynamo);
    // PostgreSQL learns of a unique index while the next change waits, as if its writer had been
    // killed.
    client.batch_execute("UPDATE tidemark_migration.plan SET phase = 'capture'").await.unwrap();
    assert_eq!(writer.put(&setting(3_000_002)).await.unwrap(), Side::Dynamo);
    client
        .batch_execute("CREATE UNIQUE INDEX ON notification_settings (user_id, platform) WHERE user_id = 'hand'")
        .await
        .unwrap();
    client.batch_execute("UPDATE tidemark_migration.plan SET phase = 'percent'").await.unwrap();
    let refused = writer.put(&setting(3_000_003)).await.unwrap_err();
    assert!(refused.to_string().contains("user hand"), "{refused}");
    // A change of another user that waits, as if its writer had been killed.
    client.batch_execute("UPDATE tidemark_migration.plan SET phase = 'capture'").await.unwrap();
    writer.put(&log("other")).await.unwrap();
    client.batch_execute("UPDATE tidemark_migration.plan SET phase = 'percent'").await.unwrap();

    assert_eq!(migration.phase("cutover", &["--to", "100%"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let report = migration.json("report-cutover.json").unwrap();
    let names = |text: &str| ["hand", "notification_settings", "3000002"].iter().all(|name| text.contains(name));
    assert_eq!(report["stuck"].as_array().unwrap().len(), 1, "{report}");
    assert!(report["stuck"][0]["user"] == "hand" && names(report["stuck"][0]["detail"].as_str().unwrap()), "{report}");
    let logs = "SELECT count(*) FROM medication_logs WHERE user_id = 'other'";
    assert_eq!(client.query_one(logs, &[]).await.unwrap().get::<_, i64>(0), 1);

    // A rollback moves all others, and removes nothing that only DynamoDB has.
    let stopped = migration.phase("rollback", &[]).await.unwrap_err();
    assert!(stopped.kind == FailureKind::UserStuck && names(&stopped.detail), "{stopped}");
    let moved = "SELECT string_agg(user_id, ' ') FROM tidemark_migration.ownerships WHERE epoch % 2 = 1";
    assert_eq!(client.query_one(moved, &[]).await.unwrap().get::<_, Option<&str>>(0), Some("hand"));
    assert_eq!(writer.put(&log("other")).await.unwrap(), Side::Postgres);
    let stopped = migration.phase("repair", &["--user", "hand"]).await.unwrap_err();
    assert!(stopped.kind == FailureKind::UserStuck && names(&stopped.detail), "{stopped}");
    let repaired = migration.phase("repair", &["--user", "hand", "--set-aside"]).await.unwrap();
    assert_eq!(repaired, PhaseOutcome::NeedsReview);
    let aside = migration.lines("set-aside.jsonl").unwrap();
    assert_eq!((aside.len(), &aside[0]["after"]["id"]), (1, &3_000_002.into()), "{aside:?}");
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    assert_untouched(&client).await;
    assert_eq!(migration.items().await.unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn user_with_an_oversized_id_stays_in_postgresql() {
    let mut migration = Migration::new(62, 4).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let long = "x".repeat(2_100);
    let insert = r#"INSERT INTO "user" (id, name) VALUES ($1, 'long')"#;
    client.execute(insert, &[&long]).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    client.execute(r#"UPDATE "user" SET name = 'longer' WHERE id = $1"#, &[&long]).await.unwrap();
    for to in ["dual", "50%", "100%"] {
        assert_eq!(migration.phase("cutover", &["--to", to, "--compare"]).await.unwrap(), PhaseOutcome::Done, "{to}");
    }
    let report = migration.json("report-cutover.json").unwrap();
    assert_eq!((&report["state"]["toMove"], &report["state"]["pending"]), (&0.into(), &0.into()), "{report}");
    let writer = Writer::new(migration.sides().await.unwrap());
    assert_eq!(writer.put(&log(&long)).await.unwrap(), Side::Postgres);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);

    // A finished cutover refuses this user's writes in PostgreSQL, too.
    std::fs::remove_dir_all(migration.path("")).unwrap();
    migration.captured_and_loaded().await.unwrap();
    for to in ["dual", "100%", "finished"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    let refused = client.execute(r#"UPDATE "user" SET name = 'late' WHERE id = $1"#, &[&long]).await.unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("TM001"));
}
