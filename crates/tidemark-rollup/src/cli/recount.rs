//! Measures, and repairs if that is requested.

use std::io::Write;

use jiff::Timestamp;

use super::report::RecountReport;
use super::terminal::{confirm, count, count_of, progress};
use super::{CliError, Outcome, OutputOptions};
use crate::error::StoreError;
use crate::recount::{Lowering, Measurement, Recounter, RepairError, RepairReport, Scope, corrections};
use crate::table::Table;

/// How often a repair is measured and started again because of a concurrent repair.
const REPAIRS_MAX: usize = 5;

/// The write units of one statistic: two for the item in a transaction, one for an index.
const STAT_WRITE_UNITS: u64 = 3;

/// The most numbers that one transaction of a repair corrects.
const REPAIR_NUMBERS_MAX: u64 = 99;

/// [A strongly consistent read
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const READ_UNIT_BYTES: u64 = 4 * 1024;

/// [The most bytes that one request
/// reads](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html).
const PAGE_BYTES: u64 = 1024 * 1024;

/// What a recount does.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecountOptions {
    /// Repairs the differences, and lowers so much. `None` only compares.
    pub repair: Option<Lowering>,
    /// The flags of each command.
    pub output: OutputOptions,
}

/// The estimated cost of reading the items once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecountCost {
    /// The items.
    pub items: u64,
    /// The read units.
    pub read_units: u64,
    /// The requests.
    pub requests: u64,
}

impl RecountCost {
    /// The cost of a whole table, from figures that DynamoDB updates about every six hours.
    pub async fn of_table(table: &Table) -> Result<Self, StoreError> {
        let described = table.client().describe_table().table_name(table.name()).send().await?.table;
        let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
        let (items, bytes) = described.map(|table| (table.item_count, table.table_size_bytes)).unwrap_or_default();
        Ok(Self::of_size(number(items), number(bytes)))
    }

    /// The cost of a table with so many items and bytes.
    pub fn of_size(items: u64, bytes: u64) -> Self {
        Self { items, read_units: bytes.div_ceil(READ_UNIT_BYTES), requests: bytes.div_ceil(PAGE_BYTES).max(1) }
    }
}

/// Compares the statistics of a scope with the items, and repairs the differences if the options
/// say so.
pub async fn recount<T: Clone>(
    recounter: &Recounter<'_, T>,
    scope: &Scope,
    options: RecountOptions,
    cost: RecountCost,
    out: &mut impl Write,
) -> Result<Outcome, CliError> {
    let report = report(recounter, scope, options, cost).await?;
    if options.output.json {
        writeln!(out, "{}", report.json())?;
    } else {
        report.print(out)?;
    }
    Ok(report.outcome())
}

async fn report<T: Clone>(
    recounter: &Recounter<'_, T>,
    scope: &Scope,
    RecountOptions { repair, output }: RecountOptions,
    RecountCost { items, read_units, requests }: RecountCost,
) -> Result<RecountReport, CliError> {
    if !output.yes {
        let [items, reads, requests] = [(items, "item"), (read_units, "read unit"), (requests, "request")]
            .map(|(number, thing)| count(number, thing));
        confirm(&format!("About {items}, {reads}, {requests}; twice that if anything differs."), "nothing was read")?;
    }
    for _ in 0..REPAIRS_MAX {
        let measured = check(recounter, scope, items).await?;
        let lowering = repair.unwrap_or_default();
        let planned = corrections(&measured, lowering != Lowering::Nothing);
        let is_right = planned.is_empty() && measured.unrecorded == 0 && measured.wrong_holdings == 0;
        // A repair accepts a changed declaration, also if nothing is wrong.
        let is_right = is_right && !measured.is_new_declaration();
        if repair.is_none() || is_right {
            return Ok(RecountReport { measured, ..RecountReport::default() });
        }
        if let Err(refusal) = measured.admits(lowering) {
            return Ok(RecountReport { measured, refused: Some(refusal.to_string()), ..RecountReport::default() });
        }
        if !output.yes {
            confirm(&repair_cost(planned.len() as u64, measured.unrecorded), "nothing was repaired")?;
        }
        match apply(recounter, &measured, lowering).await {
            Ok(repaired) => return Ok(RecountReport { measured, repaired, refused: None }),
            Err(RepairError::ConcurrentRepair) => eprintln!(
                "The statistics were repaired meanwhile by another command, or by this one if a reply was lost. Measuring again."
            ),
            Err(error) => return Err(CliError::Repair(error)),
        }
    }
    Err(CliError::Repair(RepairError::ConcurrentRepair))
}

async fn check<T: Clone>(recounter: &Recounter<'_, T>, scope: &Scope, items: u64) -> Result<Measurement, CliError> {
    let measured = recounter.check(scope, |read| {
        let (read_units, requests) = (read.read_units, count(read.requests, "request"));
        progress(format_args!("{} of about {items} items, {read_units:.1} read units, {requests}", read.items));
    });
    let measured = measured.await;
    progress("");
    Ok(measured?)
}

async fn apply<T: Clone>(
    recounter: &Recounter<'_, T>,
    measured: &Measurement,
    lowering: Lowering,
) -> Result<RepairReport, RepairError> {
    let repaired = recounter.repair(measured, lowering, Timestamp::now(), |repaired| {
        let numbers = count(repaired.corrections.len() as u64, "number");
        progress(format_args!("{numbers} and {} first-seen entries repaired", repaired.recorded));
    });
    let repaired = repaired.await;
    progress("");
    repaired
}

/// The most that a repair will write.
fn repair_cost(numbers: u64, first_seen_records: u64) -> String {
    let transactions = numbers.div_ceil(REPAIR_NUMBERS_MAX);
    // The checkpoint of the repairs takes two units in each transaction.
    let write_units = numbers * STAT_WRITE_UNITS + 2 * transactions + first_seen_records;
    format!(
        "{} to correct, {} to write: {}, {}.",
        count(numbers, "number"),
        count_of(first_seen_records, "first-seen entry", "first-seen entries"),
        count(write_units, "write unit"),
        count(transactions + first_seen_records, "request")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recount_of_everything_costs_the_size_of_the_table() {
        let cost = RecountCost { items: 1_000_000, read_units: 73_243, requests: 287 };
        assert_eq!(RecountCost::of_size(1_000_000, 300_000_000), cost);
    }

    #[test]
    fn a_repair_costs_its_transactions_and_first_seen_records() {
        let cost = "100 numbers to correct, 2 first-seen entries to write: 306 write units, 4 requests.";
        assert_eq!(repair_cost(100, 2), cost);
    }
}
