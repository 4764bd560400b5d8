//! Rows of two tables, or two columns, that want one key in DynamoDB: when one row gives the key up,
//! the best of the others takes it.

use migration_tests::Migration;
use serde_json::{Value, json};
use tidemark_migrate::cutover::{Reader, Side, Writer};

use super::cutover::compared;

const SCHEMA: &str = "
    CREATE TABLE tags (id int PRIMARY KEY, user_id text NOT NULL, label text NOT NULL, alias text);
    CREATE TABLE words (id int PRIMARY KEY, user_id text NOT NULL, first text, second varchar(8), code int, token uuid);
    INSERT INTO users VALUES ('u1', 'User 1');
    INSERT INTO tags SELECT 20 + n, 'u1', label FROM unnest(ARRAY['Alpha', 'beta', '0007',
        '6f9619ff-8b86-d011-b42d-00c04fc964ff', 'longer than eight']) WITH ORDINALITY AS tag (label, n);
    INSERT INTO words VALUES (1, 'u1', ' ALPHA ', 'beta', 7, '6f9619ff-8b86-d011-b42d-00c04fc964ff'),
        (2, 'u1', 'delta', 'gamma', NULL, NULL), (3, 'u1', 'eta', 'delta', NULL, NULL)";

/// Of two rows that want one name, the one with the greater id gets it. A tag whose alias belongs to
/// another one has no items.
const MAPPING: &str = r#"
[tables.tags]
owner = { kind = "user", column = "user_id" }
columns = { id = "integer", user_id = "key", label = "text", alias = "text" }
[[tables.tags.items]]
type = "tag"
key = { PK = "USER#{$owner}", SK = "NAME#{label | lower}" }
on_conflict = "leave-out"
prefer = ["id"]
attributes = { Of = "{id}" }
[[tables.tags.items]]
type = "alias"
key = { PK = "USER#{$owner}", SK = "ALIAS#{alias}" }
when = "alias is not null"
prefer = ["id"]
attributes = { Of = "{id}" }

[tables.words]
owner = { kind = "user", column = "user_id" }
columns = { id = "integer", user_id = "key", first = "text", second = "text", code = "integer", token = "key" }
[[tables.words.items]]
type = "first"
key = { PK = "USER#{$owner}", SK = "NAME#{first | trim | lower}" }
when = "first is not null"
on_conflict = "leave-out"
prefer = ["id"]
[[tables.words.items]]
type = "second"
key = { PK = "USER#{$owner}", SK = "NAME#{second}" }
when = "second is not null"
on_conflict = "leave-out"
prefer = ["id"]
[[tables.words.items]]
type = "code"
key = { PK = "USER#{$owner}", SK = "NAME#{code | pad(4)}" }
when = "code is not null"
on_conflict = "leave-out"
prefer = ["id"]
[[tables.words.items]]
type = "token"
key = { PK = "USER#{$owner}", SK = "NAME#{token}" }
when = "token is not null"
on_conflict = "leave-out"
prefer = ["id"]
"#;

/// The type of the item with this sort key; empty if there is none.
async fn kind(migration: &Migration, sort: &str) -> String {
    let items = migration.items().await.unwrap();
    let item = items.get(&("USER#u1".to_owned(), sort.to_owned()));
    item.and_then(|item| item["Type"].as_s().ok().cloned()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn key_passes_to_the_best_row_of_another_table() {
    let mut migration = Migration::of_users(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    compared(&migration, "dual").await;
    let token = "NAME#6f9619ff-8b86-d011-b42d-00c04fc964ff";
    for (sql, sort, expected) in [
        ("DELETE FROM tags WHERE id = 21", "NAME#alpha", "first"),
        ("UPDATE tags SET label = 'other' WHERE id = 22", "NAME#beta", "second"),
        ("DELETE FROM tags WHERE id = 23", "NAME#0007", "code"),
        ("DELETE FROM tags WHERE id = 24", token, "token"),
        ("UPDATE words SET second = NULL WHERE id = 3", "NAME#delta", "first"),
        (
            "INSERT INTO tags VALUES (25, 'u1', 'DELTA') ON CONFLICT (id) DO UPDATE SET label = 'DELTA'",
            "NAME#delta",
            "tag",
        ),
    ] {
        client.batch_execute(sql).await.unwrap();
        compared(&migration, "dual").await;
        assert_eq!(kind(&migration, sort).await, expected, "{sql}");
    }
    compared(&migration, "100%").await;
    let writer = Writer::new(migration.sides().await.unwrap());
    let tag = |id: i32, label: &str| migration.row("tags", &json!({ "id": id, "user_id": "u1", "label": label }));
    let word = |second: Value| migration.row("words", &json!({ "id": 3, "user_id": "u1", "second": second }));
    for (row, is_gone, sort, expected) in [
        (tag(21, "alpha"), false, "NAME#alpha", "tag"),
        (tag(21, "0007"), false, "NAME#alpha", "first"),
        (tag(21, "0007"), true, "NAME#0007", "code"),
        (tag(22, "beta"), false, "NAME#beta", "tag"),
        (tag(22, &token[5..]), false, token, "tag"),
        (tag(22, ""), true, token, "token"),
        (tag(25, "longer"), false, "NAME#delta", "first"),
        (word(json!("delta")), false, "NAME#delta", "second"),
        (word(Value::Null), false, "NAME#delta", "first"),
    ] {
        let side = if is_gone { writer.delete(&row).await } else { writer.put(&row).await };
        assert_eq!(side.unwrap(), Side::Dynamo, "{row:?}");
        assert_eq!(kind(&migration, sort).await, expected, "{row:?} {sort}");
        compared(&migration, "100%").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_that_gains_one_key_leaves_others_to_better_rows() {
    let mut migration = Migration::of_users(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    // Tag 40 wants the name of tag 50, and the alias of tag 45.
    let insert = "INSERT INTO tags VALUES (40, 'u1', 'x', 'y'), (45, 'u1', 'z', 'y'), (50, 'u1', 'x', 'w')";
    client.batch_execute(insert).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    compared(&migration, "dual").await;
    client.batch_execute("DELETE FROM tags WHERE id = 50").await.unwrap();
    compared(&migration, "dual").await;
    client.batch_execute("INSERT INTO tags VALUES (50, 'u1', 'x', 'w')").await.unwrap();
    compared(&migration, "100%").await;
    let writer = Writer::new(migration.sides().await.unwrap());
    let best = migration.row("tags", &json!({ "id": 50, "user_id": "u1" }));
    assert_eq!(writer.delete(&best).await.unwrap(), Side::Dynamo);
    compared(&migration, "100%").await;
    assert_eq!(kind(&migration, "NAME#x").await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reader_sees_no_item_whose_key_another_table_has() {
    let migration = Migration::of_users(SCHEMA, MAPPING).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    for to in ["dual", "100%"] {
        compared(&migration, to).await;
        let reader = Reader::new(migration.sides().await.unwrap());
        for (kind, expected) in [("first", vec!["NAME#eta"]), ("second", vec!["NAME#delta", "NAME#gamma"])] {
            let found: Vec<_> = reader.items("u1", kind).await.unwrap().into_keys().map(|key| key.sort).collect();
            assert_eq!(found, expected, "{to}");
        }
    }
}
