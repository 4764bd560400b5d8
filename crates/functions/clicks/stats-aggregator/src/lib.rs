//! Keeps the statistics of the clicks exact over a stream that delivers at least once.
//!
//! The `rollup` crate counts; `clicks_store` declares the statistics.

mod config;

use std::time::SystemTime;

use clicks_store::CountedClick;
use futures::future::join_all;
use jiff::Timestamp;
use lambda_kit::statistics::{log, publish};
use rollup::{AggregateError, Aggregator, Reply};
use serde_json::value::RawValue;

pub use config::Config;

/// Counts one batch for each of the aggregators, given as its event's JSON, before `deadline`.
///
/// # Errors
/// The first error. The batch comes again, and an aggregator that has counted it counts nothing.
pub async fn handle(
    aggregators: &[Aggregator<CountedClick>],
    event: Box<RawValue>,
    deadline: SystemTime,
    now: Timestamp,
) -> Result<Reply, AggregateError> {
    let handled = aggregators.iter().map(|aggregator| aggregator.handle_at(&event, deadline, now));
    let mut replies = Vec::with_capacity(aggregators.len());
    for (aggregator, handled) in aggregators.iter().zip(join_all(handled).await) {
        let handled = handled?;
        // The numbers of the first aggregator stand for all, which count the same clicks.
        if replies.is_empty() {
            publish("ClicksCounted", &handled.report);
        }
        log(aggregator.rollup().name(), &handled.report);
        replies.push(handled.reply);
    }
    Ok(replies.into_iter().reduce(Reply::and).unwrap_or_default())
}
