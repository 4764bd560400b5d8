//! What the functions have in common that keep statistics with the crate `rollup`: metrics, log
//! lines and the types of errors.

use lambda_runtime::Diagnostic;
use metrics::{counter, histogram};
use rollup::{AggregateError, Report};

/// The metrics of a batch. `counted` names the metric of the counted records.
pub fn publish(counted: &'static str, report: &Report) {
    counter!(counted).increment(report.counted);
    counter!("RecordsDuplicated").increment(report.duplicates);
    counter!("RecordsQuarantined").increment(report.quarantined);
    if let Some(lag) = report.lag {
        histogram!("CountingLagMs").record(lag.as_secs_f64() * 1_000.0);
    }
}

/// The log line of a batch. `rollup` is the name of the rollup that has counted it.
pub fn log(rollup: &str, report: &Report) {
    tracing::info!(
        rollup,
        shard_id = report.shard_id,
        records = report.records,
        counted = report.counted,
        duplicates = report.duplicates,
        ignored = report.ignored,
        quarantined = report.quarantined,
        lag_ms = report.lag.map(|lag| lag.as_secs_f64() * 1_000.0),
        failed_from = report.failed_from,
    );
}

/// The invocation's error, with a stable type.
pub fn diagnostic(error: &AggregateError) -> Diagnostic {
    Diagnostic { error_type: error.code().to_owned(), error_message: error.to_string() }
}
