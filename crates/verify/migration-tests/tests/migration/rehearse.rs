//! A rehearsal takes every step on a copy, can be killed, and leaves nothing behind.

use std::process::{Command, Stdio};
use std::time::Duration;

use migration_tests::Migration;
use tests::binary;
use tidemark_migrate::{FailureKind, PhaseOutcome};

use super::cutover::assert_untouched;
use super::init::{LIBRARY, draft};

const FLAGS: [&str; 2] = ["--confirm", "okusuri"];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_rehearsal_takes_every_step_and_leaves_nothing_behind() {
    let mut migration = Migration::new(97, 12).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let rows = "SELECT md5(string_agg(this::text, '|' ORDER BY id)) FROM medication_logs AS this";
    let before: String = client.query_one(rows, &[]).await.unwrap().get(0);
    let refused = migration.phase("rehearse", &["--confirm", "another"]).await.unwrap_err();
    assert!(refused.kind == FailureKind::Options && refused.detail.contains("--confirm okusuri"), "{refused}");

    // It is killed twice: the same command goes on with the step that was not finished.
    let arguments = migration.arguments("rehearse", &FLAGS);
    for steps in [2, 6] {
        let mut program = Command::new(binary("okusuri-migrate").unwrap());
        let mut child = program.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while migration.json("rehearsal.json").map_or(0, |done| done.as_array().unwrap().len()) < steps {
            assert!(child.try_wait().unwrap().is_none(), "the rehearsal has ended");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // Rows that are not migrated need a review.
    assert_eq!(migration.phase("rehearse", &FLAGS).await.unwrap(), PhaseOutcome::NeedsReview);
    let report = migration.json("report-rehearse.json").unwrap();
    let steps: Vec<_> =
        report["steps"].as_array().unwrap().iter().map(|step| step["command"].as_str().unwrap()).collect();
    assert_eq!((steps.len(), steps[0], steps[10]), (11, "preflight", "rollback"));
    let compared = report["steps"][8]["text"].as_str().unwrap();
    assert!(compared.contains("PostgreSQL owns 0 users") && compared.contains("and 0 items differ"), "{compared}");

    assert_eq!(migration.items().await.unwrap().len(), 0);
    let after: String = client.query_one(rows, &[]).await.unwrap().get(0);
    assert_eq!(before, after);
    assert_untouched(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rehearsal_takes_a_draft_of_init_as_it_is() {
    let mut migration = Migration::of_schema(LIBRARY, "").await.unwrap();
    let made = draft(&migration.postgres, &[]).await["mapping"].as_str().unwrap().to_owned();
    migration.product.mapping = Some(Box::leak(made.into_boxed_str()));
    migration.phase("rehearse", &FLAGS).await.unwrap();
    let report = migration.json("report-rehearse.json").unwrap();
    for step in [6, 8, 9] {
        let text = report["steps"][step]["text"].as_str().unwrap();
        assert!(text.contains("and 0 items differ"), "{text}");
    }
    assert_eq!(migration.items().await.unwrap().len(), 0);
    assert_untouched(&migration.postgres.client().await.unwrap()).await;
}
