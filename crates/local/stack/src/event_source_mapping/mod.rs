//! Event source mappings: from a table's stream to a function, as Lambda's own pollers do it.
//!
//! The Streams API is all that is asked of the database, so any engine will do. Inside a shard, records are delivered in
//! order, one batch at a time; shards are independent of one another, except that children wait for their parents.

mod batch_response;
mod buffer;
mod checkpoint;
mod failure_destination;
pub mod filter;
mod poll_interval;
mod progress;
mod reader;
pub mod record;
mod retry;
mod shards;
mod window;
mod worker;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use progress::{Progress, ShardProgress};

use crate::arn;
use crate::functions::Pool;
use crate::metrics::Subject;
use crate::policies::{Policies, Request};
use crate::stack::{Queue, StartingPosition, StreamMapping};
use checkpoint::{Checkpoint, Checkpoints};
use failure_destination::FailureDestination;
use filter::{FilterError, Filters};
use shards::Shard;
use worker::Worker;

/// How often a stream is asked for new shards. They continue shards that end, and a shard that ends asks at once.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(15);

/// How soon it is asked again when it did not answer.
const DISCOVERY_RETRY: Duration = Duration::from_secs(4);

/// A mapping that runs.
#[derive(Debug)]
pub struct Mapping {
    /// `<function's logical id>-<event id>`.
    pub name: String,
    /// The function's name.
    pub function: String,
    /// The ARN of the stream that it reads.
    pub stream_arn: String,
    /// Where its shards stand.
    pub progress: Arc<Progress>,
    destination: FailureDestination,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// What all shards of a mapping share.
pub(crate) struct MappingContext {
    name: String,
    subject: Subject,
    pool: Arc<Pool>,
    function_arn: String,
    client: aws_sdk_dynamodbstreams::Client,
    stream_arn: String,
    mapping: StreamMapping,
    filters: Filters,
    checkpoints: Checkpoints,
    destination: FailureDestination,
    progress: Arc<Progress>,
    writes: Option<watch::Receiver<()>>,
}

/// Why a mapping does not start.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// A filter pattern is not understood.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// More than one batch per shard at a time.
    #[error(
        "ParallelizationFactor {0} is refused: with more than one batch per shard at a time, records of different items \
         overtake each other, and a function that counts by sequence numbers loses some. Set it to 1."
    )]
    Parallelization(u32),
    /// The function's role lacks what Lambda asks of it before it makes a mapping.
    #[error("its function's role does not do: {0}")]
    Role(String),
    /// The folder of the checkpoints cannot be made.
    #[error("checkpoints")]
    Io(#[from] std::io::Error),
}

/// What a mapping reads from and keeps its place in.
#[derive(Debug)]
pub struct MappingSource<'a> {
    /// A client of the streams API.
    pub client: aws_sdk_dynamodbstreams::Client,
    /// `LatestStreamArn` of the table.
    pub stream_arn: String,
    /// The on-failure queue.
    pub failure_queue: Option<&'a Queue>,
    /// What the function's role allows.
    pub policies: &'a Policies,
    /// The data folder; `None` keeps nothing.
    pub data: Option<&'a Path>,
    /// Changes when the table is written to, where the engine tells.
    pub writes: Option<watch::Receiver<()>>,
}

impl Mapping {
    /// Starts a mapping on a function.
    ///
    /// # Errors
    /// [`MappingError`] when it asks for what the stack refuses.
    pub fn start(pool: Arc<Pool>, mapping: StreamMapping, source: MappingSource<'_>) -> Result<Self, MappingError> {
        if mapping.parallelization_factor > 1 {
            return Err(MappingError::Parallelization(mapping.parallelization_factor));
        }
        check_role(&pool.function().binary, &source)?;
        let name = format!("{}-{}", pool.function().logical_id, mapping.event_id);
        let progress = Arc::new(Progress::default());
        let context = Arc::new(MappingContext {
            function_arn: crate::arn::function(&pool.function().name),
            filters: Filters::compile(&mapping.filters)?,
            checkpoints: Checkpoints::open(source.data, &name)?,
            destination: FailureDestination::new(source.failure_queue.map(|queue| queue.name.clone()), source.data),
            subject: Subject::Mapping(name.clone()),
            client: source.client,
            stream_arn: source.stream_arn,
            progress: Arc::clone(&progress),
            writes: source.writes,
            name: name.clone(),
            pool,
            mapping,
        });
        let (function, stream_arn) = (context.pool.function().name.clone(), context.stream_arn.clone());
        let destination = context.destination.clone();
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(stop.clone().run_until_cancelled_owned(run(context)));
        tasks.close();
        Ok(Self { name, function, stream_arn, progress, destination, stop, tasks })
    }

    /// The queue of what is given up, and the messages in it; `None`: it is only logged.
    #[must_use]
    pub fn failure_queue(&self) -> Option<(&str, u64)> {
        self.destination.queue()
    }

    /// Stops reading. A batch under way is delivered again after the next start.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

/// What Lambda looks for in the role before it makes a mapping, whether the mapping comes to need it or not.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html>.
fn check_role(function: &str, source: &MappingSource<'_>) -> Result<(), MappingError> {
    let stream = |action: &str| (format!("dynamodb:{action}"), arn::of_here(&source.stream_arn));
    let reads = ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map(stream);
    let send = source.failure_queue.map(|queue| ("sqs:SendMessage".to_owned(), queue.arn.clone()));
    for (action, resource) in reads.into_iter().chain(send) {
        let request = Request { action, resource, ..Request::default() };
        source.policies.allow(function, &request).map_err(MappingError::Role)?;
    }
    Ok(())
}

/// Finds shards and has each read by a worker of its own, children after their parents.
async fn run(context: Arc<MappingContext>) {
    let mut workers = JoinSet::new();
    let (mut drained, mut reading) = (BTreeSet::new(), BTreeSet::new());
    let mut positioned = false;
    loop {
        let mut pause = DISCOVERY_INTERVAL;
        match shards::list(&context.client, &context.stream_arn).await {
            Ok(shards) => {
                if !positioned && let Err(error) = position(&context, &shards).await {
                    tracing::error!("{}: its checkpoints cannot be written: {error}", context.name);
                    return;
                }
                positioned = true;
                for shard in shards::readable(&shards, &drained, &reading) {
                    let checkpoint =
                        context.checkpoints.load(&context.stream_arn, &shard.id).unwrap_or_else(|| start(&context));
                    if checkpoint.drained {
                        drained.insert(shard.id.clone());
                    } else {
                        reading.insert(shard.id.clone());
                        workers.spawn(Worker::new(Arc::clone(&context), shard.id.clone(), checkpoint).run());
                    }
                }
                // A shard that was drained before may let others begin at once.
                if !shards::readable(&shards, &drained, &reading).is_empty() {
                    continue;
                }
            }
            Err(error) => {
                tracing::warn!("{}: no shards of {}: {error:?}", context.name, context.stream_arn);
                pause = DISCOVERY_RETRY;
            }
        }
        tokio::select! {
            Some(ended) = workers.join_next() => match ended {
                Ok(Ok(shard_id)) => {
                    reading.remove(&shard_id);
                    drained.insert(shard_id);
                }
                // Without a checkpoint nothing may be passed over: the shard stands still, the others go on.
                Ok(Err(error)) => tracing::error!("{}: a shard stopped: {error}", context.name),
                Err(error) => tracing::error!("{}: a shard's worker failed: {error}", context.name),
            },
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn start(context: &MappingContext) -> Checkpoint {
    Checkpoint { stream_arn: context.stream_arn.clone(), ..Checkpoint::default() }
}

/// The first time that a mapping with `LATEST` runs, writes down for each shard where that is, so that what arrives while the
/// stack is down is not passed over. Shards that come later are read from their beginning.
async fn position(context: &MappingContext, shards: &[Shard]) -> std::io::Result<()> {
    let ids: Vec<&str> = shards.iter().map(|shard| shard.id.as_str()).collect();
    let has_run = context.checkpoints.any(&context.stream_arn, &ids);
    if context.mapping.starting_position == StartingPosition::TrimHorizon || has_run {
        return Ok(());
    }
    let since_ms = Some(Timestamp::now().as_millisecond());
    for shard in shards {
        let checkpoint = Checkpoint { since_ms, drained: shard.closed, ..start(context) };
        context.checkpoints.save(&shard.id, &checkpoint).await?;
    }
    Ok(())
}
