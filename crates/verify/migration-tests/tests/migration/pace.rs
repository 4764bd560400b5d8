//! A running command is watched, paused, and made faster or slower.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use migration_tests::Migration;
use tests::binary;
use tidemark_engine::{Chance, EngineFaults, FailureReply};
use tidemark_migrate::PhaseOutcome;

/// The value of a metric in the file, if the file is complete.
fn metric(text: &str, name: &str) -> Option<f64> {
    assert!(text.ends_with("# EOF\n"), "{text}");
    text.lines().find_map(|line| line.strip_prefix(name)?.rsplit_once(' ')?.1.parse().ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_running_load_can_be_watched_paused_and_made_faster() {
    let migration = Migration::new(121, 60).await.unwrap();
    for phase in ["export", "transform"] {
        migration.phase(phase, &[]).await.unwrap();
    }
    let metrics = migration.folder.path().join("metrics.prom");
    let slowly = |argument: String| if argument == "1000000" { "150".to_owned() } else { argument };
    let load = Command::new(binary("okusuri-migrate").unwrap())
        .args(migration.arguments("load", &["--metrics-file", metrics.to_str().unwrap()]).into_iter().map(slowly))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let read = |name: &str| std::fs::read_to_string(&metrics).ok().and_then(|text| metric(&text, name));
    let until = async |what: &str, is_so: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !is_so() {
            assert!(start.elapsed() < Duration::from_secs(30), "{what}: {:?}", std::fs::read_to_string(&metrics));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let done = || read("tidemark_migrate_done{phase=\"load\",what=\"items\"}").unwrap_or_default();
    until("it loads", &|| done() > 500.0).await;
    assert_eq!(read("tidemark_migrate_rate"), Some(150.0));
    migration.phase("control", &["--pause"]).await.unwrap();
    until("it pauses", &|| read("tidemark_migrate_paused") == Some(1.0)).await;
    // Requests that were on their way arrive.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (paused, items) = (done(), migration.items().await.unwrap().len());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!((done(), migration.items().await.unwrap().len()), (paused, items));
    assert!(read("tidemark_migrate_expected").unwrap() > paused + 200.0, "it was too fast for this test");

    migration.phase("control", &["--resume", "--rate", "1000000"]).await.unwrap();
    let resumed = Instant::now();
    let output = tokio::task::spawn_blocking(move || load.wait_with_output().unwrap()).await.unwrap();
    assert!(output.status.success() && resumed.elapsed() < Duration::from_secs(20), "{output:?}");
    assert_eq!((done(), read("tidemark_migrate_running")), (read("tidemark_migrate_expected").unwrap(), Some(0.0)));
    // Nobody sees a progress bar here, but a line every few seconds.
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.lines().any(|line| line.contains("items") && line.contains("a second") && line.contains("left")),
        "{told}"
    );

    // A pause holds for the next command, too; a rate does not.
    migration.phase("control", &["--pause"]).await.unwrap();
    let check = migration.phase("check", &["--strict"]);
    let resume = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let begun = migration.json("report-check.json").is_err();
        migration.phase("control", &["--resume"]).await.map(|_| begun)
    };
    let (checked, was_paused) = tokio::join!(check, resume);
    assert_eq!((checked.unwrap(), was_paused.unwrap()), (PhaseOutcome::Done, true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_throttled_load_lowers_its_rate_and_a_mover_keeps_to_a_rate() {
    let migration = Migration::new(122, 20).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for phase in ["export", "transform"] {
        migration.phase(phase, &[]).await.unwrap();
    }
    let chance = Chance { next: 30, probability: 0.0 };
    let faults = EngineFaults {
        fail_before: BTreeMap::from([("BatchExecuteStatement".to_owned(), chance)]),
        failure_reply: FailureReply::Throttled,
        ..EngineFaults::default()
    };
    migration.database.engine().faults().set(faults);
    assert_eq!(migration.phase("load", &[]).await.unwrap(), PhaseOutcome::Done);
    let report = migration.json("report-load.json").unwrap();
    assert!(report["throttled"].as_u64().unwrap() > 0, "{report}");
    assert!(report["lowestRate"].as_f64().unwrap() < 600_000.0, "{report}");

    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let start = Instant::now();
    migration.phase("cutover", &["--to", "100%", "--rate", "8"]).await.unwrap();
    assert!(start.elapsed() > Duration::from_secs(2), "{:?}", start.elapsed());
}
