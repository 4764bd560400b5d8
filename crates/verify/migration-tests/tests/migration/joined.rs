//! Rows that are joined with rows of other owners: when such a row changes, their items are made
//! again, wherever their owners are.

use std::collections::BTreeMap;

use migration_tests::Migration;
use serde_json::{Value, json};
use tidemark_migrate::PhaseOutcome;
use tidemark_migrate::cutover::ownership::bucket;
use tidemark_migrate::cutover::{Side, Writer};
use tokio_postgres::Client;

use super::cutover::compared;

const SCHEMA: &str = "
    CREATE TABLE users (id int PRIMARY KEY, name text, seen int DEFAULT 0);
    CREATE TABLE teams (id int PRIMARY KEY, title text);
    CREATE TABLE members (team_id int, user_id int, role text, PRIMARY KEY (team_id, user_id));
    CREATE TABLE messages (id bigint PRIMARY KEY, from_id int, to_id int, body text);
    CREATE INDEX ON messages (to_id);
    INSERT INTO users SELECT n, 'User ' || n FROM generate_series(1, 9) AS n;
    INSERT INTO teams SELECT n, 'Team ' || n FROM generate_series(1, 3) AS n;
    INSERT INTO members SELECT team, member, 'guest' FROM generate_series(1, 3) AS team, generate_series(1, 9) AS member;
    INSERT INTO messages SELECT n, 1 + n % 9, 1 + n / 9 % 2, 'Message ' || n FROM generate_series(1, 700) AS n;";

const MAPPING: &str = r#"
[target]
key = ["PK", "SK"]

[owners.user]
table = "users"
prefix = "user/"
partitions = ["{$owner}"]

[owners.team]
table = "teams"
prefix = "team/"
partitions = ["{$owner}"]

[tables.users]
owner = { kind = "user", column = "id" }
columns = { id = "integer", name = "text", seen = "integer" }
[[tables.users.items]]
type = "user"
key = { PK = "{$owner}", SK = "PROFILE" }
attributes = { Name = "{name}" }

[tables.teams]
owner = { kind = "team", column = "id" }
columns = { id = "integer", title = "text" }
[[tables.teams.items]]
type = "team"
key = { PK = "{$owner}", SK = "TEAM" }
attributes = { Title = "{title}" }

[tables.members]
key = ["team_id", "user_id"]
owner = { kind = "team", column = "team_id" }
columns = { team_id = "integer", user_id = "integer", role = "text" }
joins.user = { table = "users", on = { id = "user_id" }, one = true }
[[tables.members.reject]]
reason = "no-user"
when = "user.id is null"
[[tables.members.items]]
type = "member"
key = { PK = "{$owner}", SK = "MEMBER#{user_id}" }
attributes = { Name = "{user.name}", Role = "{role}" }

[tables.messages]
owner = { kind = "user", column = "from_id" }
columns = { id = "integer", from_id = "integer", to_id = "integer", body = "text" }
joins.recipient = { table = "users", on = { id = "to_id" }, one = true }
[[tables.messages.items]]
type = "message"
key = { PK = "{$owner}", SK = "MESSAGE#{id | pad(9)}" }
attributes = { To = "{recipient.name}", Body = "{body}" }
"#;

async fn loaded() -> (Migration, Client) {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    (migration, client)
}

/// How many items have a user's name, by type.
async fn named(migration: &Migration, name: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for item in migration.items().await.unwrap().values() {
        let of = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str);
        if of("Name") == name || of("To") == name {
            *found.entry(of("Type").to_owned()).or_default() += 1;
        }
    }
    found
}

fn counts(user: usize, members: usize, messages: usize) -> BTreeMap<String, usize> {
    let all = [("user", user), ("member", members), ("message", messages)];
    all.into_iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.to_owned(), count)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changed_row_updates_joined_items_of_other_owners() {
    let (migration, client) = loaded().await;
    // Before the first replication, and more rows than a writer touches.
    client.batch_execute("UPDATE users SET name = 'Ann' WHERE id = 1").await.unwrap();
    compared(&migration, "dual").await;
    let messages = client.query_one("SELECT count(*) FROM messages WHERE to_id = 1", &[]).await.unwrap();
    let messages = usize::try_from(messages.get::<_, i64>(0)).unwrap();
    assert!(messages > 300);
    assert_eq!(named(&migration, "Ann").await, counts(1, 3, messages));
    // A column that no other row uses makes no work.
    client.batch_execute("UPDATE users SET seen = seen + 1").await.unwrap();
    let pending = "SELECT count(*) FROM tidemark_migration.joined_changes";
    assert_eq!(client.query_one(pending, &[]).await.unwrap().get::<_, i64>(0), 0);

    let writer = Writer::new(migration.sides().await.unwrap());
    let row = |table: &str, json: Value| migration.row(table, &json);
    // Some of the owners have moved, without the user or with the user.
    let percent = bucket("user/7");
    for (percent, side) in [(0, Side::Postgres), (percent, Side::Postgres), (percent + 1, Side::Dynamo)] {
        let to = format!("{percent}%");
        migration.phase("cutover", &["--to", &to]).await.unwrap();
        let name = format!("Eve {percent}");
        assert_eq!(writer.put(&row("users", json!({ "id": 7, "name": name }))).await.unwrap(), side);
        // The writer itself has made the items again.
        assert_eq!(named(&migration, &name).await, counts(1, 3, 0));
        compared(&migration, &to).await;
    }
    for (to, name) in [("100%", "Bob"), ("0%", "Cem")] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        writer.put(&row("users", json!({ "id": 1, "name": name }))).await.unwrap();
        compared(&migration, to).await;
        assert_eq!(named(&migration, name).await, counts(1, 3, messages));
        // A row that is new in DynamoDB has the rows with which it is joined.
        let member = json!({ "team_id": 2, "user_id": 1, "role": to });
        writer.delete(&row("members", member.clone())).await.unwrap();
        writer.put(&row("members", member)).await.unwrap();
        assert_eq!(named(&migration, name).await, counts(1, 3, messages));
        compared(&migration, to).await;
    }
    // A deleted row is joined with nothing any more.
    writer.delete(&row("users", json!({ "id": 9 }))).await.unwrap();
    compared(&migration, "0%").await;
    assert_eq!(named(&migration, "User 9").await, counts(0, 0, 0));
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn preflight_names_joins_without_index_and_uncaptured_tables() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let report = migration.report("preflight").await.unwrap();
    assert_eq!(report.json["stops"], json!([]));
    assert_eq!(report.json["warnings"].as_array().unwrap().len(), 1, "{}", report.text);
    assert!(report.text.contains("members is joined with users by user_id, and has no index"), "{}", report.text);
    // A large table without an index for its owners.
    let large = "INSERT INTO messages SELECT n, 1, 1, repeat('x', 1000) FROM generate_series(10000, 20000) AS n";
    client.batch_execute(large).await.unwrap();
    let report = migration.report("preflight").await.unwrap();
    assert!(report.text.contains("messages has no index that begins with from_id"), "{}", report.text);
    let change = "CREATE TABLE old_messages () INHERITS (messages);
        ALTER TABLE members RENAME TO all_members; CREATE VIEW members AS SELECT * FROM all_members";
    client.batch_execute(change).await.unwrap();
    let report = migration.report("preflight").await.unwrap();
    let stops = report.json["stops"].to_string();
    for expected in ["old_messages inherits from messages", "members is no table"] {
        assert!(stops.contains(expected), "{stops}");
    }
}
