//! `tidemark quarantine`: lists, shows, redrives and dismisses the records that could not be read.

use std::io::Write;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use clicks_store::{CountedClick, click_aggregators, rollup_table};
use jiff::Timestamp;
use rollup::{Aggregator, Ending, QuarantinedRecord, RedriveOutcome};
use serde_json::{Value, json};

use crate::terminal::{self, confirm, progress_bar};
use crate::{CommandOutcome, TableArguments};

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
    let client = aws_sdk_dynamodb::Client::new(&store_base::endpoint::config(table.endpoint.as_deref()).await);
    let items = rollup_table(&store_base::Table::new(client, &table.table));
    let rollups = click_aggregators(&items)?;
    let mut out = std::io::stdout().lock();
    match &arguments.command {
        List { .. } => {
            let all = list(&rollups).await?;
            if table.json {
                writeln!(out, "{}", Value::Array(all.iter().map(json).collect()))?;
            } else {
                for Entry { rollup, kept } in &all {
                    let QuarantinedRecord { quarantined_at, code, id, message, .. } = kept;
                    let (rollup, state) = (rollup.rollup().name(), state(kept));
                    writeln!(out, "{quarantined_at}  {state:<9}  {rollup:<13}  {code:<16}  {id}  {message}")?;
                }
                let waiting = all.iter().filter(|entry| entry.is_waiting()).count();
                eprintln!("{} in quarantine, {waiting} of them waiting", all.len());
            }
        }
        Show { id, .. } => {
            for entry in get(&rollups, id).await? {
                if table.json {
                    writeln!(out, "{}", json(&entry))?;
                } else {
                    show(&mut out, &entry)?;
                }
            }
        }
        Redrive { ids, all, yes, .. } => {
            let mut entries = Vec::new();
            if *all {
                entries = list(&rollups).await?;
                entries.retain(Entry::is_waiting);
            }
            for id in ids {
                entries.append(&mut get(&rollups, id).await?);
            }
            if !yes {
                confirm(&redrive_cost(&entries), "nothing was redriven")?;
            }
            return redrive(&items, &entries, table.json, &mut out).await;
        }
        Dismiss { id, .. } => {
            for entry in get(&rollups, id).await? {
                let ending = entry.rollup.dismiss(&entry.kept, &items, Timestamp::now()).await?;
                print_redriven(&mut out, table.json, &entry, &RedriveOutcome::Settled(ending))?;
            }
        }
    }
    Ok(CommandOutcome::Success)
}

/// A record in the quarantine of one rollup. Each rollup of a table keeps a record of its own,
/// under the same id.
struct Entry<'a> {
    rollup: &'a Aggregator<CountedClick>,
    kept: QuarantinedRecord,
}

impl Entry<'_> {
    fn is_waiting(&self) -> bool {
        self.kept.ending.is_none()
    }
}

async fn list(rollups: &[Aggregator<CountedClick>]) -> Result<Vec<Entry<'_>>> {
    let mut all = Vec::new();
    for rollup in rollups {
        all.extend(rollup.quarantined().await?.into_iter().map(|kept| Entry { rollup, kept }));
    }
    Ok(all)
}

async fn get<'a>(rollups: &'a [Aggregator<CountedClick>], id: &str) -> Result<Vec<Entry<'a>>> {
    let mut all = Vec::new();
    for rollup in rollups {
        all.extend(rollup.quarantined_record(id).await?.map(|kept| Entry { rollup, kept }));
    }
    if all.is_empty() {
        bail!("{id} is not in quarantine");
    }
    Ok(all)
}

async fn redrive(
    items: &rollup::Table,
    entries: &[Entry<'_>],
    json: bool,
    out: &mut impl Write,
) -> Result<CommandOutcome> {
    let bar = progress_bar(entries.len() as u64);
    let mut outcome = CommandOutcome::Success;
    for entry in entries {
        let redriven = entry.rollup.redrive(&entry.kept, items, Timestamp::now()).await;
        let redriven =
            redriven.with_context(|| format!("{}; run the command again to continue from there", entry.kept.id))?;
        if matches!(redriven, RedriveOutcome::Unreadable(..)) {
            outcome = CommandOutcome::Unreadable;
        }
        bar.suspend(|| print_redriven(out, json, entry, &redriven))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(outcome)
}

fn redrive_cost(entries: &[Entry<'_>]) -> String {
    // Settling rewrites the whole record, so it costs the record's size, twice in a transaction.
    let settling = entries.iter().map(|entry| 2 * (1 + entry.kept.record.len() as u64 / 1024)).sum::<u64>();
    let count = entries.len() as u64;
    let (read_units, write_units) = (count * REDRIVE_READ_UNITS, count * REDRIVE_WRITE_UNITS + settling);
    let [records, reads, writes, requests] =
        [(count, "record"), (read_units, "read unit"), (write_units, "write unit"), (4 * count, "request")]
            .map(|(number, thing)| terminal::count(number, thing));
    format!("{records}: at most {reads}, {writes}, {requests}.")
}

fn print_redriven(out: &mut impl Write, json: bool, entry: &Entry<'_>, redriven: &RedriveOutcome) -> Result<()> {
    let (id, rollup) = (&entry.kept.id, entry.rollup.rollup().name());
    match redriven {
        RedriveOutcome::Settled(ending) if json => {
            writeln!(out, "{}", json!({"id": id, "rollup": rollup, "ending": ending}))?;
        }
        RedriveOutcome::Settled(ending) => writeln!(out, "{:<10}  {rollup:<13}  {id}", ending.as_str())?,
        RedriveOutcome::Unreadable(why) if json => {
            let (code, message) = (&why.code, &why.message);
            let told = json!({"id": id, "rollup": rollup, "ending": null, "code": code, "message": message});
            writeln!(out, "{told}")?;
        }
        RedriveOutcome::Unreadable(why) => {
            writeln!(out, "unreadable  {rollup:<13}  {id}  {}: {}", why.code, why.message)?;
        }
    }
    Ok(())
}

fn state(kept: &QuarantinedRecord) -> &'static str {
    kept.ending.map_or("waiting", Ending::as_str)
}

/// A record with its id and its rollup.
fn json(entry: &Entry<'_>) -> Value {
    let mut value = json!(entry.kept);
    value["id"] = json!(entry.kept.id);
    value["rollup"] = json!(entry.rollup.rollup().name());
    value
}

fn show(out: &mut impl Write, Entry { rollup, kept }: &Entry<'_>) -> Result<()> {
    let lines = [
        ("id", kept.id.as_str()),
        ("rollup", rollup.rollup().name()),
        ("quarantined", &kept.quarantined_at),
        ("code", &kept.code),
        ("message", &kept.message),
        ("stream", &kept.stream_arn),
        ("shard", &kept.shard_id),
        ("number", &kept.sequence_number),
        ("state", state(kept)),
    ];
    for (name, value) in lines {
        writeln!(out, "{name:<12} {value}")?;
    }
    // A record that was cut, or was not JSON, is shown as text.
    let record = serde_json::from_str::<Value>(&kept.record);
    let record = record.and_then(|record| serde_json::to_string_pretty(&record));
    writeln!(out, "{}", record.as_ref().unwrap_or(&kept.record))?;
    Ok(())
}
