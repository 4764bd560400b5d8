//! The game table's stream.

use anyhow::{Context, Result};
use aws_sdk_dynamodbstreams::types::ShardIteratorType;
use serde_json::Value;
use tidemark_engine::Engine;
use tidemark_local::dynamodb::Identity;
use tidemark_local::event_source_mapping::filter::Filters;
use tidemark_local::event_source_mapping::record::{StreamRecord, of_dynamodb};

use crate::stack;

/// It, as the mapping of `game-archiver` passes it on.
pub(crate) struct Stream {
    client: aws_sdk_dynamodbstreams::Client,
    arn: String,
    filters: Filters,
    iterator: String,
}

impl Stream {
    /// From its beginning.
    pub(crate) async fn open(engine: &Engine, table: &str) -> Result<Self> {
        let described = stack::client(engine).describe_table().table_name(table).send().await?.table;
        let arn = described.and_then(|table| table.latest_stream_arn).context("the table has no stream")?;
        let functions = stack::declared()?.functions;
        let archiver = functions.iter().find(|function| function.short_name() == "game-archiver");
        let mapping = archiver.and_then(|archiver| archiver.stream_mappings.first());
        let filters = Filters::compile(&mapping.context("the archiver reads no stream")?.filters)?;
        let client = tidemark_local::dynamodb::streams_client(&engine.url(), &Identity::local());
        let stream = client.describe_stream().stream_arn(&arn).send().await?.stream_description;
        let shards = stream.and_then(|stream| stream.shards).unwrap_or_default();
        let shard = shards.first().and_then(|shard| shard.shard_id()).context("the stream has no shard")?;
        let first = client.get_shard_iterator().stream_arn(&arn).shard_id(shard);
        let first = first.shard_iterator_type(ShardIteratorType::TrimHorizon).send().await?;
        Ok(Self { client, arn, filters, iterator: first.shard_iterator.context("no iterator")? })
    }

    /// The records since the last call.
    pub(crate) async fn news(&mut self) -> Result<Vec<Value>> {
        let page = self.client.get_records().shard_iterator(&self.iterator).send().await?;
        self.iterator = page.next_shard_iterator.clone().context("the shard has ended")?;
        let events =
            page.records().iter().map(|record| StreamRecord::new(of_dynamodb(record, &self.arn), &self.filters).event);
        events.flatten().map(|event| Ok(serde_json::from_str(event.get())?)).collect()
    }
}
