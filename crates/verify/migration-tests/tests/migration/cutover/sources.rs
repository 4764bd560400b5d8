//! Sources that differ from the tables that better-auth's generator creates.

use migration_tests::migration::KEY;
use migration_tests::okusuri_source::SCHEMA;
use migration_tests::{okusuri_logs, okusuri_row};
use serde_json::json;
use tidemark_migrate::cutover::{Reader, Side, Writer};

use tests::Database;

use super::*;

/// A source with these tables, and an empty target table.
async fn source(schema: &str) -> Migration {
    let mut postgres = migration_tests::Postgres::start().await.unwrap();
    postgres.client().await.unwrap().batch_execute(schema).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), KEY).unwrap();
    Migration { postgres, database: Database::start().await.unwrap(), folder, product: okusuri_migrate::PRODUCT }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn users_own_time_zone_decides_the_day_of_logs() {
    let rows = "
        ALTER TABLE \"user\" ADD COLUMN time_zone text;
        INSERT INTO \"user\" (id, name, email, \"emailVerified\", \"createdAt\", \"updatedAt\", time_zone)
            SELECT id, id, id || '@example.com', true, now(), now(), zone
            FROM (VALUES ('honolulu', 'Pacific/Honolulu'), ('nowhere', 'Moon/Base'), ('none', NULL)) AS given (id, zone);
        INSERT INTO medication_logs (user_id, has_bleeding, created_at, updated_at)
            SELECT id, true, at, at FROM \"user\", (VALUES (timestamptz '2025-03-01 09:00+00'), ('2025-03-02 10:30+00')) AS given (at);";
    let migration = source(&format!("{SCHEMA};{rows}")).await;
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load"] {
        assert_eq!(migration.phase(name, &[]).await.unwrap(), PhaseOutcome::Done);
    }
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let sides = migration.sides().await.unwrap();
    let reader = Reader::new(sides.clone());
    let days = async |user: &str| {
        let logs = okusuri_logs(&reader, user).await.unwrap();
        logs.into_keys().map(|date| date[8..].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(days("honolulu").await, ["28", "02"]);
    for user in ["nowhere", "none"] {
        assert_eq!(days(user).await, ["01", "02"], "{user}");
    }
    // A user who changes the zone takes all logs along, on either side.
    let moved = okusuri_row("user", &json!({ "id": "honolulu", "time_zone": "Asia/Tokyo" }));
    assert_eq!(Writer::new(sides).put(&moved).await.unwrap(), Side::Postgres);
    assert_eq!(days("honolulu").await, ["01", "02"]);
    for to in ["dual", "100%"] {
        assert_eq!(migration.phase("cutover", &["--to", to, "--compare"]).await.unwrap(), PhaseOutcome::Done, "{to}");
    }
    let items = migration.items().await.unwrap();
    let profile =
        |user: &str| items[&(format!("USER#{user}"), "PROFILE".to_owned())]["TimeZone"].as_s().unwrap().clone();
    assert_eq!(["honolulu", "nowhere"].map(profile), ["Asia/Tokyo", "Asia/Tokyo"]);
}

/// Today's better-auth as its generator for Drizzle writes it, with serial ids, and the
/// application's tables with uuids, an enumeration and a case-insensitive text.
const DRIZZLE: &str = r#"
    CREATE EXTENSION IF NOT EXISTS citext;
    CREATE TYPE platform AS ENUM ('web', 'ios', 'android');
    CREATE TABLE "user" (id serial PRIMARY KEY, name text NOT NULL, email citext UNIQUE, email_verified boolean NOT NULL,
        image text, created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
    CREATE TABLE session (id serial PRIMARY KEY, expires_at timestamp NOT NULL, token text NOT NULL UNIQUE,
        created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now(), ip_address text,
        user_agent text, user_id int NOT NULL REFERENCES "user" ON DELETE CASCADE);
    CREATE TABLE account (id serial PRIMARY KEY, account_id text NOT NULL, provider_id text NOT NULL,
        user_id int NOT NULL REFERENCES "user" ON DELETE CASCADE, access_token text, refresh_token text, id_token text,
        access_token_expires_at timestamp, refresh_token_expires_at timestamp, scope text, password text,
        created_at timestamp NOT NULL DEFAULT now(), updated_at timestamp NOT NULL DEFAULT now());
    CREATE TABLE verification (id serial PRIMARY KEY, identifier text NOT NULL, value text NOT NULL,
        expires_at timestamp NOT NULL, created_at timestamp, updated_at timestamp);
    CREATE TABLE medication_logs (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), user_id int NOT NULL REFERENCES "user",
        has_bleeding boolean NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz);
    CREATE TABLE notification_settings (id serial PRIMARY KEY, user_id int NOT NULL REFERENCES "user" ON DELETE CASCADE,
        platform platform NOT NULL, is_enabled boolean NOT NULL, subscription jsonb,
        created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz);
    INSERT INTO "user" (name, email, email_verified) SELECT 'User ' || n, 'User' || n || '@Example.com', true FROM generate_series(1, 30) AS n;
    INSERT INTO session (expires_at, token, user_id) SELECT '2099-01-01', 'token ' || id, id FROM "user";
    INSERT INTO account (account_id, provider_id, user_id) SELECT 'subject ' || id, 'google', id FROM "user";
    INSERT INTO medication_logs (user_id, has_bleeding, created_at) SELECT 1 + n % 30, n % 5 = 0, now() - n * interval '1 day' FROM generate_series(1, 300) AS n;
    INSERT INTO notification_settings (user_id, platform, is_enabled, subscription) SELECT id, 'web', true,
        '{"endpoint": "https://push.example.com/1", "keys": {"p256dh": "B", "auth": "t"}}' FROM "user";"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn todays_better_auth_with_serial_ids_and_snake_case_moves() {
    let mut migration = source(DRIZZLE).await;
    assert_eq!(migration.phase("preflight", &[]).await.unwrap(), PhaseOutcome::Done);
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load", "check"] {
        assert_eq!(migration.phase(name, &[]).await.unwrap(), PhaseOutcome::Done, "{name}");
    }
    let client = migration.postgres.client().await.unwrap();
    let change = r#"UPDATE "user" SET email = 'New' || id || '@example.com' WHERE id < 5; DELETE FROM session WHERE id > 25;
        UPDATE medication_logs SET has_bleeding = true WHERE user_id = 3"#;
    client.batch_execute(change).await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let writer = Writer::new(migration.sides().await.unwrap());
    for (to, side) in [("100%", Side::Dynamo), ("0%", Side::Postgres), ("100%", Side::Dynamo)] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        // Two instances of the application change two columns of one row.
        for columns in [json!({ "id": 7, "name": to }), json!({ "id": 7, "email": format!("{side}@example.com") })] {
            assert_eq!(writer.put(&okusuri_row("user", &columns)).await.unwrap(), side);
        }
        let row = client.query_one(r#"SELECT name, email::text FROM "user" WHERE id = 7"#, &[]).await.unwrap();
        assert_eq!((row.get::<_, &str>(0), row.get::<_, String>(1)), (to, format!("{side}@example.com")));
        assert_eq!(migration.phase("cutover", &["--to", to, "--compare"]).await.unwrap(), PhaseOutcome::Done);
    }
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn preflight_names_all_problems_and_refused_capture_changes_nothing() {
    let mut migration = source(SCHEMA).await;
    let client = migration.postgres.client().await.unwrap();
    let change = r#"ALTER TABLE session DROP CONSTRAINT session_pkey CASCADE; ALTER TABLE account ADD COLUMN extra text NOT NULL;
        CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.updated_at := now(); RETURN NEW; END';
        CREATE TRIGGER touch BEFORE UPDATE ON medication_logs FOR EACH ROW EXECUTE FUNCTION touch();
        CREATE TRIGGER count_logs AFTER UPDATE ON medication_logs FOR EACH ROW EXECUTE FUNCTION touch();
        ALTER TABLE "user" DROP COLUMN image"#;
    client.batch_execute(change).await.unwrap();
    let ignoring =
        migration.product.mapping.unwrap().replace("[tables.account]\n", "[tables.account]\nignore = [\"extra\"]\n");
    migration.product.mapping = Some(Box::leak(ignoring.into_boxed_str()));
    let report = migration.report("preflight").await.unwrap();
    let told = |list: &str| report.json[list].to_string();
    for expected in ["session has no unique index of id alone", "schema-missing-column: there is no user.image"] {
        assert!(told("stops").contains(expected), "{}", report.text);
    }
    for expected in ["account: extra is left behind, and is NOT NULL", "medication_logs has triggers (count_logs)"] {
        assert!(told("warnings").contains(expected), "{}", report.text);
    }
    assert_eq!(report.outcome, PhaseOutcome::NeedsReview);
    let refused = migration.phase("cutover", &["--to", "capture"]).await.unwrap_err();
    assert_eq!(refused.kind, tidemark_migrate::FailureKind::MissingColumn, "{refused}");
    client.batch_execute(r#"ALTER TABLE "user" ADD COLUMN image text"#).await.unwrap();
    let refused = migration.phase("cutover", &["--to", "capture"]).await.unwrap_err();
    assert!(refused.detail.contains("session has no unique index"), "{refused}");
    assert_untouched(&client).await;
}
