//! `tidemark recount`: compares statistics with the items that they count, and repairs them on
//! request.

use anyhow::{Context, Result, bail};
use clap::Args;
use clicks_store::{ClicksReader, DateShards, RecountScope, Stat, click_aggregators, rollup_table};
use domain::calendar::{DateRange, YearMonth, parse_date};
use jiff::civil::Date;
use rollup::cli::{OutputOptions, RecountCost, RecountOptions, recount};
use rollup::{Lowering, Recounter, Scope};
use store_base::Table;

use crate::{CommandOutcome, TableArguments};

/// [An eventually consistent read
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const READ_UNIT_BYTES: u64 = 8 * 1024;

/// [The most bytes that one request
/// reads](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html).
const PAGE_BYTES: u64 = 1024 * 1024;

/// [The most first-seen records that one request
/// reads](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html).
const FIRST_SEEN_RECORDS_PER_REQUEST: u64 = 100;

/// The assumed size of a click's item.
const ITEM_BYTES: u64 = 250;

/// The statistics to recount.
#[derive(Debug, Args)]
#[group(id = "scope", required = true, multiple = false, args = ["day", "month", "all", "details", "visitors", "products"])]
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
    /// The visitors of all time. Reads the whole table.
    #[arg(long)]
    visitors: bool,
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
    #[command(flatten)]
    output: OutputOptions,
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

    fn options(&self) -> RecountOptions {
        RecountOptions { repair: self.repair.then(|| Lowering::of_flag(self.subtract)), output: self.output }
    }
}

/// The command.
pub async fn run(arguments: Arguments) -> Result<CommandOutcome> {
    if arguments.products { recount_products(&arguments).await } else { recount_clicks(&arguments).await }
}

async fn recount_products(arguments: &Arguments) -> Result<CommandOutcome> {
    let config = store_base::endpoint::config(arguments.table.endpoint.as_deref()).await;
    let table = Table::new(aws_sdk_dynamodb::Client::new(&config), &arguments.shop_table);
    let streams = aws_sdk_dynamodbstreams::Client::new(&config);
    let items = shop_store::rollup_table(&table);
    let aggregator = shop_store::activity_aggregator(items.clone())?;
    let cost = RecountCost::of_table(&items).await.with_context(|| format!("the table {}", table.name()))?;
    let recounter = Recounter::new(&aggregator, items, streams);
    Ok(recount(&recounter, &Scope::All, arguments.options(), cost, &mut std::io::stdout()).await?.into())
}

async fn recount_clicks(arguments: &Arguments) -> Result<CommandOutcome> {
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
    let [statistics, details, visitors] = click_aggregators(&items)?;
    let aggregator = match (arguments.details, arguments.visitors) {
        (true, _) => details,
        (_, true) => visitors,
        _ => statistics,
    };

    let cost = match scope.days() {
        None => RecountCost::of_table(&items).await.with_context(|| format!("the table {table}"))?,
        Some(days) => cost_of_days(days.len(), stored_by_days(&dynamodb, scope).await?, date_shards),
    };
    let (scope, recounter) = (scope.of(&dynamodb, date_shards), Recounter::new(&aggregator, items, streams));
    Ok(recount(&recounter, &scope, arguments.options(), cost, &mut std::io::stdout()).await?.into())
}

/// The estimated cost of reading the clicks and first-seen records of some days. `stored` are the
/// stored sums of these days: at least as many clicks as there are items, and as many visitors as
/// there are first-seen records.
fn cost_of_days(days: usize, stored: Stat, date_shards: DateShards) -> RecountCost {
    let Stat { total_clicks, unique_users } = stored;
    let bytes = total_clicks.saturating_mul(ITEM_BYTES);
    let partitions = days as u64 * date_shards.partitions_of_a_day();
    RecountCost {
        items: total_clicks + unique_users,
        read_units: bytes.div_ceil(READ_UNIT_BYTES) + unique_users,
        requests: partitions + bytes / PAGE_BYTES + unique_users.div_ceil(FIRST_SEEN_RECORDS_PER_REQUEST),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn day_costs_its_clicks_visitors_and_partition_requests() {
        let shards = DateShards::new(4).expect("in range");
        let stored = Stat { total_clicks: 100_000, unique_users: 450 };
        let cost = RecountCost { items: 100_450, read_units: 3_052 + 450, requests: 5 + 23 + 5 };
        assert_eq!(cost_of_days(1, stored, shards), cost);
        assert_eq!(cost_of_days(1, Stat::default(), shards), RecountCost { items: 0, read_units: 0, requests: 5 });
    }
}
