//! Logs and metrics. Logs are JSON if Lambda is configured so, otherwise readable text. Metrics are
//! written to the log in CloudWatch's [embedded metric
//! format](https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).

use std::env;
use std::sync::OnceLock;

use metrics_cloudwatch_embedded::{Builder, Collector};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// The namespace of all metrics of the suite.
pub const NAMESPACE: &str = "Tidemark";

static COLLECTOR: OnceLock<&'static Collector> = OnceLock::new();

/// Initialises logs and metrics. Metrics carry the function's name in the dimension `FunctionName`.
pub fn init() -> Result<(), lambda_runtime::Error> {
    init_logs();
    let function = env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_else(|_| "unknown".to_owned());
    let collector = Builder::new().cloudwatch_namespace(NAMESPACE).with_dimension("FunctionName", function).init()?;
    COLLECTOR.get_or_init(|| collector);
    Ok(())
}

/// `AWS_LAMBDA_LOG_FORMAT` and `AWS_LAMBDA_LOG_LEVEL` are
/// [Lambda's](https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html).
/// Without a level, `RUST_LOG` may name one, or several by target: `info,click_writer=debug`.
fn init_logs() {
    let info = Targets::new().with_default(LevelFilter::INFO);
    let targets = match env::var("AWS_LAMBDA_LOG_LEVEL") {
        // `FATAL` is a level of Lambda's, and none here. As a target it would turn all lines off.
        Ok(level) => level.parse().map_or(info, |level: LevelFilter| Targets::new().with_default(level)),
        Err(_) => {
            let given = env::var("RUST_LOG").ok().filter(|targets| !targets.is_empty());
            given.and_then(|targets| targets.parse().ok()).unwrap_or(info)
        }
    };
    let lines = fmt::layer().with_target(false).without_time();
    let is_json = env::var("AWS_LAMBDA_LOG_FORMAT").is_ok_and(|format| format.eq_ignore_ascii_case("json"));
    let lines = if is_json { lines.json().boxed() } else { lines.boxed() };
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
}

/// Writes the metrics since the last flush.
pub fn flush() {
    if let Some(collector) = COLLECTOR.get()
        && let Err(error) = collector.flush(std::io::stdout())
    {
        tracing::warn!(%error, "metrics could not be written");
    }
}
