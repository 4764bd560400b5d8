//! A load that DynamoDB throttles writes more slowly for a while.

use std::collections::BTreeMap;

use migration_tests::Migration;
use tidemark_engine::{Chance, EngineFaults, FailureReply};
use tidemark_migrate::PhaseOutcome;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_throttled_load_lowers_its_rate() {
    let migration = Migration::new(122, 20).await.unwrap();
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
}
