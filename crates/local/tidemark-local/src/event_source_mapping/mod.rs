//! Event source mappings: deliver the records of a stream to a function, as Lambda's pollers do.
//!
//! The stream is that of a table, or a Kinesis stream. The records of a shard are
//! delivered in order, one batch at a time. Shards are independent, except that children wait for
//! their parents.

mod batch_response;
mod buffer;
mod checkpoint;
mod dynamodb_source;
mod failure_destination;
pub mod filter;
mod poll_interval;
mod progress;
mod reader;
pub mod record;
mod retry;
mod shards;
pub mod source;
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

pub use dynamodb_source::DynamoDbSource;
pub use progress::{Progress, ShardProgress};

use crate::arn;
use crate::functions::Pool;
use crate::metrics::Subject;
use crate::policies::{Policies, Request};
use crate::queues::Queues;
use crate::stack::{Queue, StartingPosition, StreamMapping};
use checkpoint::{Checkpoint, Checkpoints};
use failure_destination::FailureDestination;
use filter::{FilterError, Filters};
use progress::NotedProgress;
use source::{Shard, StreamKind, StreamSource};
use worker::Worker;

/// Interval for listing new shards. New shards continue shards that end, and after the end of a
/// shard they are listed at once.
const DISCOVERY_INTERVAL: Duration = Duration::from_secs(15);

/// Pause before listing again after a failed request.
const DISCOVERY_RETRY: Duration = Duration::from_secs(4);

/// A stream, its ARN, and a signal of new records.
pub(crate) type Stream = (Arc<dyn StreamSource>, String, Option<watch::Receiver<()>>);

/// A running mapping.
#[derive(Debug)]
pub struct Mapping {
    /// `<function's logical id>-<event id>`.
    pub name: String,
    /// The function's name.
    pub function: String,
    /// The ARN of the stream that it reads.
    pub stream_arn: String,
    /// The progress of its shards.
    pub progress: Arc<Progress>,
    destination: FailureDestination,
    checkpoints: Arc<Checkpoints>,
    polls: watch::Sender<u64>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// The parts that all shards of a mapping share.
pub(crate) struct MappingContext {
    name: String,
    subject: Subject,
    pool: Arc<Pool>,
    function_arn: String,
    source: Arc<dyn StreamSource>,
    stream_arn: String,
    mapping: StreamMapping,
    filters: Filters,
    checkpoints: Arc<Checkpoints>,
    destination: FailureDestination,
    progress: Arc<Progress>,
    writes: Option<watch::Receiver<()>>,
    /// The number of the last poll that somebody wanted.
    polls: watch::Sender<u64>,
}

impl MappingContext {
    /// Notes that the stream trimmed records before they were read.
    fn note_lost(&self) -> std::io::Result<()> {
        let now = Some(Timestamp::now());
        self.progress.set_lost_at(now);
        self.checkpoints.set_lost_at(now)
    }
}

/// Why a mapping does not start.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// A filter pattern is invalid.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// The role lacks a permission that Lambda requires for a mapping.
    #[error("its function's role lacks a permission: {0}")]
    Role(String),
    /// The folder of the checkpoints cannot be created.
    #[error("checkpoints")]
    Io(#[from] std::io::Error),
}

/// The source of a mapping, and the storage of its checkpoints.
#[derive(Debug)]
pub struct MappingSource<'a> {
    /// The stream.
    pub stream: Arc<dyn StreamSource>,
    /// The stream's ARN.
    pub stream_arn: String,
    /// The on-failure queue.
    pub failure_queue: Option<&'a Queue>,
    /// The queues, which also receive the messages for the on-failure queue.
    pub(crate) queues: Arc<Queues>,
    /// The permissions of the function's role.
    pub policies: &'a Policies,
    /// The data folder; `None` stores nothing.
    pub data: Option<&'a Path>,
    /// Changes when the table is written to; `None` if the engine does not notify.
    pub writes: Option<watch::Receiver<()>>,
}

impl Mapping {
    /// Starts a mapping to a function. After that, each new record is delivered.
    ///
    /// # Errors
    /// [`MappingError`] when the stack does not support the mapping.
    pub async fn start(
        pool: Arc<Pool>,
        mapping: StreamMapping,
        source: MappingSource<'_>,
    ) -> Result<Self, MappingError> {
        check_role(&pool.function().name, &source)?;
        let name = format!("{}-{}", pool.function().logical_id, mapping.event_id);
        let progress = Arc::new(Progress::default());
        let context = Arc::new(MappingContext {
            function_arn: crate::arn::function(&pool.function().name),
            filters: Filters::compile(&mapping.filters)?,
            // A Kinesis stream is in memory: after a restart, its sequence numbers are other ones.
            checkpoints: Arc::new(Checkpoints::open(
                source.data.filter(|_| source.stream.kind() == StreamKind::DynamoDb),
                &name,
            )?),
            destination: FailureDestination::new(source.failure_queue.map(|queue| queue.name.clone()), source.data)
                .sending_to(source.queues),
            subject: Subject::Mapping(name.clone()),
            source: source.stream,
            stream_arn: source.stream_arn,
            progress: Arc::clone(&progress),
            writes: source.writes,
            polls: watch::Sender::new(0),
            name: name.clone(),
            pool,
            mapping,
        });
        progress.set_lost_at(context.checkpoints.lost_at());
        let (function, stream_arn) = (context.pool.function().name.clone(), context.stream_arn.clone());
        let (destination, checkpoints) = (context.destination.clone(), Arc::clone(&context.checkpoints));
        let polls = context.polls.clone();
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        // With an engine that does not answer yet, the task tries again.
        let is_positioned = match context.source.shards().await {
            Ok(shards) => position(&context, &shards).await.is_ok(),
            Err(_) => false,
        };
        tasks.spawn(stop.clone().run_until_cancelled_owned(run(context, is_positioned)));
        tasks.close();
        Ok(Self { name, function, stream_arn, progress, destination, checkpoints, polls, stop, tasks })
    }

    /// The failure queue's name and the number of its messages; `None` if discarded batches are
    /// only logged.
    pub fn failure_queue(&self) -> Option<(&str, u64)> {
        self.destination.queue()
    }

    /// Forgets that records were lost, after their effects were repaired.
    ///
    /// # Errors
    /// When the file that remembers it cannot be removed.
    pub fn forget_lost(&self) -> std::io::Result<()> {
        self.checkpoints.set_lost_at(None)?;
        self.progress.set_lost_at(None);
        Ok(())
    }

    /// Lets each shard be read now, and returns the number of this poll.
    pub(crate) fn poll(&self) -> u64 {
        self.polls.send_modify(|polls| *polls += 1);
        *self.polls.borrow()
    }

    /// Whether nothing is to do since this poll, before the next record or the next alarm.
    pub(crate) fn rests_since(&self, poll: u64) -> bool {
        self.progress.rests_since(poll)
    }

    /// Stops reading. A running batch is delivered again after the next start.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

/// Checks the permissions that Lambda requires before it creates a mapping, even if the mapping
/// never uses them.
///
/// Source:
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html>,
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-create.html>.
fn check_role(function: &str, source: &MappingSource<'_>) -> Result<(), MappingError> {
    let reads: [(&str, &str); 4] = match source.stream.kind() {
        StreamKind::DynamoDb => {
            ["DescribeStream", "GetRecords", "GetShardIterator", "ListStreams"].map(|name| ("dynamodb", name))
        }
        StreamKind::Kinesis => {
            ["DescribeStream", "GetRecords", "GetShardIterator", "ListShards"].map(|name| ("kinesis", name))
        }
    };
    let reads = reads.map(|(service, action)| (format!("{service}:{action}"), arn::of_here(&source.stream_arn)));
    let send = source.failure_queue.map(|queue| ("sqs:SendMessage".to_owned(), queue.arn.clone()));
    for (action, resource) in reads.into_iter().chain(send) {
        let request = Request { action, resource, ..Request::default() };
        source.policies.allow(function, &request).map_err(MappingError::Role)?;
    }
    Ok(())
}

/// Lists shards and starts a worker for each, children after their parents.
async fn run(context: Arc<MappingContext>, mut is_positioned: bool) {
    let mut workers = JoinSet::new();
    let (mut drained, mut reading) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let mut pause = DISCOVERY_INTERVAL;
        match context.source.shards().await {
            Ok(shards) => {
                if !is_positioned && let Err(error) = position(&context, &shards).await {
                    tracing::error!("{}: its checkpoints cannot be written: {error}", context.name);
                    tokio::time::sleep(DISCOVERY_RETRY).await;
                    continue;
                }
                is_positioned = true;
                for shard in shards::readable(&shards, &drained, &reading) {
                    let checkpoint =
                        context.checkpoints.load(&context.stream_arn, &shard.id).unwrap_or_else(|| start(&context));
                    if checkpoint.drained {
                        drained.insert(shard.id.clone());
                    } else {
                        reading.insert(shard.id.clone());
                        context.progress.note(&shard.id, NotedProgress::default());
                        let (context, id) = (Arc::clone(&context), shard.id.clone());
                        workers.spawn(async move { (id.clone(), Worker::new(context, id, checkpoint).run().await) });
                    }
                }
                // After a restart, the children of a drained shard can start at once.
                if !shards::readable(&shards, &drained, &reading).is_empty() {
                    continue;
                }
                context.progress.set_listed();
            }
            Err(error) => {
                tracing::warn!("{}: cannot list the shards of {}: {error}", context.name, context.stream_arn);
                pause = DISCOVERY_RETRY;
            }
        }
        tokio::select! {
            Some(ended) = workers.join_next() => match ended {
                Ok((shard_id, Ok(()))) => {
                    reading.remove(&shard_id);
                    drained.insert(shard_id);
                }
                // Nothing goes on behind a checkpoint that could not be saved, as on a full disk: the
                // shard is read again from the last one.
                Ok((shard_id, Err(error))) => {
                    tracing::error!("{}: {shard_id} is read again from its checkpoint: {error}", context.name);
                    tokio::time::sleep(DISCOVERY_RETRY).await;
                    reading.remove(&shard_id);
                }
                Err(error) => tracing::error!("{}: a shard's worker failed: {error}", context.name),
            },
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn start(context: &MappingContext) -> Checkpoint {
    Checkpoint { stream_arn: context.stream_arn.clone(), ..Checkpoint::default() }
}

/// When a mapping runs for the first time, saves where it begins in each shard. Otherwise records
/// that arrive while the stack is down would be skipped with `LATEST` or `AT_TIMESTAMP`; and with
/// `TRIM_HORIZON` nobody would notice that they were trimmed before the first batch. Later shards
/// are read from their beginning.
async fn position(context: &MappingContext, shards: &[Shard]) -> std::io::Result<()> {
    let ids: Vec<&str> = shards.iter().map(|shard| shard.id.as_str()).collect();
    let has_run = context.checkpoints.any(&context.stream_arn, &ids);
    if has_run {
        return Ok(());
    }
    let since_ms = match context.mapping.starting_position {
        StartingPosition::TrimHorizon => None,
        StartingPosition::Latest => Some(Timestamp::now().as_millisecond()),
        StartingPosition::AtTimestamp(since_ms) => Some(since_ms),
    };
    let is_latest = context.mapping.starting_position == StartingPosition::Latest;
    for shard in shards {
        let drained = shard.closed && is_latest;
        // Another engine than the embedded one may not accept the position before the first record.
        let sequence_number = shard.before.clone().filter(|_| context.writes.is_some() && since_ms.is_none());
        let checkpoint = Checkpoint { since_ms, drained, sequence_number, ..start(context) };
        context.checkpoints.save(&shard.id, &checkpoint).await?;
    }
    Ok(())
}
