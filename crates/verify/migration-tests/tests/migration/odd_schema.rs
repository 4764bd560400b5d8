//! A schema with what applications have and no textbook: names that are words of SQL or of the
//! tool, keys of unusual types, tables that refer to themselves, and constraints that are checked
//! late.

use migration_tests::Migration;
use serde_json::{Value, json};
use tidemark_migrate::PhaseOutcome;
use tidemark_migrate::cutover::{Side, WriteError, Writer};
use tokio_postgres::Client;

use super::cutover::compared;

const SCHEMA: &str = r#"
    CREATE EXTENSION citext;
    CREATE TYPE "Mood" AS ENUM ('good', 'so so', 'it''s bad');
    CREATE DOMAIN "Percent" AS numeric(5, 2) CHECK (VALUE BETWEEN 0 AND 100);
    CREATE TYPE point3 AS (x int, y int, z int);
    CREATE TABLE "User" ("select" text PRIMARY KEY, "this" text, "Given" int NOT NULL DEFAULT 7, mood "Mood",
        "kept" text GENERATED ALWAYS AS (upper("this")) STORED, "joined" timestamptz DEFAULT 'infinity',
        "number" int GENERATED ALWAYS AS IDENTITY, share "Percent", code char(4) NOT NULL DEFAULT 'ab');
    CREATE TABLE "order" ("user" text NOT NULL REFERENCES "User" ON UPDATE CASCADE ON DELETE CASCADE, "at" timestamptz NOT NULL,
        "id" numeric(30, 3) NOT NULL, "before" int, "after" int[], spot point3, size interval, bits bit(4), sum int GENERATED ALWAYS AS (before + 1) STORED,
        PRIMARY KEY ("user", "at", "id")) PARTITION BY RANGE ("at");
    CREATE TABLE order_old PARTITION OF "order" FOR VALUES FROM (MINVALUE) TO ('2025-01-01');
    CREATE TABLE order_new PARTITION OF "order" DEFAULT;
    CREATE TABLE "Tree node" (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), "user" text NOT NULL, parent uuid, label citext NOT NULL DEFAULT 'node', slug text UNIQUE,
        UNIQUE (id, "user"), FOREIGN KEY (parent, "user") REFERENCES "Tree node" (id, "user") ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE days (owner text, day date, address inet, raw bytea, note text, PRIMARY KEY (owner, day, address, raw));
    CREATE TABLE letters (id bigint PRIMARY KEY, sender text, receiver text REFERENCES "User" ON DELETE SET NULL ON UPDATE CASCADE, body text,
        replaces bigint REFERENCES letters ON DELETE SET NULL,
        topic text REFERENCES "Tree node" (slug) ON UPDATE CASCADE ON DELETE SET NULL, CHECK (body <> ''));
    CREATE INDEX ON letters (receiver);
    CREATE VIEW everybody AS SELECT * FROM "User";
    INSERT INTO "User" ("select", "this", mood) VALUES ('a''b"c\d', 'quotes', 'it''s bad'), ('50%_#é 🌊', 'signs', NULL), (' spaced ', 'spaces', 'good'),
        ('{"json"}', 'braces', 'so so'), ('NULL', 'null', 'good');
    INSERT INTO "order" SELECT "select", timestamptz '2024-12-31 23:59:59.999999+00' + n * interval '12 hours', n + 0.5, n, ARRAY[n, NULL], ROW(n, 2, NULL)::point3, n * interval '1 day', B'0101'
        FROM "User", generate_series(0, 5) AS n;
    INSERT INTO "order" SELECT "select", 'infinity', 12345678901234567890123456.789 FROM "User";
    INSERT INTO "Tree node" SELECT md5("select")::uuid, "select" FROM "User";
    INSERT INTO "Tree node" SELECT md5(n || "select")::uuid, "select", md5("select")::uuid, 'Leaf ' || n FROM "User", generate_series(1, 3) AS n;
    INSERT INTO days SELECT "select", date '2025-01-01' + n, '10.0.0.0/8', decode('00ff', 'hex'), 'day' FROM "User", generate_series(0, 2) AS n;
    INSERT INTO letters SELECT n, one."select", other."select", 'Dear ' || other."this" FROM "User" AS one, "User" AS other, generate_series(1, 1) AS m,
        LATERAL (SELECT hashtext(one."this" || other."this") AS n) AS ids;"#;

const MAPPING: &str = r##"
[target]
key = ["PK", "SK"]

[owners.user]
table = "User"
partitions = ["USER#{$owner}"]

[tables.User]
key = ["select"]
owner = { kind = "user", column = "select" }
[tables.User.columns]
select = "key"
this = "text"
Given = "integer"
mood = "text"
kept = "text"
joined = "time"
number = "integer"
share = "number"
code = "text"
[[tables.User.items]]
type = "user"
key = { PK = "USER#{select}", SK = "PROFILE" }
attributes = { Kept = "{kept}", Given = "{Given}", Mood = "{mood}", Share = "{share}", Code = "{code}", Number = "{number}" }

[tables.order]
key = ["user", "at", "id"]
owner = { kind = "user", column = "user" }
columns = { user = "key", at = "time", id = "number", before = "integer", after = "array", spot = "any", size = "text", bits = "any", sum = "integer" }
[[tables.order.items]]
type = "order"
key = { PK = "USER#{user}", SK = "ORDER#{at}#{id}" }
attributes = { Before = "{before}", After = "{after | json}", Spot = "{spot | json}", Size = "{size}", Bits = "{bits}", Sum = "{sum}" }

[tables."Tree node"]
owner = { kind = "user", column = "user" }
columns = { id = "key", user = "key", parent = "key", label = "text", slug = "text" }
joins.above = { table = "Tree node", on = { id = "parent" }, one = true }
joins.below = { table = "Tree node", on = { parent = "id" }, order = ["label"] }
[[tables."Tree node".items]]
type = "node"
key = { PK = "USER#{user}", SK = "NODE#{id}" }
[tables."Tree node".items.attributes]
Label = "{label}"
Above = "{above.label}"
Below = { each = "below", attributes = { Label = "{label}" } }

[tables.days]
key = ["owner", "day", "address", "raw"]
owner = { kind = "user", column = "owner" }
columns = { owner = "key", day = "date", address = "text", raw = "bytes", note = "text" }
[[tables.days.items]]
type = "day"
key = { PK = "USER#{owner}", SK = "DAY#{day}#{address}#{raw}" }
attributes = { Note = "{note}" }

# A letter has two owners: it moves with its sender, and its receiver is joined.
[tables.letters]
owner = { kind = "user", column = "sender" }
columns = { id = "integer", sender = "key", receiver = "key", body = "text", replaces = "integer", topic = "text" }
joins.to = { table = "User", on = { select = "receiver" }, one = true }
joins.earlier = { table = "letters", on = { id = "replaces" }, one = true }
[[tables.letters.items]]
type = "letter"
key = { PK = "USER#{sender}", SK = "LETTER#{id}" }
attributes = { To = "{to.this}", Body = "{body}", Earlier = "{earlier.body}", Topic = "{topic}" }
"##;

/// Changes by programs that know nothing of the migration.
async fn change(client: &Client, round: i32) {
    for sql in [
        r#"UPDATE "User" SET "this" = "this" || ROUND, "joined" = '-infinity', share = ROUND"#,
        r#"UPDATE "User" SET "select" = "select" || ROUND WHERE "this" LIKE 'braces%'"#,
        r#"UPDATE "order" SET "at" = "at" - interval '1 year', "before" = ROUND WHERE "id" = 2.5 + ROUND"#,
        r#"BEGIN; SET CONSTRAINTS ALL DEFERRED;
           UPDATE "Tree node" SET id = md5(id::text)::uuid, parent = NULL, label = 'Root ROUND' WHERE parent IS NULL;
           UPDATE "Tree node" AS one SET parent = (SELECT id FROM "Tree node" AS root WHERE root."user" = one."user" AND parent IS NULL LIMIT 1) WHERE parent IS NOT NULL; COMMIT"#,
        r#"DELETE FROM "Tree node" WHERE label = 'leaf ROUND'"#,
        "UPDATE letters SET replaces = (SELECT id FROM letters AS other WHERE other.id < letters.id ORDER BY id LIMIT 1), body = body || '!'",
        "DELETE FROM letters WHERE id % 7 = ROUND",
        r#"DELETE FROM "User" WHERE "this" LIKE 'null%' AND ROUND = 2"#,
        "UPDATE days SET note = NULL, raw = raw || '\\x0ROUND' WHERE day = date '2025-01-01' + ROUND",
    ] {
        let sql = sql.replace("ROUND", &round.to_string());
        client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unusual_names_types_and_references_move_there_and_back() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    change(&client, 0).await;
    migration.phase("export", &[]).await.unwrap();
    change(&client, 1).await;
    migration.phase("transform", &[]).await.unwrap();
    migration.phase("load", &[]).await.unwrap();
    assert_eq!(migration.phase("check", &["--strict"]).await.unwrap(), PhaseOutcome::Done);
    compared(&migration, "dual").await;
    change(&client, 2).await;
    compared(&migration, "dual").await;
    let writer = Writer::new(migration.sides().await.unwrap());
    let row = |table: &str, json: Value| migration.row(table, &json);
    let user = "a'b\"c\\d";
    for (to, side) in [("100%", Side::Dynamo), ("0%", Side::Postgres), ("100%", Side::Dynamo)] {
        migration.phase("cutover", &["--to", to]).await.unwrap();
        let node = |id: u8| format!("00000000-0000-0000-0000-00000000000{id}");
        for (table, json) in [
            ("User", json!({ "select": user, "this": to, "share": 12.345, "code": "x" })),
            // Defaults, and columns that PostgreSQL computes.
            ("User", json!({ "select": format!("new {to}"), "this": "new" })),
            (
                "order",
                json!({ "user": user, "at": "2025-06-01T10:00:00Z", "id": 7.5, "before": 41, "after": [1, null], "spot": { "x": 1 }, "size": "36:00", "bits": "1111" }),
            ),
            ("order", json!({ "user": user, "at": "infinity", "id": "12345678901234567890123456.789", "before": 1 })),
            ("Tree node", json!({ "id": node(1), "user": user, "slug": "old" })),
            ("Tree node", json!({ "id": node(2), "user": user, "parent": node(1), "label": "Leaf" })),
            ("Tree node", json!({ "id": node(1), "user": user, "label": format!("Root {to}") })),
            (
                "days",
                json!({ "owner": user, "day": "2025-03-01", "address": "::1", "raw": "\\x01", "note": "a 'note'" }),
            ),
            ("letters", json!({ "id": -5, "sender": user, "receiver": " spaced ", "body": to, "topic": "old" })),
            (
                "letters",
                json!({ "id": -6, "sender": "50%_#é 🌊", "receiver": user, "body": to, "replaces": -5, "topic": "old" }),
            ),
        ] {
            let written = writer.put(&row(table, json.clone())).await;
            let is_new = json["select"].as_str().is_some_and(|id| id.starts_with("new"));
            assert!(written.as_ref().is_ok_and(|found| *found == side || is_new), "{to} {json}: {written:?}");
        }
        compared(&migration, to).await;
        // The letters of both owners get the new slug, in PostgreSQL.
        let renamed = row("Tree node", json!({ "id": node(1), "user": user, "slug": format!("new {to}") }));
        assert_eq!(writer.put(&renamed).await.unwrap(), Side::Postgres, "{to}");
        compared(&migration, to).await;
        // PostgreSQL would refuse these rows, and their owners would be stuck.
        for (table, json) in [
            ("User", json!({ "select": user, "mood": "unknown" })),
            ("User", json!({ "select": user, "share": 101 })),
            ("User", json!({ "select": user, "code": "too long" })),
            ("User", json!({ "select": user, "Given": null })),
            ("letters", json!({ "id": -5, "sender": user, "body": "" })),
        ] {
            let written = writer.put(&row(table, json.clone())).await;
            match side {
                Side::Dynamo => assert!(matches!(written, Err(WriteError::Refused(_))), "{json}: {written:?}"),
                Side::Postgres => assert!(written.is_err(), "{json}: {written:?}"),
            }
        }
        // Rows below a row go with it, and a row of another owner loses its reference.
        for (table, json) in [
            ("Tree node", json!({ "id": node(1), "user": user })),
            ("letters", json!({ "id": -5, "sender": user })),
            ("days", json!({ "owner": user, "day": "2025-03-01", "address": "::1", "raw": "\\x01" })),
            ("User", json!({ "select": format!("new {to}") })),
        ] {
            writer.delete(&row(table, json.clone())).await.unwrap_or_else(|error| panic!("{to} {json}: {error}"));
        }
        compared(&migration, to).await;
        let left = r#"SELECT (SELECT count(*) FROM "Tree node" WHERE label LIKE 'leaf' OR label = 'Root ROUND'),
            (SELECT count(*) FROM letters WHERE id = -6 AND replaces IS NULL)"#;
        let left = client.query_one(&left.replace("ROUND", to), &[]).await.unwrap();
        assert_eq!((left.get::<_, i64>(0), left.get::<_, i64>(1)), (0, 1), "{to}");
    }
    writer.delete(&row("User", json!({ "select": user }))).await.unwrap();
    compared(&migration, "100%").await;
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(migration.items().await.unwrap().len(), 0);
}
