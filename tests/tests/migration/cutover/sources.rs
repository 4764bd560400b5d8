//! Sources that differ from the tables that better-auth's generator creates.

use serde_json::{Value, json};
use tidemark_migrate::cutover::{Reader, Side, Writer};
use tidemark_migrate::row::Row;
use tidemark_tests::migration::KEY;
use tidemark_tests::okusuri_source::SCHEMA;
use tidemark_tests::{okusuri_logs, okusuri_row};

use super::*;

const USER: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";
const SESSION: &str = "7c9e6679-7425-40de-944b-e07fc1f90ae7";

/// A source with these tables, and an empty target table.
async fn source(schema: &str) -> Migration {
    let mut postgres = tidemark_tests::Postgres::start().await.unwrap();
    postgres.client().await.unwrap().batch_execute(schema).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), KEY).unwrap();
    Migration { postgres, database: Database::start().await.unwrap(), folder, product: okusuri_migrate::PRODUCT }
}

fn time() -> &'static str {
    "2030-01-01T00:00:00"
}

fn profile(name: &str) -> Row {
    okusuri_row(
        "user",
        &json!({ "id": USER, "name": name, "email": "uuid@example.com", "emailVerified": true, "image": null, "createdAt": time(), "updatedAt": time(), "deletedAt": null }),
    )
}

fn session() -> Row {
    okusuri_row(
        "session",
        &json!({ "id": SESSION, "expiresAt": "2099-01-01T00:00:00", "token": "token", "createdAt": time(), "updatedAt": time(), "ipAddress": null, "userAgent": null, "userId": USER }),
    )
}

fn log(has_bleeding: bool) -> Row {
    okusuri_row(
        "medication_logs",
        &json!({ "id": 1_000, "user_id": USER, "has_bleeding": has_bleeding, "created_at": "2029-05-10T03:00:00+00:00", "updated_at": "2029-05-10T03:00:00+00:00", "deleted_at": null }),
    )
}

fn setting(subscription: &Value, is_enabled: bool) -> Row {
    okusuri_row(
        "notification_settings",
        &json!({ "id": 1_000, "user_id": USER, "platform": "web", "is_enabled": is_enabled, "subscription": subscription, "created_at": "2029-05-10T03:00:00+00:00", "updated_at": "2029-05-10T03:00:00+00:00", "deleted_at": null }),
    )
}

/// A user moves to DynamoDB and back, and is changed at each step on the side that owns the user.
async fn there_and_back(mut migration: Migration, subscription: &Value) {
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let run = run_of(&mut migration).await;
    let sides = sides(&migration, &run).await;
    let (writer, reader) = (Writer::new(sides.clone()), Reader::new(sides));
    for (to, side) in [("dual", Side::Postgres), ("100%", Side::Dynamo), ("0%", Side::Postgres)] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        for (n, row) in [profile(to), session(), log(true), setting(subscription, true)].iter().enumerate() {
            assert_eq!(writer.put(row).await.unwrap(), side, "{to}: {n}");
        }
        // Each row exists already.
        for row in [profile("again"), log(false), setting(subscription, false)] {
            assert_eq!(writer.put(&row).await.unwrap(), side);
        }
        assert_eq!(okusuri_logs(&reader, USER).await.unwrap(), BTreeMap::from([("2029-05-10".to_owned(), false)]));
        assert_eq!(writer.delete(&session()).await.unwrap(), side);
        assert_eq!(migration.phase("cutover", &["--to", to, "--compare"]).await.unwrap(), PhaseOutcome::Done);
        let client = migration.postgres.client().await.unwrap();
        let found = "SELECT (SELECT name FROM \"user\"), (SELECT count(*) FROM session), (SELECT has_bleeding FROM medication_logs),
                            (SELECT to_json(subscription)::text FROM notification_settings)";
        let found = client.query_one(found, &[]).await.unwrap();
        let json: Value = serde_json::from_str(found.get(3)).unwrap();
        let found: (&str, i64, bool) = (found.get(0), found.get(1), found.get(2));
        assert_eq!((found, &json), (("again", 0, false), subscription), "{to}");
    }
    // Another process writes directly to PostgreSQL.
    let client = migration.postgres.client().await.unwrap();
    client
        .batch_execute("UPDATE medication_logs SET has_bleeding = true; DELETE FROM notification_settings")
        .await
        .unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "100%", "--compare"]).await.unwrap(), PhaseOutcome::Done);
    migration.phase("rollback", &[]).await.unwrap();
    assert_untouched(&client).await;
    assert_eq!(okusuri_logs(&reader, USER).await.unwrap(), BTreeMap::from([("2029-05-10".to_owned(), true)]));
    writer.put(&session()).await.unwrap();
    assert_eq!(writer.delete(&session()).await.unwrap(), Side::Postgres);
}

fn push() -> Value {
    json!({ "endpoint": "https://push.example.com/1", "keys": { "p256dh": "B", "auth": "t" } })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_subscription_in_a_column_of_json_stays_json() {
    for kind in ["json", "jsonb"] {
        let schema = SCHEMA.replace("subscription text", &format!("subscription {kind}"));
        there_and_back(source(&schema).await, &push()).await;
    }
    there_and_back(source(SCHEMA).await, &Value::String(push().to_string())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ids_may_be_uuids() {
    let schema = SCHEMA
        .replace("id text PRIMARY KEY", "id uuid PRIMARY KEY")
        .replace("\"userId\" text", "\"userId\" uuid")
        .replace("user_id text", "user_id uuid");
    there_and_back(source(&schema).await, &Value::String(push().to_string())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ids_may_be_generated_by_the_column() {
    let schema = SCHEMA.replace("id bigserial", "id bigint GENERATED ALWAYS AS IDENTITY");
    there_and_back(source(&schema).await, &Value::String(push().to_string())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_table_may_be_partitioned_if_ids_are_unique() {
    let of_logs = SCHEMA.find("CREATE TABLE medication_logs").unwrap();
    let (before, logs) = SCHEMA.split_at(of_logs);
    let partitions = |by: &str, primary: &str| {
        let logs = logs.replacen("id bigserial PRIMARY KEY", "id bigserial", 1);
        let logs = logs.replacen(
            "deleted_at timestamptz\n)",
            &format!("deleted_at timestamptz, PRIMARY KEY ({primary})\n) PARTITION BY {by}"),
            1,
        );
        format!("{before}{logs}")
    };
    let by_id = partitions("HASH (id)", "id")
        + "CREATE TABLE logs_0 PARTITION OF medication_logs FOR VALUES WITH (MODULUS 2, REMAINDER 0);
           CREATE TABLE logs_1 PARTITION OF medication_logs FOR VALUES WITH (MODULUS 2, REMAINDER 1);";
    there_and_back(source(&by_id).await, &Value::String(push().to_string())).await;
    // With partitions by time, two rows may have the same id, so the cutover is refused before it
    // starts.
    let mut by_time = source(&partitions("RANGE (created_at)", "id, created_at")).await;
    let refused = by_time.phase("cutover", &["--to", "capture"]).await.unwrap_err();
    assert!(refused.detail.contains("medication_logs\" has no unique index"), "{refused:?}");
    assert_untouched(&by_time.postgres.client().await.unwrap()).await;
}
