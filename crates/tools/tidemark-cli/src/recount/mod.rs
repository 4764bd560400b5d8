//! `tidemark recount`: compares statistics with the items that they count, and repairs them on
//! request.

mod cost;
mod report;

use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::Args;
use clicks_store::{ClicksReader, DateShards, RecountScope, Stat, click_aggregators, rollup_table};
use domain::calendar::{DateRange, YearMonth, parse_date};
use jiff::Timestamp;
use jiff::civil::Date;
use rollup::{Lowering, Measurement, Recounter, RepairError, RepairReport, Scope, corrections};
use store_base::{StoreError, Table};

use crate::terminal::{confirm, count, count_of, progress_bar};
use crate::{CommandOutcome, TableArguments};

use cost::{RecountCost, RepairCost, TableSize};
use report::Report;

/// How often a repair is measured and started again because of a concurrent repair.
const REPAIRS_MAX: usize = 5;

/// The statistics to recount.
#[derive(Debug, Args)]
#[group(id = "scope", required = true, multiple = false, args = ["day", "month", "all", "details", "products"])]
pub struct Arguments {
    /// One day: `2025-10-02`.
    #[arg(long, value_parser = parse_date)]
    day: Option<Date>,
    /// A month and each of its days: `2025-10`.
    #[arg(long)]
    month: Option<YearMonth>,
    /// All days, all months and the total. Reads the whole table.
    #[arg(long)]
    all: bool,
    /// All hours, ISO weeks and targets. Reads the whole table.
    #[arg(long)]
    details: bool,
    /// The views, purchases and visitors of all products and days. Reads the whole shop's table.
    #[arg(long)]
    products: bool,
    /// Repairs the differences while clicks keep arriving: adds missing counts, and writes missing
    /// first-seen records of visitors, whose next click would count them again.
    #[arg(long)]
    repair: bool,
    /// Also subtracts if a statistic is higher than its clicks. Use it only for values that were
    /// written by mistake: clicks that expired or were deleted rightly stay counted. It lowers at
    /// most one number in 20, or as many as are given, `--subtract=12`: look at the differences of
    /// a recount first, and pass the number that it prints.
    #[arg(long, requires = "repair", value_name = "NUMBERS", num_args = 0..=1, require_equals = true)]
    subtract: Option<Option<u64>>,
    /// Does not ask for confirmation before reading or writing.
    #[arg(long)]
    yes: bool,
    /// The table's `CLICK_DATE_SHARDS`, or the highest number that other writers have ever used.
    #[arg(long, env = "CLICK_DATE_SHARDS", value_parser = date_shards)]
    date_shards: Option<DateShards>,
    /// The shop's table.
    #[arg(long, env = "SHOP_TABLE", default_value = "DynamoDBShop")]
    shop_table: String,
    #[command(flatten)]
    table: TableArguments,
}

fn date_shards(text: &str) -> Result<DateShards, String> {
    let shards = text.parse().ok().and_then(DateShards::new);
    shards.ok_or_else(|| format!("must be a whole number from 1 to {}", DateShards::MAX))
}

impl Arguments {
    fn scope(&self) -> RecountScope {
        match (self.day, self.month) {
            (Some(day), _) => RecountScope::Day(day),
            (_, Some(month)) => RecountScope::Month(month),
            _ => RecountScope::All,
        }
    }

    fn lowering(&self) -> Lowering {
        match self.subtract {
            None => Lowering::Nothing,
            Some(None) => Lowering::SmallShare,
            Some(Some(numbers)) => Lowering::UpTo(numbers),
        }
    }
}

/// The command.
pub async fn run(arguments: Arguments) -> Result<CommandOutcome> {
    let report = report(&arguments).await?;
    let mut out = std::io::stdout().lock();
    if arguments.table.json {
        writeln!(out, "{}", report.json())?;
    } else {
        report.print(&mut out)?;
    }
    Ok(report.outcome())
}

async fn report(arguments: &Arguments) -> Result<Report> {
    if arguments.products { report_products(arguments).await } else { report_clicks(arguments).await }
}

async fn report_products(arguments: &Arguments) -> Result<Report> {
    let config = store_base::endpoint::config(arguments.table.endpoint.as_deref()).await;
    let table = Table::new(aws_sdk_dynamodb::Client::new(&config), &arguments.shop_table);
    let streams = aws_sdk_dynamodbstreams::Client::new(&config);
    let items = shop_store::rollup_table(&table);
    let aggregator = shop_store::activity_aggregator(items.clone())?;
    let size = table_size(&table).await.with_context(|| format!("the table {}", table.name()))?;
    let cost = RecountCost::estimate(RecountScope::All, size, Stat::default(), DateShards::default());
    recount(arguments, &Recounter::new(&aggregator, items, streams), &Scope::All, cost).await
}

async fn report_clicks(arguments: &Arguments) -> Result<Report> {
    let (scope, table) = (arguments.scope(), &arguments.table.table);
    // The clicks of a day are read from its index partitions. With too few partitions, the clicks
    // of the others would seem to be missing, and would be subtracted.
    if arguments.subtract.is_some() && scope.days().is_some() && arguments.date_shards.is_none() {
        bail!(
            "--subtract with a day or a month needs --date-shards: the table's CLICK_DATE_SHARDS, or the highest value that it ever had"
        );
    }
    let config = store_base::endpoint::config(arguments.table.endpoint.as_deref()).await;
    let dynamodb = Table::new(aws_sdk_dynamodb::Client::new(&config), table);
    let streams = aws_sdk_dynamodbstreams::Client::new(&config);
    let date_shards = arguments.date_shards.unwrap_or_default().max_with_stored(&dynamodb).await;
    let date_shards = date_shards.with_context(|| format!("the table {table}"))?;
    let items = rollup_table(&dynamodb);
    let [statistics, details] = click_aggregators(&items)?;
    let aggregator = if arguments.details { details } else { statistics };

    let size = table_size(&dynamodb).await.with_context(|| format!("the table {table}"))?;
    let cost = RecountCost::estimate(scope, size, stored_by_days(&dynamodb, scope).await?, date_shards);
    let queries = scope.of(&dynamodb, date_shards);
    recount(arguments, &Recounter::new(&aggregator, items, streams), &queries, cost).await
}

/// Measures, and repairs if that was requested.
async fn recount<T: Clone>(
    arguments: &Arguments,
    recounter: &Recounter<'_, T>,
    scope: &Scope,
    cost: RecountCost,
) -> Result<Report> {
    if !arguments.yes {
        let RecountCost { items, read_units, requests } = cost;
        let cost = format!(
            "About {}, {}, {}; twice that if anything differs.",
            count(items, "item"),
            count(read_units, "read unit"),
            count(requests, "request")
        );
        confirm(&cost, "nothing was read")?;
    }
    for _ in 0..REPAIRS_MAX {
        let measured = check(recounter, scope, cost.items).await?;
        let planned = corrections(&measured, arguments.subtract.is_some());
        let is_right = planned.is_empty() && measured.unrecorded == 0 && measured.wrong_holdings == 0;
        // A repair accepts a changed declaration, also if nothing is wrong.
        let is_right = is_right && !measured.is_new_declaration();
        if !arguments.repair || is_right {
            return Ok(Report { measured, ..Report::default() });
        }
        if let Err(refusal) = measured.admits(arguments.lowering()) {
            return Ok(Report { measured, refused: Some(refusal.to_string()), ..Report::default() });
        }
        if !arguments.yes {
            let RepairCost { numbers, first_seen_records, write_units, requests } =
                RepairCost::estimate(planned.len() as u64, measured.unrecorded);
            let cost = format!(
                "{} to correct, {} to write: {}, {}.",
                count(numbers, "number"),
                count_of(first_seen_records, "first-seen entry", "first-seen entries"),
                count(write_units, "write unit"),
                count(requests, "request")
            );
            confirm(&cost, "nothing was repaired")?;
        }
        match repair(recounter, &measured, planned.len(), arguments.lowering()).await {
            Ok(repaired) => return Ok(Report { measured, repaired, refused: None }),
            Err(RepairError::ConcurrentRepair) => {
                eprintln!(
                    "The statistics were repaired meanwhile by another command, or by this one if a reply was lost. Measuring again."
                );
            }
            Err(error) => {
                return Err(error)
                    .context("the repair stopped early; its changes are valid, and running it again does the rest");
            }
        }
    }
    bail!("{REPAIRS_MAX} repairs met concurrent repairs")
}

async fn table_size(table: &Table) -> Result<TableSize, StoreError> {
    let table = table.client().describe_table().table_name(table.name()).send().await?.table;
    let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
    let (items, size_bytes) = table.map(|table| (table.item_count, table.table_size_bytes)).unwrap_or_default();
    Ok(TableSize { items: number(items), size_bytes: number(size_bytes) })
}

/// The sums over the days of a scope.
async fn stored_by_days(table: &Table, scope: RecountScope) -> Result<Stat> {
    let days = scope.days().unwrap_or_default();
    let Some((first, last)) = days.first().zip(days.last()) else { return Ok(Stat::default()) };
    let stored = ClicksReader::new(table, DateShards::default()).daily(DateRange::new(*first, *last)?).await?;
    // An unreadable statistic makes the estimate too low.
    let stored = stored.by_period.into_values().flatten();
    Ok(stored.fold(Stat::default(), |sum: Stat, day| Stat {
        total_clicks: sum.total_clicks.saturating_add(day.total_clicks),
        unique_users: sum.unique_users.saturating_add(day.unique_users),
    }))
}

async fn check<T: Clone>(recounter: &Recounter<'_, T>, scope: &Scope, items: u64) -> Result<Measurement> {
    let bar = progress_bar(items);
    let measured = recounter.check(scope, |read| {
        bar.set_position(read.items);
        bar.set_message(format!("{:.1} read units, {} requests", read.read_units, read.requests));
    });
    let measured = measured.await;
    bar.finish_and_clear();
    Ok(measured?)
}

async fn repair<T: Clone>(
    recounter: &Recounter<'_, T>,
    measured: &Measurement,
    numbers: usize,
    lowering: Lowering,
) -> Result<RepairReport, RepairError> {
    let bar = progress_bar(measured.unrecorded + numbers as u64);
    let repaired = recounter.repair(measured, lowering, Timestamp::now(), |repaired| {
        bar.set_position(repaired.recorded + repaired.corrections.len() as u64);
        bar.set_message(format!("{} numbers repaired", repaired.corrections.len()));
    });
    let repaired = repaired.await;
    bar.finish_and_clear();
    repaired
}
