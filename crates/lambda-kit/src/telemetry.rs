//! Logs and metrics. Logs are JSON if Lambda is configured so, otherwise readable text. Metrics are
//! written to the log in CloudWatch's [embedded metric
//! format](https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).

use std::sync::OnceLock;

use metrics_cloudwatch_embedded::{Builder, Collector};

/// The namespace of all metrics of the suite.
pub const NAMESPACE: &str = "Tidemark";

static COLLECTOR: OnceLock<&'static Collector> = OnceLock::new();

/// Initialises logs and metrics. Metrics carry the function's name in the dimension `FunctionName`.
pub fn init() -> Result<(), lambda_runtime::Error> {
    lambda_runtime::tracing::init_default_subscriber();
    let function = std::env::var("AWS_LAMBDA_FUNCTION_NAME").unwrap_or_else(|_| "unknown".to_owned());
    let collector = Builder::new().cloudwatch_namespace(NAMESPACE).with_dimension("FunctionName", function).init()?;
    COLLECTOR.get_or_init(|| collector);
    Ok(())
}

/// Writes the metrics since the last flush.
pub fn flush() {
    if let Some(collector) = COLLECTOR.get()
        && let Err(error) = collector.flush(std::io::stdout())
    {
        tracing::warn!(%error, "metrics could not be written");
    }
}
