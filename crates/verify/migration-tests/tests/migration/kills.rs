//! `okusuri-migrate` is killed at random moments and run again until it finishes. The table equals
//! that of an undisturbed run.

use std::process::{Command, Stdio};
use std::time::Duration;

use fastrand::Rng;
use migration_tests::Migration;
use tests::binary;
use tidemark_migrate::PhaseOutcome;

/// How often a phase is killed at most.
const KILLS: u32 = 6;

/// Starts a phase, and kills it after a while if it has not finished. Returns its exit code and its
/// errors if it has.
async fn begin(
    migration: &Migration,
    phase: &str,
    flags: &[&str],
    patience: Option<Duration>,
) -> Option<(i32, String)> {
    let mut process = Command::new(binary("okusuri-migrate").unwrap())
        .args(migration.arguments(phase, flags))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some(patience) = patience {
        tokio::time::sleep(patience).await;
        // SIGKILL; no effect on a finished process.
        process.kill().unwrap();
    }
    let output = tokio::task::spawn_blocking(move || process.wait_with_output().unwrap()).await.unwrap();
    Some((output.status.code()?, String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_killed_in_every_phase_gives_the_same_table() {
    let undisturbed = Migration::new(11, 500).await.unwrap();
    for phase in ["export", "transform", "load"] {
        undisturbed.phase(phase, &[]).await.unwrap();
    }
    let (items, expected) = (undisturbed.json("items.json").unwrap(), undisturbed.items().await.unwrap());

    let mut rng = Rng::with_seed(11);
    let killed = Migration::new(11, 500).await.unwrap();
    let mut kills = 0;
    for phase in ["export", "transform", "load"] {
        // After varying times, until an attempt finishes first, or the limit is reached.
        let mut end = None;
        for _ in 0..KILLS {
            end = begin(&killed, phase, &[], Some(Duration::from_millis(rng.u64(5..700)))).await;
            if end.is_some() {
                break;
            }
            kills += 1;
        }
        if end.is_none() {
            end = begin(&killed, phase, &[], None).await;
        }
        let (code, errors) = end.unwrap();
        // An export that was killed between its report and its end is not repeated.
        let had_finished = phase == "export" && kills > 0 && errors.contains("run-exists: ");
        assert!(had_finished || code == i32::from(phase == "transform"), "{phase}: {code}, {errors}");
    }
    assert!(kills > KILLS, "{kills} of them were killed");
    // The items may differ only in the time of the export: nothing expires in between.
    let of_killed = killed.json("items.json").unwrap();
    assert_eq!((&of_killed["types"], &of_killed["reasons"]), (&items["types"], &items["reasons"]));
    let comparable = |items: &std::collections::BTreeMap<_, std::collections::BTreeMap<String, _>>| {
        let mut items = items.clone();
        for item in items.values_mut() {
            // The first due time depends on the time of the export, and each run has its own id.
            item.remove("DueAt");
            item.remove("MigratedBy");
        }
        items
    };
    let actual = killed.items().await.unwrap();
    assert!(comparable(&actual) == comparable(&expected), "the tables differ");
    for _ in 0..KILLS {
        begin(&killed, "check", &["--strict"], Some(Duration::from_millis(rng.u64(5..400)))).await;
    }
    assert_eq!(killed.phase("check", &["--strict"]).await.unwrap(), PhaseOutcome::Done);
}
