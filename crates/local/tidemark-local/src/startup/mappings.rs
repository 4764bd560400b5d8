//! Starts the mappings on the streams of tables and on Kinesis streams.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use tidemark_engine::Engine;

use crate::admin_routes::AdminState;
use crate::dynamodb::{self, Identity};
use crate::event_source_mapping::{DynamoDbSource, Mapping, MappingSource, Stream};
use crate::kinesis::Kinesis;
use crate::stack::{Function, Stack, StreamMapping, StreamRef};
use crate::start_error::StartError;

/// The streams that mappings read.
pub(super) struct Streams<'a> {
    /// Their ARNs by the tables' logical ids.
    pub(super) of_tables: BTreeMap<String, String>,
    pub(super) kinesis: Option<Arc<Kinesis>>,
    pub(super) identity: Identity,
    pub(super) engine: Option<&'a Engine>,
}

impl Streams<'_> {
    /// The stream of a mapping, read with the role of its function.
    fn get(&self, function: &Function, mapping: &StreamMapping, stack: &Stack, dynamodb: &str) -> Option<Stream> {
        match &mapping.stream {
            StreamRef::Table(id) => {
                let stream_arn = self.of_tables.get(id)?.clone();
                let client = dynamodb::streams_client(dynamodb, &self.identity.of_function(&function.name));
                let table = stack.tables.iter().find(|table| table.logical_id == *id);
                let writes = self.engine.zip(table).map(|(engine, table)| engine.subscribe_to_writes(&table.name));
                Some((Arc::new(DynamoDbSource { client, stream_arn: stream_arn.clone() }), stream_arn, writes))
            }
            StreamRef::Kinesis(arn) => self.kinesis.as_ref()?.stream(arn, &stack.kinesis_streams, function),
        }
    }
}

/// Starts every enabled mapping, with the role of its function.
pub(super) async fn start(
    stack: &Stack,
    admin: &AdminState,
    streams: &Streams<'_>,
    data: Option<&Path>,
) -> Result<Vec<Mapping>, StartError> {
    let queue = |id: &String| stack.queues.iter().find(|queue| queue.logical_id == *id);
    let mut mappings = Vec::new();
    for pool in admin.functions.all() {
        for mapping in pool.function().stream_mappings.iter().filter(|mapping| mapping.enabled) {
            let name = || format!("mapping {} of {}", mapping.event_id, pool.function().short_name());
            let found = streams.get(pool.function(), mapping, stack, &admin.addresses.dynamodb);
            let Some((stream, stream_arn, writes)) = found else {
                let (StreamRef::Table(stream) | StreamRef::Kinesis(stream)) = mapping.stream.clone();
                return Err(StartError::NoStream { mapping: name(), table: stream });
            };
            let source = MappingSource {
                stream,
                stream_arn,
                failure_queue: mapping.on_failure_queue.as_ref().and_then(queue),
                queues: Arc::clone(&admin.queues),
                policies: &admin.policies,
                data,
                writes,
            };
            let started = Mapping::start(Arc::clone(pool), mapping.clone(), source).await;
            mappings.push(started.map_err(|source| StartError::Mapping { mapping: name(), source })?);
        }
    }
    Ok(mappings)
}
