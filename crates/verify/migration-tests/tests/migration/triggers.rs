//! What PostgreSQL computes or refuses by itself: defaults, computed columns, triggers and
//! constraints.

use std::collections::BTreeMap;

use migration_tests::Migration;
use tidemark_migrate::PhaseOutcome;
use tidemark_migrate::cutover::{Side, WriteError, Writer};

use super::cutover::compared;

const SCHEMA: &str = "
    CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN NEW.updated_at := clock_timestamp(); NEW.changes := coalesce(OLD.changes, 0) + 1; RETURN NEW; END';
    CREATE TABLE members (id text PRIMARY KEY, name text NOT NULL, updated_at timestamptz, changes integer);
    CREATE TABLE notes (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        member_id text NOT NULL REFERENCES members,
        title text NOT NULL CHECK (title <> ''),
        slug text GENERATED ALWAYS AS (lower(title)) STORED,
        created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        updated_at timestamptz,
        changes integer);
    CREATE TABLE links (note_id bigint REFERENCES notes, url text, member_id text NOT NULL REFERENCES members, PRIMARY KEY (note_id, url));
    CREATE TRIGGER touch BEFORE INSERT OR UPDATE ON members FOR EACH ROW EXECUTE FUNCTION touch();
    CREATE TRIGGER touch BEFORE INSERT OR UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION touch();
    INSERT INTO members (id, name) VALUES ('ann', 'Ann'), ('bob', 'Bob');
    INSERT INTO notes (member_id, title) VALUES ('ann', 'First'), ('bob', 'Second')";

/// The texts and numbers of Ann's item with this sort key.
async fn item(migration: &Migration, sort: &str) -> BTreeMap<String, String> {
    let items = migration.items().await.unwrap();
    let found = items.get(&("MEMBER#ann".to_owned(), sort.to_owned())).unwrap_or_else(|| panic!("no {sort}"));
    let text = |(name, value): (&String, &aws_sdk_dynamodb::types::AttributeValue)| {
        Some((name.clone(), value.as_s().or(value.as_n()).ok()?.clone()))
    };
    found.iter().filter_map(text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn both_sides_store_what_defaults_triggers_and_computed_columns_give() {
    let mut migration = Migration::of_draft(SCHEMA).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    for to in ["dual", "100%"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
    }
    let writer = Writer::new(migration.sides().await.unwrap());
    let row = |table: &str, json: &str| migration.row(table, &serde_json::from_str(json).unwrap());
    let before = item(&migration, "NOTE#0000000000000000001").await;
    for (table, json) in [
        ("members", r#"{"id": "ann", "name": "Anna"}"#),
        ("notes", r#"{"id": 1, "member_id": "ann", "title": "Changed"}"#),
        ("notes", r#"{"id": 77, "member_id": "ann", "title": "New"}"#),
        ("links", r#"{"note_id": 77, "url": "x", "member_id": "ann"}"#),
    ] {
        assert_eq!(writer.put(&row(table, json)).await.unwrap(), Side::Dynamo, "{json}");
    }
    let changed = item(&migration, "NOTE#0000000000000000001").await;
    assert_eq!((changed["Slug"].as_str(), changed["Changes"].as_str()), ("changed", "2"));
    assert!(changed["UpdatedAt"] > before["UpdatedAt"] && changed["CreatedAt"] == before["CreatedAt"], "{changed:?}");
    let new = item(&migration, "NOTE#0000000000000000077").await;
    assert!(new["Slug"] == "new" && new["Changes"] == "1" && new["CreatedAt"] > before["CreatedAt"], "{new:?}");
    compared(&migration, "100%").await;

    // PostgreSQL would refuse these later, when DynamoDB has them already.
    for (table, json) in [
        ("notes", r#"{"id": 1, "member_id": "ann", "title": ""}"#),
        ("notes", r#"{"id": 78, "member_id": "ann", "title": null}"#),
        ("links", r#"{"note_id": 999, "url": "x", "member_id": "ann"}"#),
    ] {
        let refused = writer.put(&row(table, json)).await.unwrap_err();
        assert!(matches!(refused, WriteError::Refused(_)), "{json}: {refused}");
    }
    let refused = writer.delete(&row("notes", r#"{"id": 77, "member_id": "ann"}"#)).await.unwrap_err();
    assert!(matches!(refused, WriteError::Refused(_)), "{refused}");
    writer.delete(&row("links", r#"{"note_id": 77, "url": "x", "member_id": "ann"}"#)).await.unwrap();
    writer.delete(&row("notes", r#"{"id": 77, "member_id": "ann"}"#)).await.unwrap();
    compared(&migration, "100%").await;
    compared(&migration, "0%").await;
    let client = migration.postgres.client().await.unwrap();
    let left = client.query_one("SELECT string_agg(title, ' ' ORDER BY id) FROM notes", &[]).await.unwrap();
    assert_eq!(left.get::<_, &str>(0), "Changed Second");
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
}
