//! `tidemark recount`: the statistics beside what their clicks add up to.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use domain::calendar::{YearMonth, parse_date};
use domain::clicks::{Difference, Scope};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::civil::Date;
use serde_json::json;
use store::clicks::{ClicksRead, DateShards, Measured, Recounter, TableSize};

use crate::{Outcome, Table, aws};

/// A difference is believed when two measurements in a row find the same; so many are made, with a pause in between.
const MEASUREMENTS_MAX: usize = 5;
const MEASUREMENT_PAUSE: Duration = Duration::from_secs(2);

/// [A strongly consistent read unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html); an eventually consistent one reads twice as much.
const READ_UNIT_BYTES: u64 = 4 * 1024;

/// [What one request reads at most](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html).
const PAGE_BYTES: u64 = 1024 * 1024;

/// The size of a click's item where the table does not tell, as with one younger than six hours.
const ITEM_BYTES: u64 = 250;

/// What to recount.
#[derive(Debug, Args)]
#[group(id = "scope", required = true, multiple = false, args = ["day", "month", "all"])]
pub struct Arguments {
    /// One day: `2025-10-02`.
    #[arg(long, value_parser = parse_date)]
    day: Option<Date>,
    /// A month and each of its days: `2025-10`.
    #[arg(long)]
    month: Option<YearMonth>,
    /// Every day, every month and the total. Reads the whole table.
    #[arg(long)]
    all: bool,
    /// Does not ask before it reads.
    #[arg(long)]
    yes: bool,
    /// The table's `CLICK_DATE_SHARDS`, or the most that it ever was.
    #[arg(long, env = "CLICK_DATE_SHARDS", default_value = "1", value_parser = date_shards)]
    date_shards: DateShards,
    #[command(flatten)]
    table: Table,
}

fn date_shards(text: &str) -> Result<DateShards, String> {
    let shards = text.parse().ok().and_then(DateShards::new);
    shards.ok_or_else(|| format!("must be a whole number from 1 to {}", DateShards::MAX))
}

impl Arguments {
    fn scope(&self) -> Scope {
        match (self.day, self.month) {
            (Some(day), _) => Scope::Day(day),
            (_, Some(month)) => Scope::Month(month),
            _ => Scope::All,
        }
    }
}

/// What reading the clicks once will take, about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Items to read.
    pub items: u64,
    /// Read units.
    pub read_units: u64,
    /// Requests.
    pub requests: u64,
}

impl Cost {
    /// `stored_clicks` is what the days' statistics say, which is at least the number of their items.
    pub fn estimate(scope: Scope, size: TableSize, stored_clicks: u64, date_shards: DateShards) -> Self {
        let item_bytes = size.size_bytes.checked_div(size.items).unwrap_or(ITEM_BYTES);
        match scope.days() {
            None => Self {
                items: size.items,
                read_units: size.size_bytes.div_ceil(READ_UNIT_BYTES),
                requests: size.size_bytes.div_ceil(PAGE_BYTES).max(1),
            },
            Some(days) => {
                let bytes = stored_clicks.saturating_mul(item_bytes);
                Self {
                    items: stored_clicks,
                    read_units: bytes.div_ceil(2 * READ_UNIT_BYTES),
                    requests: days.len() as u64 * date_shards.partitions_of_a_day() + bytes / PAGE_BYTES,
                }
            }
        }
    }
}

/// Measures until it can be believed: at once when nothing differs, otherwise when two measurements in a row agree by how
/// much each statistic is wrong. Counting does not change that, so what does was a view on something in motion.
pub async fn check(recounter: &Recounter, scope: Scope, progress: impl Fn(ClicksRead)) -> Result<Measured> {
    let errors = |measured: &Measured| -> Vec<_> {
        measured.differences.iter().map(|difference| (difference.period, difference.error())).collect()
    };
    let mut before = None;
    for _ in 0..MEASUREMENTS_MAX {
        let measured = recounter.measure(scope, &progress).await?;
        let found = errors(&measured);
        if found.is_empty() || before.as_ref() == Some(&found) {
            return Ok(measured);
        }
        before = Some(found);
        tokio::time::sleep(MEASUREMENT_PAUSE).await;
    }
    bail!(
        "{MEASUREMENTS_MAX} measurements found {MEASUREMENTS_MAX} different things: is somebody changing or deleting clicks?"
    )
}

/// The command.
pub async fn run(arguments: Arguments) -> Result<Outcome> {
    let config = aws::config(&arguments.table).await;
    let client = aws_sdk_dynamodb::Client::new(&config);
    let streams = aws_sdk_dynamodbstreams::Client::new(&config);
    let recounter = Recounter::new(client, streams, &arguments.table.table, arguments.date_shards);
    let scope = arguments.scope();

    let size = recounter.size().await.with_context(|| format!("the table {}", arguments.table.table))?;
    let stored = recounter.stored(scope).await?;
    let days = stored.iter().filter(|(period, _)| matches!(period, domain::clicks::Period::Day(_)));
    let cost = Cost::estimate(scope, size, days.map(|(_, sums)| sums.clicks).sum(), arguments.date_shards);
    if !arguments.yes && !confirmed(&cost)? {
        bail!("nothing was read");
    }

    let bar = progress_bar(cost.items);
    let measured = check(&recounter, scope, |read| {
        bar.set_position(read.items);
        bar.set_message(format!("{:.1} read units, {} requests", read.read_units, read.requests));
    })
    .await;
    bar.finish_and_clear();
    let measured = measured?;
    print(&measured, arguments.table.json)?;
    Ok(if measured.differences.is_empty() { Outcome::Fine } else { Outcome::Differences })
}

/// Tells the cost and asks, when there is somebody to ask.
fn confirmed(cost: &Cost) -> Result<bool> {
    let Cost { items, read_units, requests } = cost;
    let mut error = std::io::stderr();
    write!(
        error,
        "About {items} items, {read_units} read units, {requests} requests; twice that if anything differs. Go on? [y/N] "
    )?;
    error.flush()?;
    if !std::io::stdin().is_terminal() {
        bail!("nobody is there to answer; --yes goes on without asking");
    }
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// On standard error, and only where that is a terminal.
fn progress_bar(items: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/~{len} items, {msg} ({elapsed})");
    let bar = ProgressBar::with_draw_target(Some(items), ProgressDrawTarget::stderr());
    // The template is a constant; should it not parse, the bar looks plain.
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn print(measured: &Measured, as_json: bool) -> Result<()> {
    let mut out = std::io::stdout().lock();
    if as_json {
        writeln!(out, "{}", json(measured))?;
        return Ok(());
    }
    let Measured { differences, clicks, pending, unreadable, read } = measured;
    for Difference { period, stored, recounted } in differences {
        writeln!(
            out,
            "{:<10}  totalClicks {} stored, {} recounted; uniqueUsers {} stored, {} recounted",
            period.to_string(),
            stored.clicks,
            recounted.clicks,
            stored.unique_users,
            recounted.unique_users
        )?;
    }
    writeln!(
        out,
        "{} differences; {clicks} clicks read, {pending} of them on their way, {unreadable} items unreadable; {:.1} read units, {} requests",
        differences.len(),
        read.read_units,
        read.requests
    )?;
    Ok(())
}

/// What `--json` prints.
pub fn json(measured: &Measured) -> serde_json::Value {
    let differences = measured.differences.iter().map(|difference| {
        let side = |sums: &domain::clicks::Sums| json!({"totalClicks": sums.clicks, "uniqueUsers": sums.unique_users});
        json!({
            "period": difference.period.to_string(),
            "stored": side(&difference.stored),
            "recounted": side(&difference.recounted),
        })
    });
    json!({
        "differences": differences.collect::<Vec<_>>(),
        "clicks": measured.clicks,
        "pending": measured.pending,
        "unreadable": measured.unreadable,
        "readUnits": measured.read.read_units,
        "requests": measured.read.requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn everything_costs_what_the_table_weighs() {
        let size = TableSize { items: 1_000_000, size_bytes: 300_000_000 };
        let cost = Cost::estimate(Scope::All, size, 0, DateShards::default());
        assert_eq!(cost, Cost { items: 1_000_000, read_units: 73_243, requests: 287 });
    }

    #[test]
    fn a_day_costs_what_its_clicks_weigh_and_a_request_for_each_of_its_partitions() {
        let size = TableSize { items: 10, size_bytes: 2_000 };
        let shards = DateShards::new(4).expect("in range");
        let cost = Cost::estimate(Scope::Day(date(2025, 10, 2)), size, 100_000, shards);
        assert_eq!(cost, Cost { items: 100_000, read_units: 2_442, requests: 5 + 19 });
        let young = TableSize { items: 0, size_bytes: 0 };
        let cost = Cost::estimate(Scope::Day(date(2025, 10, 2)), young, 0, shards);
        assert_eq!(cost, Cost { items: 0, read_units: 0, requests: 5 });
    }
}
