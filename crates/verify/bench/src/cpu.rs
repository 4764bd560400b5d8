//! Processor time of handling a batch, beside that of parsing its JSON alone.

use std::future::ready;
use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use aws_lambda_events::event::dynamodb::Event;
use clicks_store::{CountedClick, click_aggregators, rollup_table};
use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};
use rollup::Aggregator;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::report::{Aim, Better, Figure, Row};
use crate::wire::{self, Answer, Reply};
use crate::{Effort, events};

const SECTION: &str = "Processor time of the aggregator, per click";

const RECORDS: usize = 1_000;
const USERS: usize = 300;

/// How much more than parsing is aimed at.
const TIMES_MAX: f64 = 1.5;

/// Runs on a thread and a runtime of its own, whose processor time is nobody else's.
pub(crate) fn rows(effort: Effort) -> Result<Vec<Row>> {
    let measuring = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(measure(effort))
    });
    measuring.join().map_err(|_| anyhow::anyhow!("measuring processor time panicked"))?
}

async fn measure(effort: Effort) -> Result<Vec<Row>> {
    let table = Arc::new(Table::default());
    let [aggregator, ..] =
        click_aggregators(&rollup_table(&store_base::Table::new(wire::client(table.clone()), "clicks")))?;
    let batch = |first| {
        events::batch(events::STREAM, "shardId-000", first, (0..RECORDS).map(|n| format!("user-{:04}", n % USERS)))
    };
    // The first batch makes the claims; the second one is what a warm instance gets all day.
    handle(&aggregator, batch(1).as_bytes()).await?;
    let (event, counted) = (batch(1 + RECORDS as u64), table.checkpoint());

    let (mut own, mut parsing) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        let start = thread_time()?;
        for _ in 0..effort.batches {
            table.set_checkpoint(counted.clone());
            handle(&aggregator, event.as_bytes()).await?;
        }
        let middle = thread_time()?;
        for _ in 0..effort.batches {
            black_box(serde_json::from_slice::<Event>(black_box(event.as_bytes()))?);
        }
        let end = thread_time()?;
        let per_click_us = |time: Duration| time.as_secs_f64() * 1e6 / (effort.batches * RECORDS) as f64;
        own.push(per_click_us(middle - start));
        parsing.push(per_click_us(end - middle));
    }
    ensure!(table.checkpoint() != counted, "the batch was not counted");
    let what = format!("handling a batch of {RECORDS} clicks, the table answering at once");
    let mut row = Row::median(SECTION, what, "µs", &own);
    row = row.beside_runs(Better::Lower, "parsing it with aws_lambda_events", &own, &parsing);
    let costs = 1.0 / row.against[0].times;
    row.aim = Some(Aim { text: format!("<= {} of it", Figure(TIMES_MAX)), met: costs <= TIMES_MAX });
    Ok(vec![row])
}

/// One invocation, from the bytes that the Runtime API sends.
async fn handle(aggregator: &Aggregator<CountedClick>, event: &[u8]) -> Result<()> {
    let event: Box<RawValue> = serde_json::from_slice(black_box(event))?;
    let deadline = SystemTime::now() + Duration::from_secs(60);
    black_box(
        stats_aggregator::handle(std::slice::from_ref(aggregator), event, deadline, Timestamp::UNIX_EPOCH).await?,
    );
    Ok(())
}

fn thread_time() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

/// A table that answers at once. Each first-seen record that is written stays, and one checkpoint
/// is kept.
#[derive(Debug, Default)]
struct Table {
    checkpoint: Mutex<Option<Value>>,
}

impl Table {
    fn checkpoint(&self) -> Option<Value> {
        self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_checkpoint(&self, checkpoint: Option<Value>) {
        *self.checkpoint.lock().unwrap_or_else(PoisonError::into_inner) = checkpoint;
    }

    fn reply(&self, operation: &str, request: &[u8]) -> Result<Value> {
        let request: Value = serde_json::from_slice(request)?;
        Ok(match operation {
            "GetItem" => self.checkpoint().map_or_else(|| json!({}), |checkpoint| json!({ "Item": checkpoint })),
            "BatchGetItem" => json!({ "Responses": {} }),
            // No rollup has a declaration yet.
            "Query" => json!({ "Items": [] }),
            "UpdateItem" => json!({ "Attributes": written(&request)? }),
            "TransactWriteItems" => {
                self.set_checkpoint(Some(written(&request["TransactItems"][0]["Update"])?));
                json!({})
            }
            other => anyhow::bail!("the aggregator sent {other}"),
        })
    }
}

/// The attributes that an update writes. The placeholders of a name and its value are alike.
fn written(update: &Value) -> Result<Value> {
    let names = update["ExpressionAttributeNames"].as_object().context("an update without names")?;
    let values = &update["ExpressionAttributeValues"];
    let pairs = names.iter().filter_map(|(placeholder, name)| {
        let value = values.get(format!(":{}", placeholder.trim_start_matches('#')))?;
        Some((name.as_str()?.to_owned(), value.clone()))
    });
    Ok(Value::Object(pairs.collect::<Map<_, _>>()))
}

impl Answer for Table {
    fn answer(&self, operation: &str, body: &[u8]) -> Reply {
        let reply = self.reply(operation, body).map(|reply| (200, reply.to_string().into_bytes()));
        Box::pin(ready(reply))
    }
}
