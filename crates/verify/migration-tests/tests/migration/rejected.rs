//! Rows that become too large for DynamoDB, or unreadable, after the export: each is named, and its
//! items stay.

use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::Migration;
use serde_json::{Value, json};
use tidemark_migrate::cutover::{Side, WriteError, Writer};
use tidemark_migrate::{FailureKind, PhaseOutcome};
use tokio_postgres::Client;

use super::any_schema;
use super::cutover::compared;

const SCHEMA: &str = "
    CREATE TABLE members (id text PRIMARY KEY, name text);
    CREATE TABLE notes (id text PRIMARY KEY, member_id text NOT NULL, body text, due timestamptz, price numeric);
    CREATE TABLE pages (note_id text, page int, body text, PRIMARY KEY (note_id, page));
    INSERT INTO members SELECT 'm' || n, 'Member ' || n FROM generate_series(1, 9) AS n;
    INSERT INTO notes SELECT 'n' || n, 'm' || n, 'A note' FROM generate_series(1, 9) AS n;
    INSERT INTO notes SELECT 'huge' || n, 'm' || n, repeat('x', 450000) FROM generate_series(1, 9, 4) AS n;
    INSERT INTO pages SELECT 'n' || n, 1, 'A page' FROM generate_series(1, 9) AS n";

const MAPPING: &str = r#"
[target]
key = ["PK", "SK"]

[owners.member]
table = "members"
partitions = ["MEMBER#{$owner}"]

[tables.members]
owner = { kind = "member", column = "id" }
columns = { id = "key", name = "text" }
[[tables.members.items]]
type = "member"
key = { PK = "MEMBER#{id}", SK = "MEMBER" }
attributes = { Name = "{name}" }

[tables.notes]
owner = { kind = "member", column = "member_id" }
columns = { id = "key", member_id = "key", body = "text", due = "time", price = "number" }
joins.pages = { table = "pages", on = { note_id = "id" }, order = ["page"] }
[[tables.notes.items]]
type = "note"
key = { PK = "MEMBER#{$owner}", SK = "NOTE#{id}" }
[tables.notes.items.attributes]
Body = "{body}"
Due = { value = "{due | instant}", on_error = "leave-out" }
Price = { value = "{price | number}", on_error = "leave-out" }
Pages = { each = "pages", attributes = { Body = "{body}" } }

[tables.pages]
key = ["note_id", "page"]
owner = { kind = "member", column = "note_id", through = "notes" }
columns = { note_id = "key", page = "integer", body = "text" }
"#;

/// The sort keys of a member's items.
async fn items_of(migration: &Migration, member: &str) -> Vec<String> {
    let items = migration.items().await.unwrap().into_keys();
    items.filter(|(partition, _)| *partition == format!("MEMBER#{member}")).map(|(_, sort)| sort).collect()
}

async fn dual() -> (Migration, Client) {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap(), PhaseOutcome::Done);
    (migration, client)
}

/// The members whom the last cutover has set aside, and the reasons.
fn stuck(migration: &Migration) -> Vec<(String, String)> {
    let report = migration.json("report-cutover.json").unwrap();
    let text = |stuck: &Value, name: &str| stuck[name].as_str().unwrap().to_owned();
    report["stuck"].as_array().unwrap().iter().map(|one| (text(one, "user"), text(one, "detail"))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_that_outgrows_dynamodb_sets_its_user_aside() {
    let (migration, client) = dual().await;
    let long = "k".repeat(1_100);
    let grow = format!(
        "UPDATE notes SET body = repeat('x', 450000) WHERE id = 'n1';
         UPDATE notes SET id = '{long}' WHERE id = 'n2';
         UPDATE members SET name = repeat('x', 450000) WHERE id = 'm3';
         INSERT INTO notes VALUES ('new', 'm4', repeat('x', 450000));
         INSERT INTO pages SELECT 'n5', n, repeat('x', 100000) FROM generate_series(2, 6) AS n;
         UPDATE notes SET body = 'Changed' WHERE id IN ('n6', 'huge5', 'huge9')"
    );
    client.batch_execute(&grow).await.unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "100%"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let named = [("m1", "row n1 of notes", "too-large"), ("m2", &*format!("row {long} of notes"), "invalid-id")];
    let named = named.into_iter().chain([
        ("m3", "row m3 of members", "too-large"),
        ("m4", "row new of notes", "too-large"),
        ("m5", "row n5 of notes", "too-large"),
    ]);
    let found = stuck(&migration);
    for ((user, detail), (expected, row, reason)) in found.iter().zip(named) {
        assert!(user == expected && detail.contains(row) && detail.contains(reason), "{user}: {detail}");
    }
    assert_eq!(found.len(), 5, "{found:?}");
    for n in 1..6 {
        let expected = ["MEMBER".to_owned(), format!("NOTE#n{n}")];
        assert!(items_of(&migration, &format!("m{n}")).await.starts_with(&expected), "{n}");
    }
    let stopped = migration.phase("cutover", &["--to", "finished"]).await.unwrap_err();
    assert_eq!(stopped.kind, FailureKind::UserStuck, "{stopped}");

    // Set aside, the rows are differences, which no repair removes.
    for (user, _) in &found {
        migration.phase("repair", &["--user", user, "--set-aside"]).await.unwrap();
    }
    client.batch_execute("UPDATE members SET name = repeat('y', 450000) WHERE id = 'm3'").await.unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "100%", "--compare"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let report = migration.json("report-cutover.json").unwrap();
    assert_eq!((&report["state"]["inDynamo"], &report["stuck"]), (&9.into(), &json!([])), "{report}");
    let rejected = |migration: &Migration| {
        let lines = migration.lines("differences-cutover.jsonl").unwrap();
        let rejected = lines.iter().filter(|line| line["what"] == "rejected");
        let mut rejected: Vec<_> = rejected.map(|line| line["id"].as_str().unwrap().to_owned()).collect();
        rejected.sort();
        rejected.dedup();
        rejected
    };
    assert_eq!(rejected(&migration), [&*long, "m3", "n1", "n3", "n5", "new"]);
    _ = migration.phase("repair", &["--differences"]).await.unwrap();
    let stopped = migration.phase("cutover", &["--to", "finished"]).await.unwrap_err();
    assert!(stopped.kind == FailureKind::Cutover && stopped.detail.contains("reject"), "{stopped}");
    for n in 1..6 {
        let items = items_of(&migration, &format!("m{n}")).await;
        let is_kept = ["MEMBER".to_owned(), format!("NOTE#n{n}")].iter().all(|sort| items.contains(sort));
        assert!(is_kept, "{n}: {items:?}");
    }

    // The way on: rows that fit.
    let writer = Writer::new(migration.sides().await.unwrap());
    for (table, fits) in [
        ("notes", json!({ "id": "n1", "member_id": "m1", "body": "Short" })),
        ("members", json!({ "id": "m3", "name": "Short" })),
        ("notes", json!({ "id": "new", "member_id": "m4", "body": "Short" })),
    ] {
        writer.put(&migration.row(table, &fits)).await.unwrap();
    }
    for page in 2..7 {
        writer.delete(&migration.row("pages", &json!({ "note_id": "n5", "page": page }))).await.unwrap();
    }
    writer.delete(&migration.row("notes", &json!({ "id": long, "member_id": "m2" }))).await.unwrap();
    // A moved user's row that outgrows DynamoDB by another row, with which it is joined.
    for n in 2..6 {
        let page = json!({ "note_id": "n6", "page": n, "body": "x".repeat(110_000) });
        let written = writer.put(&migration.row("pages", &page)).await;
        match n {
            5 => assert!(matches!(written, Err(WriteError::Refused(_))), "{written:?}"),
            _ => assert_eq!(written.unwrap(), Side::Dynamo),
        }
    }
    let compared = migration.phase("cutover", &["--to", "100%", "--compare"]).await.unwrap();
    assert_eq!((compared, rejected(&migration)), (PhaseOutcome::NeedsReview, vec![]));
    migration.phase("repair", &["--differences"]).await.unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "finished"]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(items_of(&migration, "m2").await, ["MEMBER"]);
    assert_eq!(items_of(&migration, "m4").await, ["MEMBER", "NOTE#n4", "NOTE#new"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn value_left_out_since_the_export_is_reported() {
    let (migration, client) = dual().await;
    let unstorable = "UPDATE notes SET due = 'infinity' WHERE id = 'n1';
         UPDATE notes SET price = 12345678901234567890123456789012345678901 WHERE id = 'n2'";
    client.batch_execute(unstorable).await.unwrap();
    for flags in
        [&["--to", "dual"][..], &["--to", "100%", "--compare"], &["--to", "100%", "--compare"], &["--to", "finished"]]
    {
        // A command reports what it replicates or compares.
        assert_eq!(migration.phase("cutover", flags).await.unwrap(), PhaseOutcome::NeedsReview, "{flags:?}");
        let report = migration.json("report-cutover.json").unwrap();
        let counts = json!({ "notes": { "unreadable-number": 1, "unreadable-time": 1 } });
        assert_eq!((&report["leftOut"], &report["stuck"]), (&counts, &json!([])), "{flags:?} {report}");
        let named = migration.lines("left-out-cutover.jsonl").unwrap();
        let named: Vec<_> = named.iter().map(|line| (&line["id"], &line["reason"], &line["kept"])).collect();
        let (time, number) = (&json!("unreadable-time"), &json!("unreadable-number"));
        assert_eq!(named, [(&json!("n1"), time, &json!(true)), (&json!("n2"), number, &json!(true))]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn comparison_of_both_sides_checks_markers() {
    let migration = Migration::of_schema(any_schema::SCHEMA, any_schema::MAPPING).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    compared(&migration, "dual").await;
    // A marker that leads to another customer, and one that nobody has.
    let s = |text: &str| AttributeValue::S(text.to_owned());
    for (phone, owner) in [("+1", "customer/2"), ("+999", "customer/3")] {
        let phone = format!("PHONE#{phone}");
        let marker = [("PK", &*phone), ("SK", "PHONE"), ("Type", "phone"), ("MigratedOwner", owner)];
        migration.put_item(marker.map(|(name, text)| (name.to_owned(), s(text))).into()).await.unwrap();
    }
    let compare = ["--to", "100%", "--compare"];
    assert_eq!(migration.phase("cutover", &compare).await.unwrap(), PhaseOutcome::NeedsReview);
    let named = migration.lines("differences-cutover.jsonl").unwrap();
    let markers = named.iter().filter(|line| line["what"] == "marker");
    let mut markers: Vec<_> =
        markers.map(|line| (line["kind"].as_str().unwrap(), line["partition"].as_str().unwrap())).collect();
    markers.sort_unstable();
    let alone = "phone-without-customer";
    assert_eq!(markers, [("customer-without-phone", "PHONE#+1"), (alone, "PHONE#+1"), (alone, "PHONE#+999")]);
    let stopped = migration.phase("cutover", &["--to", "finished"]).await.unwrap_err();
    assert_eq!(stopped.kind, FailureKind::Cutover, "{stopped}");

    // The first repair removes what leads nowhere, and the second one adds what is missing then.
    for left in [1, 0] {
        migration.phase("repair", &["--differences"]).await.unwrap();
        migration.phase("cutover", &compare).await.unwrap();
        let named = migration.lines("differences-cutover.jsonl").unwrap();
        let missing = named.iter().filter(|line| line["what"] == "missing").count();
        assert_eq!(missing, left, "{named:?}");
    }
    assert_eq!(migration.phase("cutover", &["--to", "finished"]).await.unwrap(), PhaseOutcome::Done);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn row_that_loses_its_key_since_the_export_is_reported() {
    let schema = "
        CREATE TABLE members (id text PRIMARY KEY, name text);
        CREATE TABLE tags (id int PRIMARY KEY, member_id text NOT NULL, label text, colour text);
        INSERT INTO members VALUES ('m1', 'Member 1');
        INSERT INTO tags SELECT n, 'm1', 'label ' || n, 'colour ' || n FROM generate_series(1, 4) AS n";
    let end = MAPPING.find("[tables.notes]").unwrap();
    let mapping = format!(
        "{}
[tables.tags]
owner = {{ kind = \"member\", column = \"member_id\" }}
columns = {{ id = \"integer\", member_id = \"key\", label = \"text\", colour = \"text\" }}
[[tables.tags.items]]
type = \"tag\"
key = {{ PK = \"MEMBER#{{$owner}}\", SK = \"TAG#{{label}}\" }}
[[tables.tags.items]]
type = \"colour\"
key = {{ PK = \"MEMBER#{{$owner}}\", SK = \"COLOUR#{{colour}}\" }}
on_conflict = \"leave-out\"
",
        &MAPPING[..end]
    );
    let mut migration = Migration::of_schema(schema, Box::leak(mapping.into_boxed_str())).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    let update = "UPDATE tags SET label = 'label' WHERE id < 3; UPDATE tags SET colour = 'colour' WHERE id > 2";
    client.batch_execute(update).await.unwrap();
    assert_eq!(migration.phase("cutover", &["--to", "dual", "--compare"]).await.unwrap(), PhaseOutcome::Done);
    let report = migration.json("report-cutover.json").unwrap();
    assert_eq!(report["leftOut"], json!({ "tags": { "duplicate": 2 } }), "{report}");
    let lines = migration.lines("left-out-cutover.jsonl").unwrap();
    let kept: Vec<_> = lines.iter().map(|line| line["kept"].as_bool().unwrap()).collect();
    assert!(kept == [false, true] || kept == [true, false], "{lines:?}");
    // Row 1 or 2 has no item, and row 3 or 4 has no item for its colour.
    let items = items_of(&migration, "m1").await;
    let count = |prefix: &str| items.iter().filter(|sort| sort.starts_with(prefix)).count();
    assert_eq!((count("TAG#"), count("COLOUR#")), (3, 2), "{items:?}");
}
