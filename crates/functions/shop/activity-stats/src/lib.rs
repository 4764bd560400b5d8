//! Keeps the statistics of activities with products exact over a stream that delivers at least
//! once: views, purchases and visitors of each product and day.
//!
//! The crate `rollup` counts; [`shop_store::activity_statistics`] declares the statistics.

use std::time::SystemTime;

use jiff::Timestamp;
use lambda_kit::statistics::{log, publish};
use rollup::{AggregateError, Aggregator, Reply};
use serde_json::value::RawValue;
use shop_store::CountedActivity;

/// Counts one batch, given as its event's JSON, before `deadline`.
///
/// # Errors
/// When nothing of the batch was counted. Lambda delivers it again.
pub async fn handle(
    aggregator: &Aggregator<CountedActivity>,
    event: Box<RawValue>,
    deadline: SystemTime,
    now: Timestamp,
) -> Result<Reply, AggregateError> {
    let handled = aggregator.handle_at(&event, deadline, now).await?;
    publish("ActivitiesCounted", &handled.report);
    log(aggregator.rollup().name(), &handled.report);
    Ok(handled.reply)
}
