//! A table that changes while it is migrated: nothing guesses, and nothing is erased.

use migration_tests::Migration;
use serde_json::json;
use tidemark_migrate::cutover::Writer;
use tidemark_migrate::{FailureKind, PhaseOutcome};
use tokio_postgres::Client;

use super::cutover::{assert_untouched, compared};

const SCHEMA: &str = "
    CREATE TYPE kind AS ENUM ('book', 'disc');
    CREATE DOMAIN pages AS int;
    CREATE TABLE members (id int PRIMARY KEY, name text NOT NULL);
    CREATE TABLE loans (id int PRIMARY KEY, member_id int NOT NULL REFERENCES members, note text, due date, kind kind, pages pages);
    INSERT INTO members SELECT n, 'Member ' || n FROM generate_series(1, 20) AS n;
    INSERT INTO loans SELECT n, 1 + n % 20, 'Note ' || n, '2026-01-01' FROM generate_series(1, 60) AS n";

/// Changes of a table, and how to undo each.
const CHANGES: [(&str, &str, &str); 5] = [
    ("RENAME note TO remark", "RENAME remark TO note", "- loans.note text; + loans.remark text"),
    ("ALTER note TYPE varchar(90)", "ALTER note TYPE text", "+ loans.note character varying(90)"),
    ("ADD color text", "DROP color", "+ loans.color text"),
    ("ALTER due SET NOT NULL", "ALTER due DROP NOT NULL", "+ loans.due date NOT NULL"),
    ("DROP CONSTRAINT loans_pkey", "ADD PRIMARY KEY (id)", "- loans PRIMARY KEY (id)"),
];

/// Changes of what the tables depend on.
const OTHER_CHANGES: [&str; 4] = [
    "DROP TYPE kind CASCADE",
    "ALTER TYPE kind RENAME VALUE 'book' TO 'volume'",
    "ALTER SCHEMA public RENAME TO private",
    "DROP DOMAIN pages CASCADE",
];

async fn alter(client: &Client, change: &str) -> Result<(), String> {
    let altered = client.batch_execute(&format!("ALTER TABLE loans {change}")).await;
    altered.map_err(|error| error.code().map_or_else(String::new, |code| code.code().to_owned()))
}

async fn notes(migration: &Migration) -> usize {
    migration.items().await.unwrap().values().filter(|item| item.contains_key("Note")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_changed_table_stops_every_command_with_the_difference() {
    let mut migration = Migration::of_draft(SCHEMA).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    for (change, _, _) in CHANGES {
        assert_eq!(alter(&client, change).await, Err("TM004".to_owned()), "{change}");
    }
    for change in OTHER_CHANGES {
        let refused = client.batch_execute(change).await.err().and_then(|error| error.code().cloned());
        assert_eq!(refused.map(|code| code.code().to_owned()), Some("TM004".to_owned()), "{change}");
    }
    // The role of most migrations may create no event trigger.
    client.batch_execute("DROP EVENT TRIGGER tidemark_schema").await.unwrap();
    let writer = Writer::new(migration.sides().await.unwrap());
    let loan = migration.row("loans", &json!({ "id": 7, "member_id": 8, "due": "2026-02-02" }));
    for to in ["dual", "100%"] {
        compared(&migration, to).await;
        for (change, undo, difference) in CHANGES {
            alter(&client, change).await.unwrap();
            let commands =
                [("cutover", &["--to", to][..]), ("cutover", &["--to", "finished"]), ("repair", &["--differences"])];
            for (command, flags) in commands {
                let refused = migration.phase(command, flags).await.unwrap_err();
                assert_eq!(refused.kind, FailureKind::SchemaChanged, "{to} {change}: {refused}");
                assert!(refused.detail.contains(difference), "{refused}");
            }
            assert!(migration.sides().await.is_err());
            if change.starts_with("RENAME") {
                // Programs that were started before.
                let foreign = client.batch_execute("UPDATE loans SET due = '2026-03-03'").await.unwrap_err();
                let expected = if to == "dual" { "TM004" } else { "TM001" };
                assert!(foreign.code().is_some_and(|code| ["TM004", expected].contains(&code.code())), "{foreign:?}");
                assert!(writer.put(&loan).await.is_err());
            }
            alter(&client, undo).await.unwrap();
        }
        assert_eq!(notes(&migration).await, 60, "{to}");
    }
    writer.put(&loan).await.unwrap();
    compared(&migration, "100%").await;
    // A rollback does not depend on the tables being as they were.
    alter(&client, "RENAME note TO remark").await.unwrap();
    assert_eq!(migration.phase("rollback", &[]).await.unwrap(), PhaseOutcome::Done);
    assert_untouched(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn repair_that_removes_an_attribute_everywhere_is_refused() {
    let mut migration = Migration::of_draft(SCHEMA).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    migration.captured_and_loaded().await.unwrap();
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    // Changes that nobody records.
    let unrecorded = |rows: &str| {
        format!(
            "ALTER TABLE loans DISABLE TRIGGER tidemark_capture; UPDATE loans SET note = NULL WHERE {rows};
                 ALTER TABLE loans ENABLE ALWAYS TRIGGER tidemark_capture"
        )
    };
    let compare = ["--to", "dual", "--compare"];
    client.batch_execute(&unrecorded("id > 10")).await.unwrap();
    assert_eq!(migration.phase("cutover", &compare).await.unwrap(), PhaseOutcome::NeedsReview);
    assert_eq!(migration.phase("repair", &["--differences"]).await.unwrap(), PhaseOutcome::Done);
    assert_eq!(notes(&migration).await, 10);
    client.batch_execute(&unrecorded("true")).await.unwrap();
    migration.phase("cutover", &["--to", "dual", "--compare=99"]).await.unwrap();
    let refused = migration.phase("repair", &["--differences"]).await.unwrap_err();
    assert!(refused.detail.contains("sample"), "{refused}");
    assert_eq!(migration.phase("cutover", &compare).await.unwrap(), PhaseOutcome::NeedsReview);
    let refused = migration.phase("repair", &["--differences"]).await.unwrap_err();
    assert_eq!(refused.kind, FailureKind::SchemaChanged, "{refused}");
    assert!(refused.detail.contains("remove Note from all 10 items of the type loan"), "{refused}");
    assert_eq!(notes(&migration).await, 10);
    migration.phase("repair", &["--differences", "--accept-losses"]).await.unwrap();
    assert_eq!(notes(&migration).await, 0);
    compared(&migration, "dual").await;
}
