//! Foreign keys that lead from one migrated table to another through tables that are not migrated.

use migration_tests::Migration;
use serde_json::json;
use tidemark_migrate::cutover::{Side, Writer};

use super::cutover::compared;

/// A shelf stands in a folder or on another shelf. Notes may lie on the shelves of other users.
const SCHEMA: &str = "
    CREATE TABLE folders (id int PRIMARY KEY, user_id text NOT NULL REFERENCES users);
    CREATE TABLE shelves (id int PRIMARY KEY, folder_id int REFERENCES folders ON DELETE CASCADE,
        below int REFERENCES shelves ON DELETE CASCADE);
    CREATE TABLE notes (id int PRIMARY KEY, user_id text NOT NULL REFERENCES users, shelf_id int REFERENCES shelves ON DELETE CASCADE,
        second_shelf int REFERENCES shelves ON DELETE SET NULL);
    INSERT INTO users SELECT 'u' || n, 'User ' || n FROM generate_series(1, 9) AS n;
    INSERT INTO folders SELECT n, 'u' || n FROM generate_series(1, 9) AS n;
    INSERT INTO shelves SELECT n, n FROM generate_series(1, 9) AS n;
    INSERT INTO shelves SELECT 10 + n, NULL, n FROM generate_series(1, 9) AS n;
    INSERT INTO shelves SELECT 20 + n, NULL, 10 + n FROM generate_series(1, 9) AS n;
    INSERT INTO notes SELECT 100 * depth + n, 'u' || n, 10 * depth + n FROM generate_series(1, 4) AS n, generate_series(0, 2) AS depth;
    INSERT INTO notes VALUES (1000, 'u9', 23, NULL), (2000, 'u9', NULL, 4)";

const MAPPING: &str = r#"
[tables.folders]
owner = { kind = "user", column = "user_id" }
columns = { id = "integer", user_id = "key" }
[[tables.folders.items]]
type = "folder"
key = { PK = "USER#{$owner}", SK = "FOLDER#{id}" }

[tables.notes]
owner = { kind = "user", column = "user_id" }
columns = { id = "integer", user_id = "key", shelf_id = "integer", second_shelf = "integer" }
[[tables.notes.items]]
type = "note"
key = { PK = "USER#{$owner}", SK = "NOTE#{id}" }
attributes = { Second = "{second_shelf}" }
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn delete_that_cascades_through_unmapped_tables_reaches_dynamodb() {
    let migration = Migration::of_users(SCHEMA, MAPPING).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    for to in ["dual", "100%"] {
        compared(&migration, to).await;
    }
    let writer = Writer::new(migration.sides().await.unwrap());
    // The notes of the user alone, and those of another user: deleted, or changed.
    for (n, side, gone) in [(1, Side::Dynamo, 3), (3, Side::Postgres, 4), (4, Side::Postgres, 3), (5, Side::Dynamo, 0)]
    {
        let before = migration.items().await.unwrap().len();
        let folder = migration.row("folders", &json!({ "id": n, "user_id": format!("u{n}") }));
        assert_eq!(writer.delete(&folder).await.unwrap(), side, "{n}");
        compared(&migration, "100%").await;
        assert_eq!(before - migration.items().await.unwrap().len(), 1 + gone, "{n}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn capture_names_the_grant_on_a_table_between() {
    let mut migration = Migration::of_users(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let role = "CREATE ROLE application LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON users, folders TO application";
    client.batch_execute(role).await.unwrap();
    let capture = ["--to", "capture", "--application-role", "application"];
    for table in ["notes", "shelves"] {
        let refused = migration.phase("cutover", &capture).await.unwrap_err().to_string();
        let grant = format!("GRANT SELECT ON \"public\".\"{table}\" TO application;");
        assert!(refused.contains(&grant), "{refused}");
        client.batch_execute(&grant).await.unwrap();
    }
    migration.phase("cutover", &capture).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn preflight_refuses_a_cascade_through_another_schema() {
    let mut migration = Migration::of_users(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let stops = async |sql: &str| {
        client.batch_execute(sql).await.unwrap();
        migration.report("preflight").await.unwrap().json["stops"].clone()
    };
    let shelves = "CREATE SCHEMA other; CREATE TABLE other.shelves (id int PRIMARY KEY, folder_id int REFERENCES folders ON DELETE CASCADE);
        INSERT INTO other.shelves SELECT n, n FROM generate_series(1, 9) AS n;
        CREATE TABLE other.rooms (id int PRIMARY KEY, folder_id int REFERENCES folders ON UPDATE CASCADE);
        INSERT INTO other.rooms SELECT generate_series(1, 99); ALTER TABLE notes ADD FOREIGN KEY (shelf_id) REFERENCES other.rooms ON UPDATE CASCADE";
    assert_eq!(stops(shelves).await, json!([]));
    let notes = "ALTER TABLE notes ADD FOREIGN KEY (second_shelf) REFERENCES other.shelves ON DELETE SET NULL";
    let found = stops(notes).await.to_string();
    assert!(found.contains("foreign keys lead from folders to notes through other.shelves"), "{found}");
}
