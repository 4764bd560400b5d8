//! The owner of a row is what PostgreSQL says, whatever a request says.

use migration_tests::Migration;
use serde_json::{Value, json};
use tidemark_migrate::FailureKind;
use tidemark_migrate::cutover::{Side, WriteError, Writer};
use tidemark_migrate::mapping::Mapping;

use super::cutover::compared;

const SCHEMA: &str = "
    CREATE TABLE members (id uuid PRIMARY KEY, name text NOT NULL);
    CREATE TABLE loans (id int PRIMARY KEY, member_id uuid NOT NULL REFERENCES members, note text);
    CREATE TABLE fines (id int PRIMARY KEY, loan_id int NOT NULL REFERENCES loans, amount int NOT NULL);
    INSERT INTO members SELECT ('00000000-0000-0000-0000-0000000000a' || n)::uuid, 'Member ' || n FROM generate_series(1, 9) AS n;
    INSERT INTO loans SELECT n, ('00000000-0000-0000-0000-0000000000a' || n)::uuid FROM generate_series(1, 9) AS n;
    INSERT INTO fines SELECT n, n, n FROM generate_series(1, 9) AS n";

fn member(n: u8) -> String {
    format!("00000000-0000-0000-0000-0000000000a{n}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_row_is_stored_with_its_parents_owner_or_refused() {
    let migration = Migration::of_draft(SCHEMA).await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    let row = |table: &str, json: Value| migration.row(table, &json);
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let writer = Writer::new(migration.sides().await.unwrap());
    for (to, side) in [("dual", Side::Postgres), ("100%", Side::Dynamo)] {
        compared(&migration, to).await;
        let items = migration.items().await.unwrap();
        // Another member, one who does not exist, and a parent that does not exist.
        for fine in [
            json!({ "id": 50, "loan_id": 1, "amount": 5, "$owner": member(2) }),
            json!({ "id": 1, "amount": 5, "$owner": member(2) }),
            json!({ "id": 1, "loan_id": 1, "amount": 5, "$owner": "nobody" }),
            json!({ "id": 50, "loan_id": 99, "amount": 5, "$owner": member(2) }),
        ] {
            let refused = writer.put(&row("fines", fine.clone())).await;
            assert!(matches!(refused, Err(WriteError::Refused(_))), "{to} {fine}: {refused:?}");
        }
        let refused = writer.delete(&row("fines", json!({ "id": 1, "$owner": member(2) }))).await;
        assert!(matches!(refused, Err(WriteError::Refused(_))), "{to}: {refused:?}");
        let refused = writer.put(&row("loans", json!({ "id": 60, "member_id": "MEMBER#x" }))).await;
        assert!(matches!(refused, Err(WriteError::Refused(_))), "{to}: {refused:?}");
        let changed: Vec<_> =
            migration.items().await.unwrap().into_iter().filter(|(key, item)| items.get(key) != Some(item)).collect();
        assert_eq!(changed, [], "{to}");

        // Without an owner, with the owner's prefix, and in another spelling.
        for (id, owner) in [(50, Value::Null), (51, json!(format!("MEMBER#{}", member(1)))), (52, json!(member(1)))] {
            let mut fine = json!({ "id": id, "loan_id": 1, "amount": 5 });
            if owner != Value::Null {
                fine["$owner"] = owner;
            }
            assert_eq!(writer.put(&row("fines", fine)).await.unwrap(), side, "{to} {id}");
        }
        let shouted = json!({ "id": 61, "member_id": member(3).to_uppercase(), "note": to });
        assert_eq!(writer.put(&row("loans", shouted)).await.unwrap(), side);
        let shouted = json!({ "id": member(4).to_uppercase(), "name": to });
        assert_eq!(writer.put(&row("members", shouted)).await.unwrap(), side);
        let items = migration.items().await.unwrap();
        for (owner, sort) in
            [(1, "FINE#0000000050"), (1, "FINE#0000000051"), (1, "FINE#0000000052"), (3, "LOAN#0000000061")]
        {
            assert!(items.contains_key(&(format!("MEMBER#{}", member(owner)), sort.to_owned())), "{to} {sort}");
        }
        compared(&migration, to).await;
        for id in [50, 51, 52] {
            assert_eq!(writer.delete(&row("fines", json!({ "id": id }))).await.unwrap(), side, "{to} {id}");
        }
        assert_eq!(writer.delete(&row("loans", json!({ "id": 61, "member_id": member(3) }))).await.unwrap(), side);
        compared(&migration, to).await;
    }
    let mapping = Mapping::read(migration.product.mapping.unwrap(), &[]).unwrap();
    let twice = mapping.row("loans", r#"{"id": 1, "note": "a", "note": "b"}"#).unwrap_err();
    assert!(twice.kind == FailureKind::Options && twice.detail.contains("\"note\" is given twice"), "{twice}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn owner_with_a_padded_id_is_one_owner() {
    let mut migration = Migration::of_draft(&SCHEMA.replace("uuid", "char(40)")).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    client.batch_execute("UPDATE members SET name = 'New'; UPDATE loans SET note = 'x'").await.unwrap();
    for to in ["dual", "100%"] {
        compared(&migration, to).await;
    }
    let report = migration.json("report-cutover.json").unwrap();
    assert_eq!((&report["state"]["inDynamo"], &report["compared"]["users"]), (&9.into(), &9.into()), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_row_may_come_before_its_parent_or_stay_after() {
    let schema = SCHEMA
        .replace("fines (id int PRIMARY KEY, loan_id", "fines (id int, PRIMARY KEY (loan_id, id), loan_id")
        .replace("REFERENCES loans", "REFERENCES loans ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED");
    let mut migration = Migration::of_draft(&schema).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    compared(&migration, "dual").await;
    for (what, sql) in [
        (
            "first",
            format!(
                "INSERT INTO fines (id, loan_id, amount) VALUES (1, 100, 5); INSERT INTO loans VALUES (100, '{}')",
                member(1)
            ),
        ),
        ("another key", "UPDATE loans SET id = 200 WHERE id = 100".to_owned()),
        ("another owner", format!("DELETE FROM loans WHERE id = 200; INSERT INTO loans VALUES (200, '{}')", member(2))),
    ] {
        client
            .batch_execute(&format!("BEGIN; {sql}; COMMIT"))
            .await
            .unwrap_or_else(|error| panic!("{what}: {error:?}"));
        compared(&migration, "dual").await;
    }
    let fines = migration.items().await.unwrap().into_keys().filter(|(_, sort)| sort.starts_with("FINE#"));
    assert_eq!(fines.count(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rows_without_a_foreign_key_lose_and_find_their_parent() {
    let mut migration = Migration::of_draft(SCHEMA).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    client.batch_execute("ALTER TABLE fines DROP CONSTRAINT fines_loan_id_fkey").await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    compared(&migration, "dual").await;
    for sql in [
        "DELETE FROM loans WHERE id = 1".to_owned(),
        format!("INSERT INTO loans VALUES (1, '{}')", member(2)),
        "UPDATE loans SET id = 50 WHERE id = 2".to_owned(),
        "UPDATE fines SET loan_id = 50 WHERE loan_id = 2".to_owned(),
    ] {
        client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        compared(&migration, "dual").await;
    }
}
