//! Clicks: the writer, the stream functions, recounts and repairs.

mod aggregator;
mod details;
mod hot_partitions;
mod journeys;
mod operator;
mod recount;
mod store;
mod watch;
mod writer;

use clicks_store::{CountedClick, click_aggregators, rollup_table};
use rollup::Aggregator;
use tests::Database;

/// The aggregators of days, months and the total, of the details, and of the visitors of all time.
fn aggregators(db: &Database) -> [Aggregator<CountedClick>; 3] {
    click_aggregators(&rollup_table(&db.table(Database::CLICKS))).unwrap()
}

/// The aggregator of days, months and the total.
fn aggregator(db: &Database) -> Aggregator<CountedClick> {
    let [aggregator, ..] = aggregators(db);
    aggregator
}
