//! `tidemark quarantine`: lists, shows, redrives and dismisses the records that could not be read.

use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;
use store::clicks::{Quarantine, QuarantinedRecord, RedriveOutcome, Redriver};

use crate::terminal::{self, confirm, progress_bar};
use crate::{CommandOutcome, TableArguments};

/// The most pages that a listing reads, each of a megabyte.
const PAGES_MAX: usize = 1_000;

/// The most write units of redriving a record, besides its note: a first-seen record, and in the
/// transaction two units for the shard checkpoint and two for each of three statistics, plus one
/// more for each statistic in the index.
const REDRIVE_WRITE_UNITS: u64 = 1 + 2 + 3 * 3;

/// The read units of redriving a record: the click, its shard checkpoint, and a first-seen record.
const REDRIVE_READ_UNITS: u64 = 3;

/// The command and its table.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: QuarantineCommand,
}

#[derive(Debug, Subcommand)]
enum QuarantineCommand {
    /// Lists all records, one line each.
    List {
        #[command(flatten)]
        table: TableArguments,
    },
    /// Shows one record in full.
    Show {
        /// The record's id in the list.
        id: String,
        #[command(flatten)]
        table: TableArguments,
    },
    /// Counts the clicks of records, as they are in the table now. Each click is counted once, even
    /// if the command runs again or in several places. Records that still cannot be read stay in
    /// quarantine: exit code 1.
    #[command(group = clap::ArgGroup::new("which").required(true).args(["ids", "all"]))]
    Redrive {
        /// A record's id in the list; may be given several times.
        #[arg(long = "id", value_name = "ID")]
        ids: Vec<String>,
        /// Redrives all waiting records.
        #[arg(long)]
        all: bool,
        /// Does not ask for confirmation.
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        table: TableArguments,
    },
    /// Marks a record whose click is not to be counted, because it was stored again and counted, or
    /// is not a click.
    Dismiss {
        /// The record's id in the list.
        id: String,
        #[command(flatten)]
        table: TableArguments,
    },
}

/// The command.
pub async fn run(arguments: Arguments) -> Result<CommandOutcome> {
    use QuarantineCommand::{Dismiss, List, Redrive, Show};
    let (List { table } | Show { table, .. } | Redrive { table, .. } | Dismiss { table, .. }) = &arguments.command;
    let client = aws_sdk_dynamodb::Client::new(&store::endpoint::config(table.endpoint.as_deref()).await);
    let clicks = store::Table::new(client, &table.table);
    let (quarantine, redriver) = (Quarantine::new(&clicks), Redriver::new(&clicks));
    let mut out = std::io::stdout().lock();
    match &arguments.command {
        List { .. } => {
            let all = list(&quarantine).await?;
            if table.json {
                writeln!(out, "{}", serde_json::to_string(&all)?)?;
            } else {
                for kept @ QuarantinedRecord { quarantined_at, reason, id, detail, .. } in &all {
                    writeln!(out, "{quarantined_at}  {:<9}  {reason:<16}  {id}  {detail}", state(kept))?;
                }
                let waiting = all.iter().filter(|kept| kept.ending.is_none()).count();
                eprintln!("{} in quarantine, {waiting} of them waiting", all.len());
            }
        }
        Show { id, .. } => {
            let kept = get(&quarantine, id).await?;
            if table.json {
                writeln!(out, "{}", serde_json::to_string(&kept)?)?;
            } else {
                show(&mut out, &kept)?;
            }
        }
        Redrive { ids, all, yes, .. } => {
            let records = if *all { waiting(&quarantine).await? } else { get_all(&quarantine, ids).await? };
            if !yes {
                confirm(&redrive_cost(&records), "nothing was redriven")?;
            }
            return redrive(&redriver, &records, table.json, &mut out).await;
        }
        Dismiss { id, .. } => {
            let kept = get(&quarantine, id).await?;
            print_redriven(&mut out, table.json, id, &redriver.dismiss(&kept, Timestamp::now()).await?)?;
        }
    }
    Ok(CommandOutcome::Success)
}

async fn redrive(
    redriver: &Redriver,
    records: &[QuarantinedRecord],
    json: bool,
    out: &mut impl Write,
) -> Result<CommandOutcome> {
    let bar = progress_bar(records.len() as u64);
    let mut outcome = CommandOutcome::Success;
    for kept in records {
        let redriven = redriver.redrive(kept, Timestamp::now()).await;
        let redriven =
            redriven.with_context(|| format!("{}; run the command again to continue from there", kept.id))?;
        if matches!(redriven, RedriveOutcome::Unreadable(..)) {
            outcome = CommandOutcome::Unreadable;
        }
        bar.suspend(|| print_redriven(out, json, &kept.id, &redriven))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(outcome)
}

fn redrive_cost(records: &[QuarantinedRecord]) -> String {
    // A note rewrites the whole record, so it costs the record's size, twice in a transaction.
    let notes = records.iter().map(|kept| 2 * (1 + kept.record.len() as u64 / 1024)).sum::<u64>();
    let count = records.len() as u64;
    let (read_units, write_units) = (count * REDRIVE_READ_UNITS, count * REDRIVE_WRITE_UNITS + notes);
    let [records, reads, writes, requests] =
        [(count, "record"), (read_units, "read unit"), (write_units, "write unit"), (4 * count, "request")]
            .map(|(number, thing)| terminal::count(number, thing));
    format!("{records}: at most {reads}, {writes}, {requests}.")
}

fn print_redriven(out: &mut impl Write, json: bool, id: &str, redriven: &RedriveOutcome) -> Result<()> {
    match redriven {
        RedriveOutcome::Ended(ending) if json => writeln!(out, "{}", json!({"id": id, "ending": ending}))?,
        RedriveOutcome::Ended(ending) => writeln!(out, "{:<10}  {id}", ending.as_str())?,
        RedriveOutcome::Unreadable(reason, detail) if json => {
            writeln!(out, "{}", json!({"id": id, "ending": null, "reason": reason, "detail": detail}))?;
        }
        RedriveOutcome::Unreadable(reason, detail) => writeln!(out, "unreadable  {id}  {reason}: {detail}")?,
    }
    Ok(())
}

fn state(kept: &QuarantinedRecord) -> &'static str {
    kept.ending.map_or("waiting", store::clicks::QuarantineEnding::as_str)
}

async fn get(quarantine: &Quarantine, id: &str) -> Result<QuarantinedRecord> {
    quarantine.get(id).await?.with_context(|| format!("{id} is not in quarantine"))
}

async fn get_all(quarantine: &Quarantine, ids: &[String]) -> Result<Vec<QuarantinedRecord>> {
    let mut all = Vec::with_capacity(ids.len());
    for id in ids {
        all.push(get(quarantine, id).await?);
    }
    Ok(all)
}

/// All records in quarantine that wait for a decision.
pub async fn waiting(quarantine: &Quarantine) -> Result<Vec<QuarantinedRecord>> {
    let mut all = list(quarantine).await?;
    all.retain(|kept| kept.ending.is_none());
    Ok(all)
}

/// All records in quarantine.
pub async fn list(quarantine: &Quarantine) -> Result<Vec<QuarantinedRecord>> {
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    for _ in 0..PAGES_MAX {
        let (mut kept, next) = quarantine.list(after.as_deref()).await?;
        all.append(&mut kept);
        after = next;
        if after.is_none() {
            return Ok(all);
        }
    }
    bail!("more than {PAGES_MAX} pages of records are in quarantine")
}

fn show(out: &mut impl Write, kept: &QuarantinedRecord) -> Result<()> {
    let lines = [
        ("id", &kept.id),
        ("quarantined", &kept.quarantined_at),
        ("reason", &kept.reason),
        ("detail", &kept.detail),
        ("stream", &kept.stream_arn),
        ("shard", &kept.shard_id),
        ("number", &kept.sequence_number),
        ("state", &state(kept).to_owned()),
    ];
    for (name, value) in lines {
        writeln!(out, "{name:<12} {value}")?;
    }
    // A record that was cut, or was not JSON, is shown as text.
    let record = serde_json::from_str::<serde_json::Value>(&kept.record);
    let record = record.and_then(|record| serde_json::to_string_pretty(&record));
    writeln!(out, "{}", record.as_ref().unwrap_or(&kept.record))?;
    Ok(())
}
