//! `tidemark recount`: compares the statistics with their clicks, and repairs them on request.

use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::Args;
use domain::calendar::{YearMonth, parse_date};
use domain::clicks::{Correction, Difference, Period, RecountScope, Sums, corrections};
use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::json;
use store::Table;
use store::clicks::{
    DateShards, Measurement, REPAIR_STATS_MAX, Recounter, RepairError, RepairReport, Repairer, TableSize,
};

use crate::terminal::{confirm, count, progress_bar};
use crate::{CommandOutcome, TableArguments};

/// How often a repair is measured and started again because of a concurrent repair.
const REPAIRS_MAX: usize = 5;

/// The write units of one statistic: two for the item in a transaction, one for the index.
const STAT_WRITE_UNITS: u64 = 3;

/// [A strongly consistent read
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html);
/// an eventually consistent read gets twice as much.
const READ_UNIT_BYTES: u64 = 4 * 1024;

/// [The most bytes that one request
/// reads](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html).
const PAGE_BYTES: u64 = 1024 * 1024;

/// [The most first-seen records that one request
/// reads](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html).
const FIRST_SEEN_RECORDS_PER_REQUEST: u64 = 100;

/// The assumed size of a click's item if the table does not report one, which is so for about six
/// hours after its creation.
const ITEM_BYTES: u64 = 250;

/// The statistics to recount.
#[derive(Debug, Args)]
#[group(id = "scope", required = true, multiple = false, args = ["day", "month", "all"])]
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
    /// Repairs the differences while clicks keep arriving: adds missing counts, and writes missing
    /// first-seen records of visitors, whose next click would count them again.
    #[arg(long)]
    repair: bool,
    /// Also subtracts if a statistic is higher than its clicks. Use it only for values that were
    /// written by mistake: clicks that expired or were deleted rightly stay counted.
    #[arg(long, requires = "repair")]
    subtract: bool,
    /// Does not ask for confirmation before reading or writing.
    #[arg(long)]
    yes: bool,
    /// The table's `CLICK_DATE_SHARDS`, or the highest number that other writers have ever used.
    #[arg(long, env = "CLICK_DATE_SHARDS", value_parser = date_shards)]
    date_shards: Option<DateShards>,
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
}

/// The estimated cost of reading the clicks and first-seen records once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecountCost {
    /// Items to read.
    pub items: u64,
    /// Read units.
    pub read_units: u64,
    /// Requests.
    pub requests: u64,
}

impl RecountCost {
    /// `stored` are the stored sums of the scope's days: at least as many clicks as there are
    /// items, and as many visitors as there are first-seen records.
    pub fn estimate(scope: RecountScope, size: TableSize, stored: Sums, date_shards: DateShards) -> Self {
        let item_bytes = size.size_bytes.checked_div(size.items).unwrap_or(ITEM_BYTES);
        match scope.days() {
            None => Self {
                items: size.items,
                read_units: size.size_bytes.div_ceil(READ_UNIT_BYTES),
                requests: size.size_bytes.div_ceil(PAGE_BYTES).max(1),
            },
            Some(days) => {
                let bytes = stored.clicks.saturating_mul(item_bytes);
                let days = days.len() as u64 * date_shards.partitions_of_a_day();
                Self {
                    items: stored.clicks + stored.unique_users,
                    read_units: bytes.div_ceil(2 * READ_UNIT_BYTES) + stored.unique_users,
                    requests: days + bytes / PAGE_BYTES + stored.unique_users.div_ceil(FIRST_SEEN_RECORDS_PER_REQUEST),
                }
            }
        }
    }
}

/// The most that a repair will write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairCost {
    /// Statistics to correct.
    pub statistics: u64,
    /// First-seen records to write.
    pub first_seen_records: u64,
    /// Write units.
    pub write_units: u64,
    /// Requests.
    pub requests: u64,
}

impl RepairCost {
    fn estimate(corrections: &[Correction], measured: &Measurement) -> Self {
        let (statistics, first_seen_records) = (corrections.len() as u64, measured.unmarked.len() as u64);
        let transactions = statistics.div_ceil(REPAIR_STATS_MAX as u64);
        Self {
            statistics,
            first_seen_records,
            // The shard checkpoint takes two units in each transaction.
            write_units: statistics * STAT_WRITE_UNITS + 2 * transactions + first_seen_records,
            requests: transactions + first_seen_records,
        }
    }
}

/// The result of a recount.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The last measurement.
    pub measured: Measurement,
    /// The repair of it; empty unless a repair was requested.
    pub repaired: RepairReport,
}

impl Report {
    /// Whether statistics still differ from their clicks after the repair.
    pub fn outcome(&self) -> CommandOutcome {
        let is_right = |difference: &Difference| {
            let mut corrections = self.repaired.corrections.iter();
            let correction = corrections.find(|correction| correction.period == difference.period);
            let (clicks, users) = difference.error();
            correction.map_or((0, 0), |correction| (correction.clicks, correction.unique_users)) == (-clicks, -users)
        };
        if self.measured.differences.iter().all(is_right) {
            CommandOutcome::Success
        } else {
            CommandOutcome::Differences
        }
    }

    /// The output of `--json`.
    pub fn json(&self) -> serde_json::Value {
        let Self { measured, repaired } = self;
        let differences = measured.differences.iter().map(|difference| {
            let Difference { period, stored, recounted } = difference;
            json!({
                "period": period.to_string(),
                "stored": {"totalClicks": stored.clicks as i64, "uniqueUsers": stored.unique_users as i64},
                "recounted": {"totalClicks": recounted.clicks, "uniqueUsers": recounted.unique_users},
            })
        });
        let corrections = repaired.corrections.iter().map(|Correction { period, clicks, unique_users }| {
            json!({"period": period.to_string(), "totalClicks": *clicks as i64, "uniqueUsers": *unique_users as i64})
        });
        json!({
            "differences": differences.collect::<Vec<_>>(),
            "clicks": measured.clicks,
            "pending": measured.pending,
            "quarantined": measured.quarantined,
            "unreadable": measured.unreadable,
            "unmarked": measured.unmarked.len(),
            "readUnits": measured.read.read_units,
            "requests": measured.read.requests,
            "repaired": {"corrections": corrections.collect::<Vec<_>>(), "firstSeenRecords": repaired.marked},
        })
    }

    /// Whether a statistic remains higher than its clicks; a repair lowers it only with
    /// `--subtract`.
    fn has_excess(&self) -> bool {
        let lowered = |difference: &Difference| {
            self.repaired.corrections.iter().any(|correction| correction.period == difference.period)
        };
        let too_much = |difference: &&Difference| difference.error().0 > 0 || difference.error().1 > 0;
        self.measured.differences.iter().filter(too_much).any(|difference| !lowered(difference))
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        let Measurement { differences, clicks, pending, quarantined, unreadable, unmarked, read, .. } = &self.measured;
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
        for Correction { period, clicks, unique_users } in &self.repaired.corrections {
            writeln!(
                out,
                "{:<10}  repaired: totalClicks {clicks:+}, uniqueUsers {unique_users:+}",
                period.to_string()
            )?;
        }
        writeln!(
            out,
            "{}, {} repaired; {} read, {pending} of them pending, {quarantined} in quarantine, {} unreadable; {} without a first-seen record, \
             {} records written; {:.1} read units, {}",
            count(differences.len() as u64, "difference"),
            self.repaired.corrections.len(),
            count(*clicks, "click"),
            count(*unreadable, "item"),
            count(unmarked.len() as u64, "visitor"),
            self.repaired.marked,
            read.read_units,
            count(read.requests, "request")
        )?;
        if self.has_excess() {
            writeln!(
                out,
                "If more is stored than recounted, then clicks have expired or were deleted, which is right, or a value was written by \
                 mistake, which `--repair --subtract` corrects."
            )?;
        }
        if *quarantined > 0 {
            writeln!(out, "`tidemark quarantine redrive` counts the records in quarantine that can be read now.")?;
        }
        Ok(())
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
    let (scope, table) = (arguments.scope(), &arguments.table.table);
    // The clicks of a day are read from its index partitions. With too few partitions, the clicks
    // of the others would seem to be missing, and would be subtracted.
    if arguments.subtract && scope.days().is_some() && arguments.date_shards.is_none() {
        bail!(
            "--subtract with a day or a month needs --date-shards: the table's CLICK_DATE_SHARDS, or the highest value that it ever had"
        );
    }
    let config = store::endpoint::config(arguments.table.endpoint.as_deref()).await;
    let dynamodb = Table::new(aws_sdk_dynamodb::Client::new(&config), table);
    let streams = aws_sdk_dynamodbstreams::Client::new(&config);
    let date_shards = arguments.date_shards.unwrap_or_default().max_with_stored(&dynamodb).await;
    let date_shards = date_shards.with_context(|| format!("the table {table}"))?;
    let recounter = Recounter::new(&dynamodb, streams, date_shards);
    let repairer = Repairer::new(&dynamodb);

    let size = recounter.size().await.with_context(|| format!("the table {table}"))?;
    let cost = RecountCost::estimate(scope, size, stored_by_days(&recounter, scope).await?, date_shards);
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
        let measured = check(&recounter, scope, cost.items).await?;
        let planned = corrections(&measured.differences, &[], arguments.subtract);
        if !arguments.repair || planned.is_empty() && measured.unmarked.is_empty() {
            return Ok(Report { measured, repaired: RepairReport::default() });
        }
        if !arguments.yes {
            let RepairCost { statistics, first_seen_records, write_units, requests } =
                RepairCost::estimate(&planned, &measured);
            let cost = format!(
                "{} to correct, {} without a first-seen record: {}, {}.",
                count(statistics, "statistic"),
                count(first_seen_records, "visitor"),
                count(write_units, "write unit"),
                count(requests, "request")
            );
            confirm(&cost, "nothing was repaired")?;
        }
        match repair(&repairer, &measured, planned.len(), arguments.subtract).await {
            Ok(repaired) => return Ok(Report { measured, repaired }),
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

/// The sums over the days of a scope.
async fn stored_by_days(recounter: &Recounter, scope: RecountScope) -> Result<Sums> {
    let stored = recounter.stored(scope).await?;
    let days = stored.iter().filter(|(period, _)| matches!(period, Period::Day(_)));
    let natural = |number: i128| u64::try_from(number).unwrap_or_default();
    Ok(days.fold(Sums::default(), |sums, (_, day)| Sums {
        clicks: sums.clicks + natural(day.clicks),
        unique_users: sums.unique_users + natural(day.unique_users),
    }))
}

async fn check(recounter: &Recounter, scope: RecountScope, items: u64) -> Result<Measurement> {
    let bar = progress_bar(items);
    let measured = recounter.check(scope, |read| {
        bar.set_position(read.items);
        bar.set_message(format!("{:.1} read units, {} requests", read.read_units, read.requests));
    });
    let measured = measured.await;
    bar.finish_and_clear();
    Ok(measured?)
}

async fn repair(
    repairer: &Repairer,
    measured: &Measurement,
    statistics: usize,
    lowers: bool,
) -> Result<RepairReport, RepairError> {
    let bar = progress_bar(measured.unmarked.len() as u64 + statistics as u64);
    let repaired = repairer.repair(measured, lowers, Timestamp::now(), |repaired| {
        bar.set_position(repaired.marked + repaired.corrections.len() as u64);
        bar.set_message(format!("{} statistics repaired", repaired.corrections.len()));
    });
    let repaired = repaired.await;
    bar.finish_and_clear();
    repaired
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn a_recount_of_everything_costs_the_size_of_the_table() {
        let size = TableSize { items: 1_000_000, size_bytes: 300_000_000 };
        let cost = RecountCost::estimate(RecountScope::All, size, Sums::default(), DateShards::default());
        assert_eq!(cost, RecountCost { items: 1_000_000, read_units: 73_243, requests: 287 });
    }

    #[test]
    fn a_day_costs_its_clicks_and_visitors_and_a_request_for_each_partition() {
        let size = TableSize { items: 10, size_bytes: 2_000 };
        let shards = DateShards::new(4).expect("in range");
        let stored = Sums { clicks: 100_000, unique_users: 450 };
        let cost = RecountCost::estimate(RecountScope::Day(date(2025, 10, 2)), size, stored, shards);
        assert_eq!(cost, RecountCost { items: 100_450, read_units: 2_442 + 450, requests: 5 + 19 + 5 });
        let young = TableSize { items: 0, size_bytes: 0 };
        let cost = RecountCost::estimate(RecountScope::Day(date(2025, 10, 2)), young, Sums::default(), shards);
        assert_eq!(cost, RecountCost { items: 0, read_units: 0, requests: 5 });
    }

    #[test]
    fn a_repair_costs_its_transactions_and_first_seen_records() {
        let day = |n: i64| Period::Day(date(2025, 1, 1) + jiff::Span::new().days(n));
        let correction = |n| Correction { period: day(n), clicks: 1, unique_users: 0 };
        let corrections: Vec<_> = (0..100).map(correction).collect();
        let measured = Measurement {
            differences: vec![],
            clicks: 0,
            pending: 0,
            quarantined: 0,
            unmarked: [(day(0), "ann".to_owned()), (day(1), "ann".to_owned())].into(),
            repaired_to: None,
            unreadable: 0,
            read: store::clicks::ClicksRead::default(),
        };
        let cost = RepairCost::estimate(&corrections, &measured);
        assert_eq!(
            cost,
            RepairCost { statistics: 100, first_seen_records: 2, write_units: 300 + 4 + 2, requests: 2 + 2 }
        );
    }
}
