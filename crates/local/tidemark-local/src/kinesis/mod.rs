//! Kinesis Data Streams: `ferrokinesis`, embedded, with the roles of functions in front of it.
//!
//! Records are in memory and are lost when the stack stops.

mod api;
mod arrivals;
mod source;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ferrokinesis::actions::{Operation, dispatch};
use ferrokinesis::store::{Store, StoreOptions};
use serde_json::{Value, json};
use tokio::sync::watch;

pub(crate) use self::api::{PATH, router};
use self::arrivals::Arrivals;
use self::source::KinesisSource;
use crate::arn;
use crate::event_source_mapping::Stream;
use crate::stack::{Function, KinesisStream};

/// The space for records of all streams.
const RETAINED_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Interval for removing old records, seconds.
const RETENTION_INTERVAL_S: u64 = 60;

/// Checks of a new stream, and the pause between them.
const ACTIVE_CHECKS_MAX: u32 = 500;
const ACTIVE_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The streams of a stack.
pub(crate) struct Kinesis {
    store: Store,
    router: axum::Router,
    /// Changes when records are put into the stream of this name.
    writes: BTreeMap<String, watch::Sender<()>>,
    arrivals: Arrivals,
}

impl std::fmt::Debug for Kinesis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kinesis").field("streams", &self.writes.keys()).finish_non_exhaustive()
    }
}

/// A stream that cannot be created.
#[derive(Debug, thiserror::Error)]
#[error("the stream {stream}: {problem}")]
pub struct KinesisError {
    /// Its name.
    pub stream: String,
    /// Kinesis's error.
    pub problem: String,
}

impl Kinesis {
    /// Creates the streams; `None` if there are none.
    pub(crate) async fn start(streams: &[KinesisStream]) -> Result<Option<Arc<Self>>, KinesisError> {
        if streams.is_empty() {
            return Ok(None);
        }
        let (router, store) = ferrokinesis::create_app(StoreOptions {
            create_stream_ms: 0,
            delete_stream_ms: 0,
            update_stream_ms: 0,
            // Functions may also create streams and split shards.
            shard_limit: streams.iter().map(|stream| stream.shards).sum::<u32>().saturating_add(200),
            retention_check_interval_secs: RETENTION_INTERVAL_S,
            max_retained_bytes: Some(RETAINED_BYTES_MAX),
            aws_account_id: arn::account().to_owned(),
            aws_region: arn::region().to_owned(),
            ..StoreOptions::default()
        });
        let writes = streams.iter().map(|stream| (stream.name.clone(), watch::Sender::new(()))).collect();
        let kinesis = Self { store, router, writes, arrivals: Arrivals::default() };
        for stream in streams {
            let created = kinesis.create(stream).await;
            created.map_err(|problem| KinesisError { stream: stream.name.clone(), problem })?;
        }
        Ok(Some(Arc::new(kinesis)))
    }

    /// The stream with this ARN, read with the role of a function.
    pub(crate) fn stream(
        self: &Arc<Self>,
        arn: &str,
        streams: &[KinesisStream],
        function: &Function,
    ) -> Option<Stream> {
        let name = arn::kinesis_stream_name(arn);
        let stream_arn = streams.iter().find(|stream| stream.name == name)?.arn.clone();
        let writes = self.writes.get(name).map(watch::Sender::subscribe);
        let source =
            KinesisSource { kinesis: Arc::clone(self), stream_arn: stream_arn.clone(), role: function.role.clone() };
        Some((Arc::new(source), stream_arn, writes))
    }

    async fn create(&self, stream: &KinesisStream) -> Result<(), String> {
        let KinesisStream { name, shards, retention_h, .. } = stream;
        self.call(Operation::CreateStream, json!({ "StreamName": name, "ShardCount": shards })).await?;
        let mut checks = 0;
        while self.call(Operation::DescribeStreamSummary, json!({ "StreamName": name })).await?["StreamDescriptionSummary"]
            ["StreamStatus"]
            != "ACTIVE"
        {
            checks += 1;
            if checks > ACTIVE_CHECKS_MAX {
                return Err("it did not become active".to_owned());
            }
            tokio::time::sleep(ACTIVE_CHECK_INTERVAL).await;
        }
        if *retention_h > 24 {
            let change = json!({ "StreamName": name, "RetentionPeriodHours": retention_h });
            self.call(Operation::IncreaseStreamRetentionPeriod, change).await?;
        }
        Ok(())
    }

    /// The answer to a call of the stack itself.
    async fn call(&self, operation: Operation, request: Value) -> Result<Value, String> {
        let answer = dispatch(&self.store, operation, request).await;
        answer.map(Option::unwrap_or_default).map_err(|error| {
            let message = error.body.message.unwrap_or_default();
            format!("{}: {message}", error.body.error_type)
        })
    }
}
