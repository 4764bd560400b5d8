//! Rows of one user that want one key in DynamoDB: when one of them gives it up, another takes it.

use migration_tests::Migration;
use serde_json::json;
use tidemark_migrate::cutover::Writer;

use super::cutover::compared;

const SCHEMA: &str = "
    CREATE TABLE tags (id int PRIMARY KEY, user_id text NOT NULL, label text);
    INSERT INTO users VALUES ('u1', 'User 1')";

const MAPPING: &str = r#"
[tables.tags]
owner = { kind = "user", column = "user_id" }
columns = { id = "integer", user_id = "key", label = "text" }
[[tables.tags.items]]
type = "lower"
key = { PK = "USER#{$owner}", SK = "LOWER#{label | lower}" }
on_conflict = "leave-out"
[[tables.tags.items]]
type = "upper"
key = { PK = "USER#{$owner}", SK = "UPPER#{label | upper}" }
on_conflict = "leave-out"
[[tables.tags.items]]
type = "trim"
key = { PK = "USER#{$owner}", SK = "TRIM#{label | trim}" }
on_conflict = "leave-out"
[[tables.tags.items]]
type = "prefix"
key = { PK = "USER#{$owner}", SK = "PREFIX#{label | prefix(32)}" }
on_conflict = "leave-out"
"#;

/// Values that Rust takes for equal in lower case, in upper case or without spaces, and PostgreSQL
/// does not, at least with the locale `C`; and two that begin alike.
const PAIRS: [(&str, &str); 9] = [
    ("ΟΔΟΣ", "οδος"),
    ("İzmir", "i\u{307}zmir"),
    ("É", "é"),
    ("\u{212a}", "k"),
    ("Straße", "STRASSE"),
    ("ﬁne", "FINE"),
    ("tab\t", "tab"),
    ("\u{a0}wide", "wide\u{2003}"),
    ("The first thirty-two characters are equal: one", "The first thirty-two characters are equal: other"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn key_of_equal_converted_values_passes_to_the_other_row() {
    let values = |n: usize| {
        let (one, other) = PAIRS[n];
        format!("({}, 'u1', '{one}'), ({}, 'u1', '{other}')", 2 * n, 2 * n + 1)
    };
    let rows: Vec<_> = (0..PAIRS.len()).map(values).collect();
    let insert = format!("INSERT INTO tags VALUES {}", rows.join(", "));
    let mut migration = Migration::of_users(&format!("{SCHEMA}; {insert}"), MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    compared(&migration, "dual").await;
    // Either row of each pair has the key.
    for gone in [0, 1] {
        client.batch_execute(&format!("DELETE FROM tags WHERE id % 2 = {gone}")).await.unwrap();
        compared(&migration, "dual").await;
        client.batch_execute(&format!("DELETE FROM tags; {insert}")).await.unwrap();
        compared(&migration, "dual").await;
    }
    compared(&migration, "100%").await;
    let writer = Writer::new(migration.sides().await.unwrap());
    for id in 0..PAIRS.len() {
        writer.delete(&migration.row("tags", &json!({ "id": 2 * id, "user_id": "u1" }))).await.unwrap();
    }
    compared(&migration, "100%").await;
}
