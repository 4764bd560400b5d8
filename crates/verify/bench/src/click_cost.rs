//! The cost of a click on DynamoDB: units and requests of the real aggregator, and of the usual
//! handlers.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use clicks_store::{CountedClick, click_aggregators, read_click, rollup_table};
use jiff::Timestamp;
use rollup::{Aggregator, Layout};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use sim::Baseline;
use tidemark_engine::{Engine, Options};

use crate::events;
use crate::report::{Better, Row};
use crate::stack;
use crate::wire::{self, Consumed, Meter};

const SECTION: &str = "Cost on DynamoDB, per click";

const TABLE: &str = "qit-db-local";
const SHARD: &str = "shardId-000";

/// A user of no shape.
const OTHER_USER: usize = 9_999;

/// How much time an invocation is given.
const TIME: Duration = Duration::from_secs(60);

/// A batch to be counted.
struct Shape {
    what: &'static str,
    records: usize,
    users: usize,
    /// How many of the users have been seen before.
    known: usize,
    /// The most write units per click that are aimed at.
    write_units_max: f64,
    /// The heading of its writes in the picture.
    picture: Option<&'static str>,
}

const SHAPES: [Shape; 4] = [
    Shape {
        what: "1,000 clicks of 300 users, all new",
        records: 1_000,
        users: 300,
        known: 0,
        write_units_max: 0.32,
        picture: Some("Write units per click, every visitor new"),
    },
    Shape {
        what: "1,000 clicks of 300 users, 10 % new",
        records: 1_000,
        users: 300,
        known: 270,
        write_units_max: 0.045,
        picture: Some("Write units per click, one visitor in ten new"),
    },
    Shape {
        what: "1,000 clicks of 300 users, none new",
        records: 1_000,
        users: 300,
        known: 300,
        write_units_max: 0.012,
        picture: None,
    },
    Shape {
        what: "100 clicks of 100 users, all new",
        records: 100,
        users: 100,
        known: 0,
        write_units_max: 1.12,
        picture: None,
    },
];

/// What counts.
#[derive(Debug, Clone, Copy)]
enum Counting {
    /// Days, months and the total.
    Statistics(Layout),
    /// Hours, weeks and targets.
    Details(Layout),
    /// The visitors of all time.
    Visitors,
    /// Three additions for each record, behind an idempotency layer or not.
    Baseline { is_idempotent: bool },
}

/// Units and requests per click of each shape.
pub(crate) async fn rows() -> Result<Vec<Row>> {
    let (mut rows, mut flushes) = (Vec::new(), Vec::new());
    for shape in &SHAPES {
        let (own, _) = consumed(Counting::Statistics(Layout::Sums), shape).await?;
        let (buffered, flushed) = consumed(Counting::Statistics(Layout::Buffers), shape).await?;
        let (details, _) = consumed(Counting::Details(Layout::Sums), shape).await?;
        let (visitors, _) = consumed(Counting::Visitors, shape).await?;
        let (handler, _) = consumed(Counting::Baseline { is_idempotent: false }, shape).await?;
        let (idempotency, _) = consumed(Counting::Baseline { is_idempotent: true }, shape).await?;
        let row = |what, unit, of: fn(&Consumed) -> f64| {
            Row::count(SECTION, format!("{}: {what}", shape.what), unit, of(&own))
                .beside(Better::Lower, HANDLER, of(&handler))
                .beside(Better::Lower, IDEMPOTENCY, of(&idempotency))
        };
        let writes = row("writes", "WRU", |consumed| consumed.write_units).at_most(shape.write_units_max);
        rows.push(match shape.picture {
            Some(heading) => writes.pictured(heading, "Tidemark"),
            None => writes,
        });
        rows.push(row("requests", "", |consumed| consumed.requests));
        // The others read nothing, and cannot count unique users.
        rows.push(Row::count(SECTION, format!("{}: reads", shape.what), "RRU", own.read_units));
        let what = format!("{}, buffered: writes", shape.what);
        rows.push(Row::count(SECTION, what, "WRU", buffered.write_units).beside(Better::Lower, SUMS, own.write_units));
        let what = format!("{}, hours, weeks and targets: writes", shape.what);
        rows.push(Row::count(SECTION, what, "WRU", details.write_units));
        let what = format!("{}, visitors of all time: writes", shape.what);
        rows.push(Row::count(SECTION, what, "WRU", visitors.write_units));
        flushes.push(flushed.write_units);
    }
    // The same for each shape: the buffer has one day, its month and the total.
    let flush = flushes.iter().copied().fold(0.0, f64::max);
    rows.push(Row::count(SECTION, "adding a shard's buffer to the statistics, each time: writes", "WRU", flush));
    Ok(rows)
}

const HANDLER: &str = "usual handler";
const IDEMPOTENCY: &str = "idempotency layer";
const SUMS: &str = "added to the statistics";

/// The units of one click of the batch on a cold instance, and the units of the end of the window.
async fn consumed(counting: Counting, shape: &Shape) -> Result<(Consumed, Consumed)> {
    let engine = Engine::start(Options::default()).await?;
    let mut table = stack::table("ClicksTable")?;
    TABLE.clone_into(&mut table.name);
    table.create_table["TableName"] = TABLE.into();
    tidemark_local::tables::ensure(&stack::client(&engine), &table).await?;
    let stream = stack::stream(&stack::client(&engine), TABLE).await?;
    let meter = Arc::new(Meter::new(engine.url()));
    let client = wire::client(meter.clone());

    let count = async |event: String| -> Result<()> {
        let event = RawValue::from_string(event)?;
        let table = rollup_table(&store_base::Table::new(client.clone(), TABLE));
        let [statistics, details, visitors] = click_aggregators(&table)?;
        match counting {
            Counting::Statistics(layout) => handle(statistics.layout(layout), &event).await,
            Counting::Details(layout) => handle(details.layout(layout), &event).await,
            Counting::Visitors => handle(visitors, &event).await,
            Counting::Baseline { is_idempotent } => {
                let read = |image: &RawValue| read_click(image).ok().flatten();
                Baseline::new(client.clone(), TABLE, is_idempotent).handle(&event, read).await.map(drop)
            }
        }
    };
    let batch = |first: u64, users: &mut dyn Iterator<Item = usize>| {
        events::batch(&stream, SHARD, first, users.map(|user| format!("user-{user:04}")))
    };
    // Before the measured batch: the first one of a table also writes its declarations.
    count(batch(1, &mut (0..shape.known).chain([OTHER_USER]))).await?;
    meter.take();
    count(batch(10_000, &mut (0..shape.records).map(|record| record % shape.users))).await?;
    let consumed = meter.take();
    let mut end: Value = serde_json::from_str(&batch(1, &mut std::iter::empty()))?;
    end["isFinalInvokeForWindow"] = Value::Bool(true);
    count(to_raw_value(&end)?.get().to_owned()).await?;
    let flushed = meter.take();
    if !matches!(counting, Counting::Details(_) | Counting::Visitors) {
        let counted = stack::total(&stack::client(&engine), TABLE).await?;
        ensure!(counted == shape.known + 1 + shape.records, "{counting:?} counted {counted} in {}", shape.what);
    }
    engine.shutdown().await;
    let per_click = |sum: f64| sum / shape.records as f64;
    let per_click = Consumed {
        requests: per_click(consumed.requests),
        write_units: per_click(consumed.write_units),
        read_units: per_click(consumed.read_units),
    };
    Ok((per_click, flushed))
}

/// One invocation of a cold instance.
async fn handle(aggregator: Aggregator<CountedClick>, event: &RawValue) -> Result<()> {
    aggregator.handle_at(event, SystemTime::now() + TIME, Timestamp::now()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn click_stays_within_its_write_units_in_every_batch() {
        for shape in &SHAPES {
            for layout in [Layout::Sums, Layout::Buffers] {
                let (consumed, _) = consumed(Counting::Statistics(layout), shape).await.expect("a count");
                let units = consumed.write_units;
                assert!(units <= shape.write_units_max, "{}, {layout:?}: {units} WRU per click", shape.what);
            }
        }
    }
}
