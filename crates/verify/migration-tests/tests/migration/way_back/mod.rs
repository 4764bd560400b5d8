//! The way back after `finished`: the new application has written items, and knows nothing of
//! PostgreSQL.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use migration_tests::Migration;
use migration_tests::migration::Item;
use tidemark_migrate::{FailureKind, PhaseOutcome};

mod computed;
mod rounded;

const SCHEMA: &str = "
    CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.updated_at := now(); RETURN NEW; END';
    CREATE TABLE members (id integer PRIMARY KEY, name text NOT NULL, joined_on date, settings jsonb, updated_at timestamp NOT NULL);
    CREATE TABLE notes (
        id bigserial PRIMARY KEY, member_id integer NOT NULL REFERENCES members, title text NOT NULL, price numeric(30, 12),
        tags text[], photo bytea, state text NOT NULL CHECK (state IN ('open', 'done')), written_on timestamptz NOT NULL, internal text);
    CREATE TABLE comments (note_id bigint REFERENCES notes, number smallint, body text, PRIMARY KEY (note_id, number));
    CREATE TABLE visits (id serial PRIMARY KEY, member_id integer NOT NULL REFERENCES members, at timestamptz NOT NULL, is_paid boolean NOT NULL DEFAULT false);
    INSERT INTO members SELECT n, 'Member ' || n, date '2024-01-01' + n, jsonb_build_object('n', n), timestamp '2024-05-05 05:05' FROM generate_series(1, 30) AS n;
    CREATE TRIGGER touch BEFORE INSERT OR UPDATE ON members FOR EACH ROW EXECUTE FUNCTION touch();
    INSERT INTO notes (member_id, title, price, tags, photo, state, written_on, internal)
        SELECT 1 + n % 30, 'Note ' || n, n * 1.000000000001, ARRAY['a', 'b' || n], decode('00ff', 'hex'), 'open', timestamptz '2024-03-03 12:00Z' + n * interval '5 hours', 'i' || n
        FROM generate_series(1, 120) AS n;
    INSERT INTO comments SELECT n, m, 'Comment ' || n || '.' || m FROM generate_series(1, 120) AS n, generate_series(1, 2) AS m;
    INSERT INTO visits (member_id, at) SELECT 1 + n % 30, timestamptz '2024-06-01 03:00Z' + n * interval '1 day' FROM generate_series(1, 60) AS n";

const MAPPING: &str = r##"
[target]
key = ["PK", "SK"]

[parameters.zone]
kind = "zone"
about = "The zone of the visits."

[owners.member]
table = "members"
partitions = ["MEMBER#{$owner}"]

[tables.members]
owner = { kind = "member", column = "id" }
columns = { id = "integer", name = "text", joined_on = "date", settings = "json", updated_at = "time" }
[[tables.members.items]]
type = "member"
key = { PK = "MEMBER#{id}", SK = "MEMBER" }
attributes = { Name = "{name | trim}", JoinedOn = "{joined_on | date}", Settings = "{settings | json}", UpdatedAt = "{updated_at | instant}" }

[tables.notes]
owner = { kind = "member", column = "member_id" }
ignore = ["internal"]
columns = { id = "integer", member_id = "integer", title = "text", price = "number", tags = "array", photo = "bytes", state = "text", written_on = "time" }
[[tables.notes.items]]
type = "note"
key = { PK = "MEMBER#{member_id}", SK = "NOTE#{written_on | sortable}#{id | pad(8)}" }
[tables.notes.items.attributes]
Title = "{title}"
Price = "{price | number}"
Tags = "{tags | string_set}"
Photo = "{photo | bytes}"
State = "{state | map('open', 'OPEN', 'done', 'DONE')}"
IsDone = "{state = 'done'}"
[[tables.notes.items]]
type = "note_id"
key = { PK = "NOTE#{id}", SK = "NOTE" }

[tables.comments]
key = ["note_id", "number"]
owner = { kind = "member", column = "note_id", through = "notes" }
columns = { note_id = "integer", number = "integer", body = "text" }
[[tables.comments.items]]
type = "comment"
key = { PK = "MEMBER#{$owner}", SK = "COMMENT#{note_id | pad(8)}#{number | pad(3)}" }
attributes = { Body = "{body}" }

[tables.visits]
owner = { kind = "member", column = "member_id" }
columns = { id = "integer", member_id = "integer", at = "time", is_paid = "boolean" }
[[tables.visits.items]]
type = "visit"
key = { PK = "MEMBER#{member_id}", SK = "VISIT#{at | date($zone)}" }
attributes = { IsPaid = "{is_paid}" }
"##;

fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn n(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

fn item(partition: &str, sort: &str, kind: &str, more: Vec<(&str, AttributeValue)>) -> Item {
    let own = [("PK", s(partition)), ("SK", s(sort)), ("Type", s(kind))];
    own.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The new application.
struct Application<'m>(&'m Migration);

impl Application<'_> {
    async fn put(&self, item: Item) {
        self.0.put_item(item).await.unwrap();
    }

    async fn delete(&self, partition: &str, sort: &str) {
        self.0.delete_item(partition, sort).await.unwrap();
    }

    /// The item whose sort key begins so.
    async fn get(&self, partition: &str, begin: &str) -> Item {
        let items = self.0.items().await.unwrap();
        let found = items.into_iter().find(|((of, sort), _)| of == partition && sort.starts_with(begin));
        found.unwrap_or_else(|| panic!("no {partition} {begin}")).1
    }
}

/// A digest of the rows for which a condition holds.
async fn digest(migration: &mut Migration, table: &str, filter: &str) -> (i64, String) {
    let sql = format!(
        "SELECT count(*), coalesce(md5(string_agg(this::text, '|' ORDER BY this::text)), '') FROM {table} AS this WHERE {filter}"
    );
    let row = migration.postgres.client().await.unwrap().query_one(&sql, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

/// The lines about what is not brought back, in any order.
fn not_returned(migration: &Migration) -> BTreeSet<String> {
    let lines = migration.lines("not-returned.jsonl").unwrap();
    lines.iter().map(serde_json::Value::to_string).collect()
}

async fn finished(flags: &[&str]) -> Migration {
    let migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    to_finished(&migration, flags).await;
    migration
}

async fn to_finished(migration: &Migration, flags: &[&str]) {
    migration.captured_and_loaded().await.unwrap();
    for to in ["dual", "100%"] {
        assert_eq!(migration.phase("cutover", &["--to", to]).await.unwrap(), PhaseOutcome::Done);
    }
    migration.phase("cutover", &[&["--to", "finished"], flags].concat()).await.unwrap();
}

/// Rows of members whom the new application leaves alone.
const OTHERS: [(&str, &str); 3] = [
    ("members", "id BETWEEN 4 AND 30"),
    ("notes", "member_id BETWEEN 4 AND 30"),
    ("visits", "member_id BETWEEN 2 AND 30"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn way_back_returns_new_data_and_names_the_rest() {
    let mut migration = finished(&["--way-back", "14"]).await;
    let mut before = Vec::new();
    for (table, filter) in OTHERS {
        before.push(digest(&mut migration, table, filter).await);
    }
    let application = Application(&migration);
    // Changed attributes, a changed key, an attribute that PostgreSQL has no column for.
    let mut member = application.get("MEMBER#1", "MEMBER").await;
    member.insert("Name".to_owned(), s("Renamed"));
    member.insert("JoinedOn".to_owned(), s("2026-01-02"));
    let settings =
        HashMap::from([("list".to_owned(), AttributeValue::L(vec![n("1.5"), AttributeValue::Null(true), s("x")]))]);
    member.insert("Settings".to_owned(), AttributeValue::M(settings));
    member.insert("UpdatedAt".to_owned(), s("2026-02-03T04:05:06Z"));
    application.put(member).await;
    let mut note = application.get("MEMBER#1", "NOTE#").await;
    let old = note["SK"].as_s().unwrap().clone();
    let id = old.rsplit('#').next().unwrap().trim_start_matches('0').to_owned();
    application.delete("MEMBER#1", &old).await;
    for (name, value) in [
        ("SK", s(&format!("NOTE#2026-07-07T07:07:07.000000Z#{:0>8}", id))),
        ("Title", s("Changed")),
        ("Price", n("123456789012345678.123456789012")),
        ("Tags", AttributeValue::Ss(vec!["x".to_owned(), "y".to_owned()])),
        ("Photo", AttributeValue::B(Blob::new(vec![1, 2, 255]))),
        ("State", s("DONE")),
        ("IsDone", AttributeValue::Bool(true)),
        ("Color", s("red")),
    ] {
        note.insert(name.to_owned(), value);
    }
    application.put(note).await;
    // A deleted note with its comments, a new note with one, and a visit whose row has no id yet.
    let gone = application.get("MEMBER#2", "NOTE#").await;
    let gone_id = gone["SK"].as_s().unwrap().rsplit('#').next().unwrap().to_owned();
    application.delete("MEMBER#2", gone["SK"].as_s().unwrap()).await;
    for number in ["001", "002"] {
        application.delete("MEMBER#2", &format!("COMMENT#{gone_id}#{number}")).await;
    }
    let new = vec![("Title", s("New")), ("State", s("OPEN")), ("IsDone", AttributeValue::Bool(false))];
    application.put(item("MEMBER#3", "NOTE#2026-08-08T08:08:08.000000Z#00005000", "note", new)).await;
    application.put(item("MEMBER#3", "COMMENT#00005000#007", "comment", vec![("Body", s("First"))])).await;
    application.put(item("MEMBER#1", "VISIT#2026-09-09", "visit", vec![("IsPaid", AttributeValue::Bool(true))])).await;
    // A new member, and an item of a kind that PostgreSQL has no table for.
    let new = vec![("Name", s("Late")), ("UpdatedAt", s("2026-03-03T03:03:03Z"))];
    application.put(item("MEMBER#700", "MEMBER", "member", new)).await;
    application
        .put(item("MEMBER#700", "VISIT#2026-09-10", "visit", vec![("IsPaid", AttributeValue::Bool(false))]))
        .await;
    application.put(item("MEMBER#700", "BADGE#gold", "badge", vec![])).await;

    // A dry run changes nothing, a sequence neither, and shows what the rollback does.
    let sequence = "(SELECT last_value, (SELECT count(*) FROM members) FROM notes_id_seq)";
    let untouched = digest(&mut migration, sequence, "true").await;
    assert_eq!(migration.phase("rollback", &["--dry-run"]).await.unwrap(), PhaseOutcome::NeedsReview);
    let shown = not_returned(&migration);
    assert_eq!(digest(&mut migration, sequence, "true").await, untouched);
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::NeedsReview);
    assert_eq!(shown, not_returned(&migration));
    let named = migration.lines("not-returned.jsonl").unwrap();
    let mut named: Vec<_> =
        named.iter().map(|line| (line["what"].as_str().unwrap(), line["detail"].as_str().unwrap())).collect();
    named.sort_unstable();
    assert_eq!(named, [("attributes", "Color"), ("unknown", "badge")]);
    let client = migration.postgres.client().await.unwrap();
    let closed = client.batch_execute("UPDATE notes SET title = 'x' WHERE member_id = 9").await.unwrap_err();
    assert_eq!(closed.code().map(|code| code.code()), Some("TM001"));
    let accepted = migration.phase("rollback", &["--accept-losses"]).await.unwrap();
    assert_eq!(accepted, PhaseOutcome::NeedsReview);
    assert_eq!(
        migration.json("report-rollback.json").unwrap()["wayBack"]["rows"],
        0,
        "the second time changes nothing"
    );

    let one = |sql: String| {
        let client = &client;
        async move { client.query_one(&sql, &[]).await.unwrap().get::<_, Option<String>>(0).unwrap_or_default() }
    };
    assert_eq!(
        one("SELECT row(name, joined_on, settings, updated_at)::text FROM members WHERE id = 1".to_owned()).await,
        r#"(Renamed,2026-01-02,"{""list"": [1.5, null, ""x""]}","2026-02-03 04:05:06")"#
    );
    let sql = "SET timezone = 'UTC'";
    client.batch_execute(sql).await.unwrap();
    assert_eq!(
        one(format!("SELECT row(title, price, tags, photo, state, written_on, internal IS NOT NULL)::text FROM notes WHERE id = {id}")).await,
        r#"(Changed,123456789012345678.123456789012,"{x,y}","\\x0102ff",done,"2026-07-07 07:07:07+00",t)"#
    );
    assert_eq!(one(format!("SELECT count(*)::text FROM comments WHERE note_id = {id}")).await, "2");
    assert_eq!(one(format!("SELECT count(*)::text FROM notes WHERE id = {gone_id}")).await, "0");
    assert_eq!(
        one("SELECT row(member_id, title, price, state)::text FROM notes WHERE id = 5000".to_owned()).await,
        "(3,New,,open)"
    );
    assert_eq!(one("SELECT body FROM comments WHERE note_id = 5000".to_owned()).await, "First");
    let visits = "SELECT string_agg(row(member_id, is_paid, (at AT TIME ZONE 'Asia/Tokyo')::date)::text, ' ' ORDER BY at) FROM visits WHERE at > '2026-01-01'";
    assert_eq!(one(visits.to_owned()).await, "(1,t,2026-09-09) (700,f,2026-09-10)");
    assert_eq!(
        one("SELECT row(name, updated_at)::text FROM members WHERE id = 700".to_owned()).await,
        r#"(Late,"2026-03-03 03:03:03")"#
    );
    for ((table, filter), before) in OTHERS.into_iter().zip(before) {
        assert_eq!(digest(&mut migration, table, filter).await, before, "{table}");
    }
    // The application of PostgreSQL goes on, with sequences that are ahead.
    client
        .batch_execute("INSERT INTO notes (member_id, title, state, written_on) VALUES (1, 'On', 'open', now())")
        .await
        .unwrap();
    let again = migration.phase("rollback", &[]).await.unwrap_err();
    assert!(again.detail.contains("back in PostgreSQL"), "{again}");
    assert!(migration.items().await.unwrap().len() > 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn way_back_names_refused_rows_and_returns_the_others() {
    let mut migration = finished(&["--way-back", "14"]).await;
    let client = migration.postgres.client().await.unwrap();
    let poison = "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF NEW.title LIKE 'poison%' THEN RAISE EXCEPTION 'poison' USING ERRCODE = right(NEW.title, 5), DETAIL = 'not this', HINT = 'but that'; END IF; RETURN NEW; END $$;
        CREATE TRIGGER poison BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION poison()";
    client.batch_execute(poison).await.unwrap();
    let application = Application(&migration);
    let titles = ["poison XX000", "poison 42601", "poison 0A000", "poison 42501", "poison AB123", "harmless"];
    for (n, title) in (1..).zip(titles) {
        let mut note = application.get(&format!("MEMBER#{n}"), "NOTE#").await;
        note.insert("Title".to_owned(), s(title));
        application.put(note).await;
    }
    for (flags, returned) in [(&["--dry-run"][..], 0), (&[], 1)] {
        assert_eq!(migration.phase("rollback", flags).await.unwrap(), PhaseOutcome::NeedsReview);
        let mut named = migration.lines("not-returned.jsonl").unwrap();
        named.sort_by_key(|line| line["owner"].as_str().unwrap().to_owned());
        for (n, line) in (1..).zip(&named) {
            assert_eq!((&line["owner"], &line["what"]), (&n.to_string().into(), &"refused".into()), "{line}");
            assert!(line["table"] == "notes" && !line["key"].as_str().unwrap().is_empty(), "{line}");
            assert!(line["detail"].as_str().unwrap().ends_with("). DETAIL: not this. HINT: but that"), "{line}");
        }
        assert_eq!(named.len(), 5, "{named:?}");
        let found = client.query_one("SELECT count(*) FROM notes WHERE title = 'harmless'", &[]).await.unwrap();
        assert_eq!(found.get::<_, i64>(0), returned);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_way_back_has_to_be_asked_for_and_ends() {
    let mut migration = finished(&[]).await;
    let refused = migration.phase("rollback", &[]).await.unwrap_err();
    assert!(refused.kind == FailureKind::Cutover && refused.detail.contains("without a way back"), "{refused}");
    migration.phase("cutover", &["--to", "finished", "--way-back", "1"]).await.unwrap();
    assert_eq!(migration.phase("rollback", &["--dry-run"]).await.unwrap(), PhaseOutcome::Done);
    let client = migration.postgres.client().await.unwrap();
    client
        .batch_execute("UPDATE tidemark_migration.plan SET way_back_until = now() - interval '1 second'")
        .await
        .unwrap();
    let refused = migration.phase("rollback", &[]).await.unwrap_err();
    assert!(refused.kind == FailureKind::Cutover && refused.detail.contains("ended at"), "{refused}");
}

/// Two users share a login, and look-ups lie beside the users' own partitions, which are their ids.
const SHARED_SCHEMA: &str = "
    CREATE TABLE users (id text PRIMARY KEY, email text NOT NULL);
    CREATE TABLE logins (id text PRIMARY KEY, user_id text NOT NULL REFERENCES users, subject text NOT NULL);
    CREATE TABLE sessions (id text PRIMARY KEY, user_id text NOT NULL REFERENCES users, ends_at timestamptz NOT NULL);
    INSERT INTO users VALUES ('ann', 'ann@example.com'), ('bob', 'bob@example.com');
    INSERT INTO logins VALUES ('a', 'ann', '7'), ('b', 'bob', '7');
    INSERT INTO sessions VALUES ('over', 'ann', '2024-01-01Z'), ('open', 'ann', '2099-01-01Z')";

const SHARED_MAPPING: &str = r##"
[target]
key = ["PK", "SK"]
ttl = "TTL"

[owners.user]
table = "users"
partitions = ["{$owner}"]

[tables.users]
owner = { kind = "user", column = "id" }
columns = { id = "key", email = "text" }
[[tables.users.items]]
type = "user"
key = { PK = "{id}", SK = "USER" }
attributes = { Email = "{email}" }
[[tables.users.items]]
type = "email"
key = { PK = "EMAIL#{email}", SK = "EMAIL" }

[tables.logins]
owner = { kind = "user", column = "user_id" }
columns = { id = "key", user_id = "key", subject = "text" }
[[tables.logins.items]]
type = "login"
key = { PK = "{user_id}", SK = "LOGIN#{id}" }
attributes = { Subject = "{subject}" }
[[tables.logins.items]]
type = "login_owner"
key = { PK = "LOGIN#{subject}", SK = "LOGIN" }
attributes = { Login = "{id}" }

[tables.sessions]
owner = { kind = "user", column = "user_id" }
columns = { id = "key", user_id = "key", ends_at = "time" }
[[tables.sessions.items]]
type = "session"
key = { PK = "{user_id}", SK = "SESSION#{id}" }
attributes = { TTL = "{ends_at | epoch}" }

[[markers]]
marker = "login_owner"
of = "login"
key = { PK = "LOGIN#{Subject}", SK = "LOGIN" }
leads_to = { PK = "{MigratedOwner}", SK = "LOGIN#{Login}" }
"##;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn way_back_keeps_rows_whose_items_have_expired() {
    const TABLES: [&str; 3] = ["users", "logins", "sessions"];
    let mut migration = Migration::of_schema(SHARED_SCHEMA, SHARED_MAPPING).await.unwrap();
    to_finished(&migration, &["--way-back", "14"]).await;
    let mut before = Vec::new();
    for table in TABLES {
        before.push(digest(&mut migration, table, "true").await);
    }
    // DynamoDB removes expired items.
    Application(&migration).delete("ann", "SESSION#over").await;
    let outcome = migration.phase("rollback", &[]).await.unwrap();
    assert_eq!(outcome, PhaseOutcome::Done, "{:?}", migration.lines("not-returned.jsonl").unwrap());
    for (table, before) in TABLES.into_iter().zip(before) {
        assert_eq!(digest(&mut migration, table, "true").await, before, "{table}");
    }
}
