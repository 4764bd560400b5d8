//! An engine in memory that holds the template's tables.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use engine::{Engine, Options};
use local::dynamodb::{Identity, client};

/// A DynamoDB of a test's own. Everything in it goes with it.
#[derive(Debug)]
pub struct Database {
    /// To force faults, and to change shards.
    pub engine: Engine,
    /// Speaks to it over HTTP.
    pub client: Client,
}

impl Database {
    /// The name of the clicks table in the stage `local`.
    pub const CLICKS: &str = "qit-db-local";

    /// Starts an engine and creates the tables of `template.yaml`.
    pub async fn start() -> Result<Self> {
        let engine = Engine::start(Options::default()).await?;
        let template = std::fs::read_to_string(crate::repository().join("template.yaml"))?;
        for table in local::template::read(&template, &BTreeMap::new())?.tables {
            let request = reqwest::Client::new()
                .post(engine.url())
                .header("content-type", "application/x-amz-json-1.0")
                .header("x-amz-target", "DynamoDB_20120810.CreateTable")
                .header("x-amz-date", "20251002T103000Z")
                .header(
                    "authorization",
                    "AWS4-HMAC-SHA256 Credential=local/20251002/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
                )
                .body(table.create_table.to_string());
            let answer = request.send().await?;
            ensure!(answer.status().is_success(), "{}: {}", table.name, answer.text().await?);
        }
        let client = client(&engine.url(), &Identity::local());
        Ok(Self { engine, client })
    }

    /// A number in an item of the clicks table; 0 when there is no such item or attribute.
    pub async fn number(&self, partition: &str, sort: &str, attribute: &str) -> Result<u64> {
        let request = self.client.get_item().table_name(Self::CLICKS);
        let request = request.key("userId", AttributeValue::S(partition.to_owned()));
        let item = request.key("createDateTime", AttributeValue::S(sort.to_owned())).send().await?.item;
        let Some(value) = item.as_ref().and_then(|item| item.get(attribute)) else { return Ok(0) };
        value.as_n().ok().and_then(|number| number.parse().ok()).with_context(|| format!("{attribute} is {value:?}"))
    }
}
