//! Values of the type `json` that PostgreSQL does not convert to `jsonb`: the character \u0000, and
//! numbers beyond the range of `numeric`.

use migration_tests::Migration;
use serde_json::json;
use tidemark_migrate::PhaseOutcome;
use tidemark_migrate::cutover::{Side, Writer};

use super::cutover::compared;

const SCHEMA: &str = r#"
    CREATE TABLE members (id text PRIMARY KEY, name text, raw json);
    CREATE TABLE notes (id int PRIMARY KEY, member_id text NOT NULL REFERENCES members, doc json, raw json[]);
    CREATE TABLE pages (note_id int REFERENCES notes ON DELETE CASCADE, page int, body text, PRIMARY KEY (note_id, page));
    INSERT INTO members SELECT 'm' || n, 'Member ' || n, '["\u0000"]' FROM generate_series(1, 4) AS n;
    INSERT INTO notes SELECT n, 'm' || n, '{"a": 1}', ARRAY['1e999999'::json] FROM generate_series(1, 4) AS n;
    INSERT INTO pages SELECT n, 1, 'A page' FROM generate_series(1, 4) AS n"#;

const MAPPING: &str = r#"
[target]
key = ["PK", "SK"]

[owners.member]
table = "members"
partitions = ["MEMBER#{$owner}"]

[tables.members]
owner = { kind = "member", column = "id" }
ignore = ["raw"]
columns = { id = "key", name = "text" }
[[tables.members.items]]
type = "member"
key = { PK = "MEMBER#{id}", SK = "MEMBER" }
attributes = { Name = "{name}" }

[tables.notes]
owner = { kind = "member", column = "member_id" }
ignore = ["raw"]
columns = { id = "integer", member_id = "key", doc = "json" }
joins.member = { table = "members", on = { id = "member_id" }, one = true }
[[tables.notes.items]]
type = "note"
key = { PK = "MEMBER#{$owner}", SK = "NOTE#{id}" }
attributes = { Doc = "{doc | json}", Name = "{member.name}" }

[tables.pages]
key = ["note_id", "page"]
owner = { kind = "member", column = "note_id", through = "notes" }
columns = { note_id = "integer", page = "integer", body = "text" }
[[tables.pages.items]]
type = "page"
key = { PK = "MEMBER#{$owner}", SK = "PAGE#{note_id}#{page}" }
attributes = { Body = "{body}" }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ignored_json_that_jsonb_refuses_stops_nothing() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    for sql in [
        "UPDATE members SET name = 'Ann' WHERE id = 'm1'",
        r#"UPDATE members SET raw = '"\u0000 again"', name = 'Ben' WHERE id = 'm2'"#,
        r#"INSERT INTO notes VALUES (5, 'm1', '{"b": 2}', ARRAY['"\u0000"'::json])"#,
        "INSERT INTO pages VALUES (5, 1, 'New')",
        "UPDATE pages SET body = 'Changed' WHERE note_id = 1",
        "UPDATE notes SET member_id = 'm4' WHERE id = 3",
        "DELETE FROM notes WHERE id = 2",
    ] {
        client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    for (to, side) in [("dual", Side::Postgres), ("100%", Side::Dynamo), ("0%", Side::Postgres)] {
        compared(&migration, to).await;
        let writer = Writer::new(migration.sides().await.unwrap());
        for (table, row) in [
            ("members", json!({ "id": "m4", "name": to })),
            ("notes", json!({ "id": 4, "member_id": "m4", "doc": { "to": to } })),
            ("pages", json!({ "note_id": 4, "page": 1, "body": to })),
        ] {
            assert_eq!(writer.put(&migration.row(table, &row)).await.unwrap(), side, "{to} {row}");
        }
        compared(&migration, to).await;
    }
    let left = "SELECT count(*) FROM members WHERE raw::text LIKE '%0000%'";
    assert_eq!(client.query_one(left, &[]).await.unwrap().get::<_, i64>(0), 4);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn later_json_that_jsonb_refuses_sets_only_its_user_aside() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    client.batch_execute(r#"UPDATE notes SET doc = '{"a": "\u0000"}' WHERE id = 1"#).await.unwrap();
    client.batch_execute(r#"UPDATE notes SET doc = '[1e999999]' WHERE id = 2"#).await.unwrap();
    client.batch_execute("UPDATE notes SET doc = '[3]' WHERE id = 3").await.unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "dual"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let report = migration.json("report-cutover.json").unwrap();
    let stuck: Vec<_> = report["stuck"].as_array().unwrap().iter().map(|one| one["user"].as_str().unwrap()).collect();
    assert_eq!(stuck, ["m1", "m2"], "{report}");
    assert!(report["stuck"][0]["detail"].as_str().unwrap().contains("row 1 of notes"), "{report}");
    // A corrected row, and one that is deleted.
    client.batch_execute("UPDATE notes SET doc = '[1]' WHERE id = 1; DELETE FROM notes WHERE id = 2").await.unwrap();
    for to in ["dual", "100%"] {
        compared(&migration, to).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn preflight_names_the_row_whose_json_is_refused() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute(r#"UPDATE notes SET doc = '{"a": "\u0000"}' WHERE id = 3"#).await.unwrap();
    let report = migration.report("preflight").await.unwrap();
    assert_eq!(report.json["stops"].as_array().unwrap().len(), 1, "{}", report.text);
    let stop = report.json["stops"][0].as_str().unwrap();
    for named in ["notes.doc (json)", "row 3", "Correct the value, or list the column in `ignore`"] {
        assert!(stop.contains(named), "{stop}");
    }
    let refused = migration.phase("cutover", &["--to", "capture"]).await.unwrap_err();
    assert!(refused.detail.contains("notes.doc (json)"), "{refused}");
}
