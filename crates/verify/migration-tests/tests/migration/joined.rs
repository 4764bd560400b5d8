//! Rows that are joined with rows of other owners, or of nobody: when such a row changes, their items
//! are made again, wherever their owners are.

use std::collections::BTreeMap;

use migration_tests::Migration;
use serde_json::json;
use tidemark_migrate::cutover::{Reader, Side, Writer};
use tidemark_migrate::mapping::Mapping;
use tidemark_migrate::row::Row;
use tidemark_migrate::{Command, PhaseOutcome, run_quietly};
use tokio_postgres::Client;

use super::cutover::compared;

const SCHEMA: &str = "
    CREATE TABLE countries (code text PRIMARY KEY, name text);
    CREATE TABLE users (id int PRIMARY KEY, name text, country text, seen int DEFAULT 0, blocked boolean NOT NULL DEFAULT false);
    CREATE TABLE teams (id int PRIMARY KEY, title text, lead int);
    CREATE INDEX ON teams (lead);
    CREATE TABLE members (team_id int, user_id int, role text, PRIMARY KEY (team_id, user_id));
    CREATE TABLE messages (id bigint PRIMARY KEY, from_id int, to_id int, body text);
    CREATE INDEX ON users (country);
    CREATE INDEX ON messages (to_id);
    INSERT INTO countries VALUES ('jp', 'Japan'), ('de', 'Germany');
    INSERT INTO users SELECT n, 'User ' || n, CASE n % 2 WHEN 0 THEN 'jp' ELSE 'de' END FROM generate_series(1, 9) AS n;
    INSERT INTO teams SELECT n, 'Team ' || n, n FROM generate_series(1, 3) AS n;
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

[tables.countries]
key = ["code"]
columns = { code = "text", name = "text" }

[tables.users]
owner = { kind = "user", column = "id" }
columns = { id = "integer", name = "text", country = "text", seen = "integer", blocked = "boolean" }
joins.country_of = { table = "countries", on = { code = "country" }, one = true }
[[tables.users.items]]
type = "user"
key = { PK = "{$owner}", SK = "PROFILE" }
attributes = { Name = "{name}", Country = "{country_of.name}" }

[tables.teams]
owner = { kind = "team", column = "id" }
columns = { id = "integer", title = "text", lead = "integer" }
joins.head = { table = "users", on = { id = "lead" }, one = true }
[[tables.teams.reject]]
reason = "blocked-lead"
when = "head.blocked"
expected = true
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
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load"] {
        assert_eq!(migration.phase(name, &[]).await.unwrap(), PhaseOutcome::Done, "{name}");
    }
    (migration, client)
}

fn row(table: &str, json: serde_json::Value) -> Row {
    Mapping::read(MAPPING, &[]).unwrap().row(table, &json.to_string()).unwrap()
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

/// How many items have the name of a country.
async fn of_country(migration: &Migration, name: &str) -> usize {
    let items = migration.items().await.unwrap();
    items.values().filter(|item| item.get("Country").is_some_and(|found| found.as_s().unwrap() == name)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_changed_row_reaches_the_items_of_other_owners_on_either_side() {
    let (mut migration, client) = loaded().await;
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
    let first = migration.path("first.txt");
    for (moved, side) in
        [("", Side::Postgres), ("team/1\nuser/2\n", Side::Postgres), ("team/1\nuser/5\n", Side::Dynamo)]
    {
        std::fs::write(&first, moved).unwrap();
        migration.phase("cutover", &["--to", "0%", "--first", &first.display().to_string()]).await.unwrap();
        let name = format!("Eve {}", moved.len());
        assert_eq!(writer.put(&row("users", json!({ "id": 5, "name": name }))).await.unwrap(), side);
        // The writer itself has made the items again.
        assert_eq!(named(&migration, &name).await, counts(1, 3, 0));
        compared(&migration, "0%").await;
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
async fn an_owner_who_is_rejected_because_of_a_joined_row_leaves_with_all_rows() {
    let (mut migration, _client) = loaded().await;
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let writer = Writer::new(migration.sides().await.unwrap());
    for to in ["dual", "100%"] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        for (blocked, expected) in [(true, 18), (false, 27)] {
            writer.put(&row("users", json!({ "id": 1, "blocked": blocked }))).await.unwrap();
            compared(&migration, to).await;
            let items = migration.items().await.unwrap();
            let members =
                items.values().filter(|item| item.get("Type").is_some_and(|kind| kind.as_s().unwrap() == "member"));
            assert_eq!(members.count(), expected, "{to}");
        }
    }
    let reader = Reader::new(migration.sides().await.unwrap());
    assert_eq!(reader.items("team/1", "member").await.unwrap().len(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rows_that_belong_to_nobody_may_be_joined_and_stay_in_postgresql_until_the_end() {
    let (mut migration, client) = loaded().await;
    let rename = "UPDATE countries SET name = $1 WHERE code = 'jp'";
    client.execute(rename, &[&"Zipangu"]).await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    assert_eq!(of_country(&migration, "Zipangu").await, 4);
    for (to, name) in [("dual", "Nippon"), ("100%", "Nihon")] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        client.execute(rename, &[&name]).await.unwrap();
        // Until then the comparison waits.
        let sides = migration.sides().await.unwrap();
        let take = |difference| panic!("{to}: {difference:?}");
        let (_, late) = sides.compare_all(4, take).await.unwrap();
        assert_eq!(late, 4, "{to}");
        compared(&migration, to).await;
        assert_eq!(of_country(&migration, name).await, 4, "{to}");
    }
    migration.phase("cutover", &["--to", "finished"]).await.unwrap();
    let late = client.batch_execute("UPDATE countries SET name = 'Late'").await.unwrap_err();
    assert_eq!(late.code().map(|code| code.code()), Some("TM001"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_preflight_names_joins_without_an_index_and_tables_whose_changes_are_not_captured() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let preflight = async |migration: &Migration| {
        let arguments = migration.arguments("preflight", &[]);
        let command = ["tidemark-migrate".to_owned()].into_iter().chain(arguments);
        run_quietly(<Command as clap::Parser>::parse_from(command), &migration.product).await.unwrap()
    };
    let report = preflight(&migration).await;
    assert_eq!(report.json["stops"], json!([]));
    assert_eq!(report.json["warnings"].as_array().unwrap().len(), 1, "{}", report.text);
    assert!(report.text.contains("members is joined with users by user_id, and has no index"), "{}", report.text);
    // A large table without an index for its owners.
    let large = "INSERT INTO messages SELECT n, 1, 1, repeat('x', 1000) FROM generate_series(10000, 20000) AS n";
    client.batch_execute(large).await.unwrap();
    let report = preflight(&migration).await;
    assert!(report.text.contains("messages has no index that begins with from_id"), "{}", report.text);
    let change = "CREATE TABLE old_messages () INHERITS (messages);
        ALTER TABLE countries RENAME TO all_countries; CREATE VIEW countries AS SELECT * FROM all_countries";
    client.batch_execute(change).await.unwrap();
    let report = preflight(&migration).await;
    let stops = report.json["stops"].to_string();
    for expected in ["old_messages inherit from messages", "countries is no table"] {
        assert!(stops.contains(expected), "{stops}");
    }
}
