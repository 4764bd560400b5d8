//! The databases of other applications: their rows, and what is expected of their migration.

use std::collections::BTreeSet;

use tidemark_tests::Postgres;
use tidemark_tests::foreign::{CHAT, SHOP, Source, TRACKER, expected_items, expected_rejects};

async fn assert_same_rows_for_the_same_seed(source: Source) {
    let mut postgres = Postgres::start().await.unwrap();
    let client = postgres.client().await.unwrap();
    let mut filled = Vec::new();
    for seed in [2, 1, 1] {
        client.batch_execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public").await.unwrap();
        source.fill(&client, seed).await.unwrap();
        filled.push(source.digests(&client).await.unwrap());
    }
    let counts: Vec<_> = filled[2].iter().map(|(table, (rows, _))| (*table, *rows)).collect();
    assert_eq!(counts, source.tables);
    assert_eq!(counts.iter().map(|(_, rows)| rows).sum::<i64>(), 100_000);
    assert_eq!(filled[1], filled[2]);
    assert_ne!(filled[0], filled[1]);

    source.expect(&client).await.unwrap();
    let items = expected_items(&client).await.unwrap();
    let keys: BTreeSet<_> = items.iter().map(|(key, _)| key).collect();
    assert_eq!(keys.len(), items.len(), "{}: an expected key occurs twice", source.name);
    assert!(items.len() > 80_000 && expected_rejects(&client).await.unwrap().len() > 20);
}

#[tokio::test]
async fn a_shop_has_the_same_rows_for_the_same_seed() {
    assert_same_rows_for_the_same_seed(SHOP).await;
}

#[tokio::test]
async fn an_issue_tracker_has_the_same_rows_for_the_same_seed() {
    assert_same_rows_for_the_same_seed(TRACKER).await;
}

#[tokio::test]
async fn a_chat_has_the_same_rows_for_the_same_seed() {
    assert_same_rows_for_the_same_seed(CHAT).await;
}
