//! Clicks through the local stack: how many a second, and how soon each is a statistic.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use futures::future::try_join_all;
use serde_json::{Value, json};
use tidemark_engine::Engine;
use tidemark_local::cli::Options;
use tidemark_local::dynamodb::Identity;
use tidemark_local::stack::Table;
use tidemark_local::startup::RunningStack;

use crate::report::{Better, Row, quantile};
use crate::{Effort, Folders, NODE, repository};

const SECTION: &str = "Through the local stack: HTTP, function, table, stream, aggregator";

/// Callers that post clicks at the same time, each waiting for its answer.
const CALLERS: usize = 16;

/// How long the statistics may take to catch up.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the template declares.
pub(crate) fn declared() -> Result<tidemark_local::stack::Stack> {
    let template = std::fs::read_to_string(repository().join("template.yaml"))?;
    Ok(tidemark_local::template::read(&template, &std::collections::BTreeMap::new())?.stack)
}

/// A table as the template declares it, by its logical id.
pub(crate) fn table(logical_id: &str) -> Result<Table> {
    let tables = declared()?.tables.into_iter();
    tables
        .into_iter()
        .find(|table| table.logical_id == logical_id)
        .with_context(|| format!("the template has no {logical_id}"))
}

/// A client of an engine.
pub(crate) fn client(engine: &Engine) -> aws_sdk_dynamodb::Client {
    tidemark_local::dynamodb::client(&engine.url(), &Identity::local())
}

/// The stream of a table: a checkpoint belongs to one of its shards.
pub(crate) async fn stream(client: &aws_sdk_dynamodb::Client, table: &str) -> Result<String> {
    let described = client.describe_table().table_name(table).send().await?.table;
    described.and_then(|table| table.latest_stream_arn).with_context(|| format!("{table} has no stream"))
}

/// All clicks that were counted.
pub(crate) async fn total(client: &aws_sdk_dynamodb::Client, table: &str) -> Result<usize> {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let request = client.get_item().table_name(table).key("userId", text("STAT#TOTAL"));
    let item = request.key("createDateTime", text("METADATA")).send().await?.item.unwrap_or_default();
    let clicks = item.get("totalClicks").and_then(|value| value.as_n().ok()?.parse().ok());
    Ok(clicks.unwrap_or_default())
}

/// A stack in memory of the functions in a folder, whose API throttles nobody.
pub(crate) async fn start(template: &Path, functions: &Path) -> Result<RunningStack> {
    let path = |name: &str, path: &Path| format!("--{name}={}", path.display());
    let options = Options::parse_from([
        "bench".to_owned(),
        "--port=0".to_owned(),
        "--dynamodb-port=0".to_owned(),
        "--s3-port=0".to_owned(),
        "--in-memory".to_owned(),
        "--no-build".to_owned(),
        "--parameter=ApiThrottlingRate=10000".to_owned(),
        "--parameter=ApiThrottlingBurst=10000".to_owned(),
        path("template", template),
        path("bin-dir", functions),
    ]);
    Ok(RunningStack::start(&options).await?)
}

/// The results of one stack in one round.
#[derive(Debug, Default)]
struct Measured {
    clicks_per_s: Vec<f64>,
    lag_p50_ms: Vec<f64>,
    lag_p99_ms: Vec<f64>,
}

/// Rate and lag, with the functions in Rust and with those on Node.js in turn.
pub(crate) async fn rows(folders: &Folders, effort: Effort) -> Result<Vec<Row>> {
    let template = repository().join("template.yaml");
    let (mut own, mut node) = (Measured::default(), Measured::default());
    for _ in 0..effort.rounds {
        for (folder, measured) in [(&folders.functions, &mut own), (&folders.node, &mut node)] {
            let stack = start(&template, folder).await?;
            measure(&stack, effort, measured).await?;
            stack.stop().await;
        }
    }
    let row = |what: String, unit, better, of: fn(&Measured) -> &Vec<f64>| {
        Row::median(SECTION, what, unit, of(&own)).beside_runs(better, NODE, of(&own), of(&node))
    };
    Ok(vec![
        row(format!("clicks stored, {CALLERS} callers"), "clicks/s", Better::Higher, |measured| &measured.clicks_per_s),
        row("from click to statistic, p50".to_owned(), "ms", Better::Lower, |measured| &measured.lag_p50_ms),
        row("from click to statistic, p99".to_owned(), "ms", Better::Lower, |measured| &measured.lag_p99_ms),
    ])
}

async fn measure(stack: &RunningStack, effort: Effort, measured: &mut Measured) -> Result<()> {
    let caller = Caller { http: reqwest::Client::new(), url: stack.admin.addresses.http.clone() };
    // As many warm instances as callers, and every connection open.
    let warm_up = load(&caller, Duration::from_millis(500)).await?;
    let start = Instant::now();
    let stored = load(&caller, effort.load).await?;
    measured.clicks_per_s.push(stored as f64 / start.elapsed().as_secs_f64());

    let mut expected = warm_up + stored;
    caller.until_counted(expected).await?;
    let mut lags_ms = Vec::new();
    for _ in 0..effort.lags {
        expected += 1;
        let start = Instant::now();
        caller.click(&format!("late-{expected}")).await?;
        caller.until_counted(expected).await?;
        lags_ms.push(start.elapsed().as_secs_f64() * 1_000.0);
    }
    measured.lag_p50_ms.push(quantile(&lags_ms, 0.5));
    measured.lag_p99_ms.push(quantile(&lags_ms, 0.99));
    Ok(())
}

/// Lets all callers post for so long, and tells how many clicks were stored.
async fn load(caller: &Caller, time: Duration) -> Result<usize> {
    let end = Instant::now() + time;
    let calls = (0..CALLERS).map(|number| async move {
        let mut stored = 0;
        while Instant::now() < end {
            caller.click(&format!("user-{number}-{}", stored % 50)).await?;
            stored += 1;
        }
        anyhow::Ok(stored)
    });
    Ok(try_join_all(calls).await?.into_iter().sum())
}

#[derive(Debug)]
struct Caller {
    http: reqwest::Client,
    url: String,
}

impl Caller {
    async fn click(&self, user: &str) -> Result<()> {
        let body = json!({ "userId": user }).to_string();
        let answer = self.http.post(format!("{}/clicks", self.url)).body(body).send().await?;
        let (status, body) = (answer.status(), answer.text().await?);
        ensure!(status == 201, "a click was answered {status}: {body}");
        Ok(())
    }

    /// Asks for the total, again and again without a pause, until it shows that many clicks.
    async fn until_counted(&self, expected: usize) -> Result<()> {
        let start = Instant::now();
        loop {
            let answer: Value = self.http.get(format!("{}/stats/total", self.url)).send().await?.json().await?;
            let total = answer["totalClicks"].as_u64().unwrap_or_default();
            if total == expected as u64 {
                return Ok(());
            }
            ensure!(total < expected as u64, "{total} clicks were counted of {expected}");
            ensure!(start.elapsed() < PATIENCE, "{expected} clicks were stored, and the total stays {answer}");
        }
    }
}
