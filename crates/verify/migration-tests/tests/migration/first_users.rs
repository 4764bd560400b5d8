//! Named users move before the percentages, and come back with them.

use std::collections::BTreeSet;

use migration_tests::Migration;
use tidemark_migrate::cutover::ownership::bucket;
use tidemark_migrate::{FailureKind, PhaseOutcome};

/// The users that DynamoDB owns.
async fn moved(migration: &mut Migration) -> BTreeSet<String> {
    let client = migration.postgres.client().await.unwrap();
    let sql = "SELECT user_id FROM tidemark_migration.ownerships WHERE epoch % 2 = 1";
    client.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn named_users_move_first_and_stay_until_the_list_or_the_phase_changes() {
    let mut migration = Migration::new(81, 60).await.unwrap();
    migration.phase("cutover", &["--to", "capture"]).await.unwrap();
    for name in ["export", "transform", "load"] {
        migration.phase(name, &[]).await.unwrap();
    }
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    let client = migration.postgres.client().await.unwrap();
    let all = client.query("SELECT user_id FROM tidemark_migration.ownerships ORDER BY user_id", &[]).await.unwrap();
    let all: Vec<String> = all.iter().map(|row| row.get(0)).collect();
    let late: Vec<_> = all.iter().filter(|user| bucket(user) >= 50 && !user.contains('\n')).take(3).cloned().collect();
    let file = migration.path("first.txt");
    let path = file.display().to_string();

    std::fs::write(&file, format!("{}\nnobody\n", late[0])).unwrap();
    let refused = migration.phase("cutover", &["--to", "0%", "--first", &path]).await.unwrap_err();
    assert!(refused.kind == FailureKind::Options && refused.detail.contains("\"nobody\""), "{refused}");
    assert_eq!(moved(&mut migration).await, BTreeSet::new());

    std::fs::write(&file, format!("{}\r\n\n{}", late[0], late[1])).unwrap();
    migration.phase("cutover", &["--to", "dual", "--first", &path]).await.unwrap();
    assert_eq!(moved(&mut migration).await, BTreeSet::new());
    let named = BTreeSet::from([late[0].clone(), late[1].clone()]);
    for _ in 0..2 {
        assert_eq!(migration.phase("cutover", &["--to", "0%", "--compare"]).await.unwrap(), PhaseOutcome::Done);
        assert_eq!(moved(&mut migration).await, named);
    }
    let early: BTreeSet<_> = all.iter().filter(|user| bucket(user) < 20).cloned().collect();
    migration.phase("cutover", &["--to", "20%"]).await.unwrap();
    assert_eq!(moved(&mut migration).await, &early | &named);
    assert_eq!(migration.json("report-cutover.json").unwrap()["state"]["toMove"], 0);

    std::fs::write(&file, &late[2]).unwrap();
    migration.phase("cutover", &["--to", "0%", "--first", &path]).await.unwrap();
    assert_eq!(moved(&mut migration).await, BTreeSet::from([late[2].clone()]));
    migration.phase("cutover", &["--to", "dual"]).await.unwrap();
    assert_eq!(moved(&mut migration).await, BTreeSet::new());
    std::fs::write(&file, "").unwrap();
    migration.phase("cutover", &["--to", "0%", "--first", &path]).await.unwrap();
    assert_eq!(moved(&mut migration).await, BTreeSet::new());
}
