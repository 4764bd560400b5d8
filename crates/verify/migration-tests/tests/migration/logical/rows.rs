//! The rows that a slot gives are the rows that a trigger records, and each is recorded once.

use migration_tests::Migration;
use tokio_postgres::Client;

use super::CAPTURE;

const SCHEMA: &str = r#"
    CREATE TYPE mood AS ENUM ('sad', 'it''s "ok", (really)');
    CREATE DOMAIN document AS json;
    CREATE TYPE pair AS (a int, b text);
    CREATE TABLE people (id text PRIMARY KEY);
    INSERT INTO people VALUES ('ann');
    CREATE TABLE "Odd things" (
        id bigserial PRIMARY KEY, person text, gone int, code text GENERATED ALWAYS AS ('T-' || id || "a ""name""") STORED,
        "a ""name""" text, plain json, document document, binary_json jsonb, several jsonb[], texts text[], moods mood[], mood mood,
        pair pair, pairs pair[], exact numeric(38,10), any_number numeric, real_number real, double_number double precision,
        at timestamptz, local_time timestamp, day date, time_of_day time, span interval, bytes bytea, fixed char(5), bits bit(3),
        price money, address inet, range int4range, search tsvector, large text, is_on boolean
    );
    ALTER TABLE "Odd things" DROP COLUMN gone, ALTER large SET STORAGE EXTERNAL;
    -- The rows as the migration's trigger sees them.
    CREATE TABLE seen (number bigserial PRIMARY KEY, before jsonb, after jsonb);
    CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql SET timezone = 'UTC' AS $$ BEGIN
        INSERT INTO seen (before, after) VALUES (CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END, CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
        RETURN NULL;
    END $$;
    CREATE TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON "Odd things" FOR EACH ROW EXECUTE FUNCTION see();"#;

const MAPPING: &str = r#"
[target]
key = ["PK", "SK"]

[owners.person]
table = "people"

[tables.people]
owner = { kind = "person", column = "id" }
columns = { id = "key" }

[tables."Odd things"]
owner = { kind = "person", column = "person" }
columns = { id = "key", person = "key" }
[[tables."Odd things".items]]
type = "thing"
key = { PK = "{$owner}", SK = "{id}" }
"#;

const CHANGES: [&str; 5] = [
    r#"INSERT INTO "Odd things" VALUES (1, 'ann', DEFAULT, E'quotes " and \\ and \t, (brackets)', '{"b": 1, "a": 1.50, "a": 2}', '[1.10]',
        '{"x": [1.10, null, 12345678901234567890.123456789]}', ARRAY['{"a": 1}', 'null', NULL]::jsonb[], E'{"a, b","say \\"x\\" \\\\",NULL,"",🌊}',
        ARRAY['sad', 'it''s "ok", (really)']::mood[], 'it''s "ok", (really)', (7, 'a "b", (c)'), ARRAY[(1, NULL), (NULL, '')]::pair[],
        9999999999999999999999999999.9999999999, 1e-20, 0.1, 1e308, '2025-10-26 02:30:00.000001+02', '0044-03-15 12:00 BC', 'infinity', '24:00',
        '1 year -2 days 03:04:05.6', '\x00ff', 'ab', '101', 12.34, '10.0.0.0/8', '[1,5)', 'a:1A b:2', repeat('large 🌊 ', 5000), true)"#,
    r#"INSERT INTO "Odd things" (id, person, "a ""name""", texts, any_number, double_number, at, day, span, fixed)
        VALUES (2, 'ann', '', '[0:1]={x,y}', 'NaN', '-Infinity', '-infinity', '12026-01-01', '-1 day', ''), (3, 'ann', NULL, '{}', 1.500, 5e-324, 'infinity', NULL, NULL, NULL)"#,
    // The large value stays as it is, and is in neither version of the row in the log.
    r#"UPDATE "Odd things" SET is_on = false WHERE id = 1; UPDATE "Odd things" SET id = id + 10, is_on = NULL"#,
    r#"BEGIN; UPDATE "Odd things" SET fixed = 'never'; ROLLBACK;
        BEGIN; SAVEPOINT one; DELETE FROM "Odd things"; ROLLBACK TO one; UPDATE "Odd things" SET fixed = 'kept'; COMMIT"#,
    r#"DELETE FROM "Odd things" WHERE id <> 12"#,
];

/// The changes that are recorded, and those that the trigger has seen, in order.
async fn recorded(client: &Client) -> (Vec<String>, Vec<String>) {
    let mut all = Vec::new();
    for sql in [
        "SELECT jsonb_build_array(before, after)::text FROM tidemark_migration.outbox ORDER BY sequence",
        "SELECT jsonb_build_array(before, after)::text FROM seen ORDER BY number",
    ] {
        all.push(client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect());
    }
    let seen = all.pop().unwrap();
    (all.pop().unwrap(), seen)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slot_gives_the_rows_that_a_trigger_records_and_each_once() {
    let mut migration = Migration::of_schema(SCHEMA, MAPPING).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    // The slot gives a transaction as soon as it is on the disk.
    client.batch_execute("SET timezone = 'Asia/Tokyo'; SET synchronous_commit = on").await.unwrap();
    migration.phase("cutover", &CAPTURE).await.unwrap();
    let slot: String = client.query_one("SELECT name FROM tidemark_migration.slot", &[]).await.unwrap().get(0);
    for sql in CHANGES {
        client.batch_execute(sql).await.unwrap();
    }
    let copy = |from: &str, to: &str| format!("SELECT pg_copy_logical_replication_slot('{from}', '{to}')");
    client.batch_execute(&copy(&slot, "older")).await.unwrap();
    migration.phase("cutover", &CAPTURE).await.unwrap();
    let (first, seen) = recorded(&client).await;
    assert!(seen.len() > 10, "{seen:?}");
    assert_eq!(first, seen);

    // A server that crashes may forget that the slot was advanced, and so may a killed command.
    let again = format!(
        "SELECT pg_drop_replication_slot('{slot}'); {}; SELECT pg_drop_replication_slot('older')",
        copy("older", &slot)
    );
    for end in ["", "UPDATE \"Odd things\" SET mood = 'sad'"] {
        client.batch_execute(&again).await.unwrap();
        client.batch_execute(&copy(&slot, "older")).await.unwrap();
        client.batch_execute(end).await.unwrap();
        migration.phase("cutover", &CAPTURE).await.unwrap();
        let (second, seen) = recorded(&client).await;
        assert_eq!((second.len(), second), (first.len() + usize::from(!end.is_empty()), seen));
    }
}
