//! An engine that holds the template's tables: the embedded one in memory, or another one that
//! `TIDEMARK_DYNAMODB_URL` names.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_sdk_dynamodbstreams::types::ShardIteratorType;
use tidemark_engine::{Chance, Engine, EngineFaults, Options};
use tidemark_local::dynamodb::{Identity, client, streams_client};
use tidemark_local::event_source_mapping::filter::Filters;
use tidemark_local::event_source_mapping::record::{StreamRecord, of_dynamodb};
use uuid::Uuid;

/// The variable with the URL of another engine: DynamoDB Local without `-sharedDb`, which keeps the
/// tables of each access key apart.
const ELSEWHERE: &str = "TIDEMARK_DYNAMODB_URL";

/// The URL of the engine that tests run on, unless it is the embedded one.
pub(crate) fn external_engine_url() -> Option<String> {
    std::env::var(ELSEWHERE).ok().filter(|url| !url.is_empty())
}

/// Somebody whom no other test is: what keeps tests apart that run on one engine at the same time.
pub(crate) fn unique_identity() -> Identity {
    Identity { access_key_id: format!("test{}", Uuid::now_v7().simple()), ..Identity::local() }
}

/// A DynamoDB of a test's own. Everything in it goes with it.
#[derive(Debug)]
pub struct Database {
    /// Speaks to it over HTTP.
    pub client: Client,
    url: String,
    identity: Identity,
    engine: Option<Engine>,
}

impl Database {
    /// The name of the clicks table in the stage `local`.
    pub const CLICKS: &str = "qit-db-local";

    /// The name of the game's table in the stage `local`.
    pub const GAMES: &str = "EsiritoriGame";

    /// The name of the shop's table in the stage `local`.
    pub const SHOP: &str = "DynamoDBShop";

    /// The name of the journal's table in the stage `local`.
    pub const JOURNAL: &str = "TidemarkJournal";

    /// The name of Okusuri's table in the stage `local`.
    pub const OKUSURI: &str = "okusuri-table";

    /// One of its tables, as the store reads and writes it.
    pub fn table(&self, name: &str) -> store_base::Table {
        store_base::Table::new(self.client.clone(), name)
    }

    /// Starts an engine and creates the tables of `template.yaml`.
    pub async fn start() -> Result<Self> {
        let (url, identity, engine) = match external_engine_url() {
            Some(url) => (url, unique_identity(), None),
            None => {
                let engine = Engine::start(Options::default()).await?;
                (engine.url(), Identity::local(), Some(engine))
            }
        };
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/20251002/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
            identity.access_key_id
        );
        let template = std::fs::read_to_string(crate::repository().join("template.yaml"))?;
        for table in tidemark_local::template::read(&template, &BTreeMap::new())?.stack.tables {
            let request = reqwest::Client::new()
                .post(&url)
                .header("content-type", "application/x-amz-json-1.0")
                .header("x-amz-target", "DynamoDB_20120810.CreateTable")
                .header("x-amz-date", "20251002T103000Z")
                .header("authorization", &authorization)
                .body(table.create_table.to_string());
            let answer = request.send().await?;
            ensure!(answer.status().is_success(), "{}: {}", table.name, answer.text().await?);
        }
        let client = client(&url, &identity);
        Ok(Self { client, url, identity, engine })
    }

    /// The embedded engine, to force faults and to change shards.
    ///
    /// # Panics
    /// On another engine, which has no such thing. `scripts/test-engine` names the tests that need
    /// it.
    pub fn engine(&self) -> &Engine {
        let Some(engine) = &self.engine else { panic!("this test needs the embedded engine, not that of {ELSEWHERE}") };
        engine
    }

    /// Carries out the next so many requests of an operation, and loses their answers.
    pub fn lose_answers(&self, operation: &str, next: u32) {
        let fail_after = BTreeMap::from([(operation.to_owned(), Chance { next, probability: 0.0 })]);
        self.engine().faults().set(EngineFaults { fail_after, ..EngineFaults::default() });
    }

    /// Where DynamoDB and its streams are served.
    pub fn url(&self) -> String {
        self.url.clone()
    }

    /// A client of the streams.
    pub fn streams(&self) -> aws_sdk_dynamodbstreams::Client {
        streams_client(&self.url, &self.identity)
    }

    /// A number in an item of the clicks table; 0 when there is no such item or attribute.
    pub async fn number(&self, partition: &str, sort: &str, attribute: &str) -> Result<u64> {
        let request = self.client.get_item().table_name(Self::CLICKS);
        let request = request.key("userId", AttributeValue::S(partition.to_owned()));
        let item = request.key("createDateTime", AttributeValue::S(sort.to_owned())).send().await?.item;
        let Some(value) = item.as_ref().and_then(|item| item.get(attribute)) else { return Ok(0) };
        value.as_n().ok().and_then(|number| number.parse().ok()).with_context(|| format!("{attribute} is {value:?}"))
    }

    /// What the game table's stream has told so far, as the mapping of `game-archiver` passes it
    /// on.
    pub async fn game_records(&self) -> Result<Vec<serde_json::Value>> {
        self.records_of("game-archiver", Self::GAMES).await
    }

    /// What a table's stream has told so far, as the mapping of the function that reads it passes
    /// it on.
    pub async fn records_of(&self, function: &str, table: &str) -> Result<Vec<serde_json::Value>> {
        self.stream_of(function, table).await?.rest().await
    }

    /// A table's stream as the mapping of a function reads it, from its beginning.
    pub async fn stream_of(&self, function: &str, table: &str) -> Result<StreamTail> {
        let template = std::fs::read_to_string(crate::repository().join("template.yaml"))?;
        let functions = tidemark_local::template::read(&template, &BTreeMap::new())?.stack.functions;
        let reader = functions.iter().find(|known| known.short_name() == function);
        let mapping = reader.and_then(|reader| reader.stream_mappings.first());
        let mapping = mapping.with_context(|| format!("{function} reads no stream"))?;
        let filters = Filters::compile(&mapping.filters)?;

        let table = self.client.describe_table().table_name(table).send().await?.table;
        let stream = table.and_then(|table| table.latest_stream_arn).context("the table has no stream")?;
        let streams = self.streams();
        let shards = streams.describe_stream().stream_arn(&stream).send().await?.stream_description;
        let mut iterators = Vec::new();
        for shard in shards.and_then(|stream| stream.shards).unwrap_or_default() {
            let first = streams.get_shard_iterator().stream_arn(&stream).shard_id(shard.shard_id().unwrap_or_default());
            let first = first.shard_iterator_type(ShardIteratorType::TrimHorizon).send().await?;
            iterators.extend(first.shard_iterator);
        }
        Ok(StreamTail { streams, stream, filters, iterators })
    }
}

/// Reads the shards that a stream had at first.
#[derive(Debug)]
pub struct StreamTail {
    streams: aws_sdk_dynamodbstreams::Client,
    stream: String,
    filters: Filters,
    iterators: Vec<String>,
}

impl StreamTail {
    /// The records since the last call.
    pub async fn rest(&mut self) -> Result<Vec<serde_json::Value>> {
        let mut records = Vec::new();
        for mut iterator in std::mem::take(&mut self.iterators) {
            loop {
                let page = self.streams.get_records().shard_iterator(iterator).send().await?;
                let found = page.records.unwrap_or_default();
                for record in &found {
                    let event = StreamRecord::new(of_dynamodb(record, &self.stream), &self.filters).event;
                    records.extend(event.map(|event| serde_json::from_str(event.get())).transpose()?);
                }
                let Some(next) = page.next_shard_iterator else { break };
                iterator = next;
                // An open shard never ends: an empty page says that this is all so far.
                if found.is_empty() {
                    self.iterators.push(iterator);
                    break;
                }
            }
        }
        Ok(records)
    }
}
