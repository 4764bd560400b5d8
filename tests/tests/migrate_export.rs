//! What `okusuri-migrate export` brings out of a real PostgreSQL, and what stops it.

#![allow(clippy::unwrap_used)]

use tidemark_tests::Postgres;
use tidemark_tests::okusuri_source::fill;

#[tokio::test]
async fn the_source_has_as_many_rows_as_asked_for() {
    let mut postgres = Postgres::start().await.unwrap();
    let client = postgres.client().await.unwrap();
    let start = std::time::Instant::now();
    let rows = fill(&client, 1, 2_500).await.unwrap();
    println!("{rows} rows in {:?}", start.elapsed());
    assert!(rows > 100_000, "{rows}");
}
