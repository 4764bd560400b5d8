//! One user and one write at a time, for cases that random concurrent writes rarely reach.

use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::migration::okusuri_mapping;
use migration_tests::{okusuri_logs, okusuri_row};
use serde_json::json;
use tidemark_migrate::cutover::{Postgres, Reader, Side, Writer};
use tidemark_migrate::row::{Cell, Row};

use super::*;

const USER: &str = "hand";

fn profile(name: &str, image: Option<String>) -> Row {
    okusuri_row(
        "user",
        &json!({ "id": USER, "name": name, "email": "hand@example.com", "emailVerified": true, "image": image, "createdAt": "2030-01-01T00:00:00", "updatedAt": "2030-01-01T00:00:00", "deletedAt": null }),
    )
}

fn session(id: &str) -> Row {
    okusuri_row(
        "session",
        &json!({ "id": id, "expiresAt": "2099-01-01T00:00:00", "token": format!("token of {id}"), "createdAt": "2030-01-01T00:00:00", "updatedAt": "2030-01-01T00:00:00", "ipAddress": null, "userAgent": null, "userId": USER }),
    )
}

fn account(user: &str) -> Row {
    okusuri_row(
        "account",
        &json!({ "id": format!("account of {user}"), "accountId": "subject", "providerId": "google", "userId": user, "accessToken": null, "refreshToken": null, "idToken": null, "accessTokenExpiresAt": null, "refreshTokenExpiresAt": null, "scope": null, "password": null, "createdAt": "2025-01-01T00:00:00", "updatedAt": "2025-01-01T00:00:00" }),
    )
}

/// A cutover up to dual writes.
async fn dual(migration: &Migration) {
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
}

/// The same, with a user who has been moved to DynamoDB.
async fn moved(seed: u64) -> (Migration, Writer) {
    let migration = Migration::new(seed, 4).await.unwrap();
    dual(&migration).await;
    let writer = Writer::new(migration.sides().await.unwrap());
    assert_eq!(writer.put(&profile("by hand", None)).await.unwrap(), Side::Postgres);
    migration.phase("cutover", &["--to", "100%"]).await.unwrap();
    (migration, writer)
}

/// Switches replication by writers on or off. In capture, no writer replicates, as if each were
/// killed right after its write.
async fn set_replication(migration: &mut Migration, is_on: bool) {
    let phase = if is_on { "percent" } else { "capture" };
    let client = migration.postgres.client().await.unwrap();
    client.execute("UPDATE tidemark_migration.plan SET phase = $1", &[&phase]).await.unwrap();
}

/// The ids of the user's sessions in PostgreSQL, and the number of their items in DynamoDB.
async fn sessions(migration: &mut Migration) -> (Vec<String>, usize) {
    let client = migration.postgres.client().await.unwrap();
    let rows = client.query(r#"SELECT id FROM session WHERE "userId" = $1 ORDER BY id"#, &[&USER]).await.unwrap();
    let of_user = AttributeValue::S(USER.to_owned());
    let items = migration.items().await.unwrap();
    let is_session =
        |(partition, sort): &(String, String)| partition.starts_with("SESSION#") || sort.starts_with("SESSION#");
    let items = items.iter().filter(|(key, item)| is_session(key) && item.get("UserId") == Some(&of_user));
    (rows.iter().map(|row| row.get(0)).collect(), items.count())
}

/// The key of the user's ownership record in DynamoDB, and its version.
async fn ownership(migration: &Migration) -> (String, u64) {
    let ownership = format!("MIGRATION#{}#OWNERSHIP#{USER}", migration.run_id().unwrap());
    let items = migration.items().await.unwrap();
    let version = items[&(ownership.clone(), "OWNERSHIP".to_owned())]["Version"].as_n().unwrap().parse().unwrap();
    (ownership, version)
}

/// Checks that no change is pending, and that both sides are equal.
async fn assert_level(migration: &Migration) {
    _ = migration.phase("cutover", &["--to", "100%", "--compare"]).await.unwrap();
    let report = migration.json("report-cutover.json").unwrap();
    let counts = [&report["state"]["pending"], &report["compared"]["late"], &report["compared"]["differences"]];
    assert_eq!((counts, &report["stuck"]), ([&0.into(); 3], &json!([])), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repeated_delete_before_replication_counts_once() {
    let (mut migration, writer) = moved(31).await;
    writer.put(&session("one")).await.unwrap();
    assert_eq!(sessions(&mut migration).await, (vec!["one".to_owned()], 2));
    set_replication(&mut migration, false).await;
    assert_eq!(writer.delete(&session("one")).await.unwrap(), Side::Dynamo);
    assert_eq!(sessions(&mut migration).await, (vec!["one".to_owned()], 0));
    let changes = ownership(&migration).await;
    assert_eq!(writer.delete(&session("one")).await.unwrap(), Side::Dynamo);
    assert_eq!(ownership(&migration).await, changes);
    set_replication(&mut migration, true).await;
    assert_eq!(sessions(&mut migration).await, (vec![], 0));
    writer.put(&session("two")).await.unwrap();
    assert_eq!(sessions(&mut migration).await, (vec!["two".to_owned()], 2));
    assert_level(&migration).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unique_value_of_a_deleted_row_is_free_before_replication() {
    let (mut migration, writer) = moved(39).await;
    let with_token = |id: &str| {
        let token = okusuri_row("session", &json!({ "id": id, "userId": USER, "token": "the token" }));
        let mut row = session(id);
        row.columns.extend(token.columns);
        row
    };
    writer.put(&with_token("one")).await.unwrap();
    set_replication(&mut migration, false).await;
    writer.delete(&with_token("one")).await.unwrap();
    assert_eq!(writer.put(&with_token("two")).await.unwrap(), Side::Dynamo);
    set_replication(&mut migration, true).await;
    assert_level(&migration).await;
    assert_eq!(sessions(&mut migration).await, (vec!["two".to_owned()], 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn moved_user_with_a_large_picture_can_be_renamed() {
    let (mut migration, writer) = moved(34).await;
    let picture = |times: usize| Some("data:image/png;base64,".to_owned() + &"QUJD".repeat(times));
    let of_user = r#"SELECT name, length(image) FROM "user" WHERE id = $1"#;
    // 255 KB each, and one picture that is too large for an item.
    for (name, times, side) in
        [("one", 87_000, Side::Dynamo), ("two", 87_000, Side::Dynamo), ("three", 120_000, Side::Postgres)]
    {
        assert_eq!(writer.put(&profile(name, picture(times))).await.unwrap(), side, "{name}");
        let client = migration.postgres.client().await.unwrap();
        let row = client.query_one(of_user, &[&USER]).await.unwrap();
        assert_eq!((row.get(0), row.get::<_, i32>(1)), (name, 22 + 4 * i32::try_from(times).unwrap()));
    }
    assert_level(&migration).await;
    assert_eq!(writer.put(&profile("four", picture(99_000))).await.unwrap(), Side::Dynamo);
    assert_level(&migration).await;
}

fn log() -> Row {
    okusuri_row(
        "medication_logs",
        &json!({
            "id": 2_000_000, "user_id": USER, "has_bleeding": true, "created_at": "2029-05-10T03:00:00+00:00",
            "updated_at": "2029-05-10T03:00:00+00:00", "deleted_at": null,
        }),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_moved_user_is_read_without_postgresql() {
    let (mut migration, writer) = moved(36).await;
    writer.put(&log()).await.unwrap();
    let reader = Reader::new(migration.sides().await.unwrap());
    let logs = okusuri_logs(&reader, USER).await.unwrap();
    assert_eq!(logs.len(), 1);
    let client = migration.postgres.client().await.unwrap();
    let end =
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'okusuri' AND pid <> pg_backend_pid()";
    client.execute(end, &[]).await.unwrap();
    assert_eq!(okusuri_logs(&reader, USER).await.unwrap(), logs);
    // A user who has not moved must not seem to have no logs.
    assert_eq!(okusuri_logs(&reader, "newcomer").await.unwrap_err().kind, tidemark_migrate::FailureKind::SourceGone);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn expired_items_and_shared_logins_are_no_differences() {
    let mut migration = Migration::new(37, 4).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let rows = r#"INSERT INTO "user" (id, "emailVerified") VALUES ('ann', true), ('ben', true), ('cem', true);
        INSERT INTO account (id, "accountId", "providerId", "userId")
            VALUES ('account of ann', 'subject', 'google', 'ann'), ('account of ben', 'subject', 'google', 'ben');
        INSERT INTO session (id, token, "userId", "expiresAt")
            VALUES ('over', 'over', 'ann', '2025-06-01'), ('valid', 'valid', 'ann', '2099-01-01')"#;
    client.batch_execute(rows).await.unwrap();
    dual(&migration).await;
    // The export is from a time when one session was still valid; TTL has removed it since.
    let as_of = "2025-01-01T00:00:00Z".parse().unwrap();
    let sides = migration.sides_as(migration.postgres.url(), as_of).await.unwrap();
    // Another login, written during dual writes.
    Writer::new(sides.clone()).put(&account("cem")).await.unwrap();
    for user in ["ann", "ben", "cem"] {
        assert_eq!(sides.compare(user).await.unwrap(), Some(vec![]), "{user}");
    }
    migration.delete_item("USER#ann", "SESSION#valid").await.unwrap();
    let differences = sides.compare("ann").await.unwrap().unwrap();
    let differences: Vec<_> = differences.iter().map(|found| (found.what, &*found.sort)).collect();
    assert_eq!(differences, [("missing", "SESSION#valid")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn login_exists_only_while_its_users_address_is_verified() {
    let (migration, writer) = moved(39).await;
    let sides = migration.sides().await.unwrap();
    let with = |is_verified: bool| {
        let mut row = profile("by hand", None);
        row.columns.insert("emailVerified".to_owned(), Cell::Bool(is_verified));
        row
    };
    for share in ["100%", "0%"] {
        migration.phase("cutover", &["--to", share]).await.unwrap();
        writer.put(&account(USER)).await.unwrap();
        for (row, logins) in [(with(true), 1), (with(false), 0), (with(true), 1)] {
            writer.put(&row).await.unwrap();
            let items = migration.items().await.unwrap();
            let of_login = |(partition, sort): &&(String, String)| {
                (partition == &format!("USER#{USER}") && sort.starts_with("ACCOUNT#"))
                    || partition == "ACCOUNT#google#subject"
            };
            assert_eq!(items.keys().filter(of_login).count(), 2 * logins, "{share} {row:?}");
            assert_eq!(sides.compare(USER).await.unwrap(), Some(vec![]), "{share} {row:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_application_may_have_its_own_role() {
    let (mut migration, _) = moved(38).await;
    let client = migration.postgres.client().await.unwrap();
    let role = r#"CREATE ROLE "the application" LOGIN;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "the application""#;
    client.batch_execute(role).await.unwrap();
    let source = migration.postgres.url().replace("user=okusuri", "user='the application'");
    let sides = migration.sides_as(source, "2025-01-01T00:00:00Z".parse().unwrap()).await.unwrap();
    let (writer, reader) = (Writer::new(sides.clone()), Reader::new(sides));
    okusuri_logs(&reader, "newcomer").await.unwrap_err();
    let postgres =
        Postgres::open(migration.postgres.client().await.unwrap(), "public", &okusuri_mapping()).await.unwrap();
    // Granting twice is no error.
    for _ in 0..2 {
        postgres.grant("the application").await.unwrap();
    }
    for (to, side) in [("100%", Side::Dynamo), ("0%", Side::Postgres), ("100%", Side::Dynamo)] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        for row in [profile(to, None), log(), session(to)] {
            assert_eq!(writer.put(&row).await.unwrap(), side);
        }
        assert_eq!(okusuri_logs(&reader, USER).await.unwrap().len(), 1);
        assert_eq!(writer.delete(&session(to)).await.unwrap(), side);
        // The writer itself replicated all changes.
        assert_eq!(sessions(&mut migration).await, (vec![], 0));
    }
    // A deletion of a whole user is done in PostgreSQL, so the writer moves the user back.
    let gone = profile("gone", None);
    assert_eq!(writer.delete(&gone).await.unwrap(), Side::Postgres);
    assert_level(&migration).await;
    // No other role may call the cutover's functions.
    client
        .batch_execute("CREATE ROLE stranger; GRANT USAGE ON SCHEMA tidemark_migration TO stranger; SET ROLE stranger")
        .await
        .unwrap();
    for call in [
        "advance_epoch('hand', 0, NULL)",
        "apply_change('hand', 1, 'user', '{}', NULL)",
        "record_change('hand', 'user', NULL, NULL)",
    ] {
        let refused = client.batch_execute(&format!("SELECT tidemark_migration.{call}")).await.unwrap_err();
        assert_eq!(refused.code().map(|code| code.code()), Some("42501"), "{call}");
    }
}
