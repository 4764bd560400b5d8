//! Lists, shows, redrives and dismisses the records that could not be read.

use std::io::Write;

use clap::Subcommand;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::terminal::{self, confirm, progress};
use super::{CliError, Outcome, OutputOptions};
use crate::aggregator::Aggregator;
use crate::quarantine::{Ending, QuarantinedRecord};
use crate::recount::RedriveOutcome;
use crate::table::Table;

/// The read units of redriving a record: the item, its shard checkpoint, and a first-seen record.
const REDRIVE_READ_UNITS: u64 = 3;

/// What is done with records in quarantine.
#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// Lists all records, one line each.
    List(OutputOptions),
    /// Shows one record in full.
    Show {
        /// The record's id in the list.
        id: String,
        /// The flags of each command.
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Counts the items of records, as they are in the table now. Each item is counted once, even
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
        /// The flags of each command.
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Marks a record whose item is not to be counted, because it was stored again and counted, or
    /// is not an item that counts.
    Dismiss {
        /// The record's id in the list.
        id: String,
        /// The flags of each command.
        #[command(flatten)]
        output: OutputOptions,
    },
}

/// Does something with the records in quarantine of some rollups of a table.
pub async fn quarantine<T>(
    rollups: &[&Aggregator<T>],
    items: &Table,
    command: &QuarantineCommand,
    out: &mut impl Write,
) -> Result<Outcome, CliError> {
    use QuarantineCommand::{Dismiss, List, Redrive, Show};
    match command {
        List(output) => {
            let all = list(rollups).await?;
            if output.json {
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
        Show { id, output } => {
            for entry in get(rollups, id).await? {
                if output.json {
                    writeln!(out, "{}", json(&entry))?;
                } else {
                    show(out, &entry)?;
                }
            }
        }
        Redrive { ids, all, output } => {
            let mut entries = Vec::new();
            if *all {
                entries = list(rollups).await?;
                entries.retain(Entry::is_waiting);
            }
            for id in ids {
                entries.append(&mut get(rollups, id).await?);
            }
            if !output.yes {
                confirm(&redrive_cost(&entries), "nothing was redriven")?;
            }
            return redrive(items, &entries, output.json, out).await;
        }
        Dismiss { id, output } => {
            for entry in get(rollups, id).await? {
                let ending = entry.rollup.dismiss(&entry.kept, items, Timestamp::now()).await?;
                print_redriven(out, output.json, &entry, &RedriveOutcome::Settled(ending))?;
            }
        }
    }
    Ok(Outcome::Success)
}

/// A record in the quarantine of one rollup. Each rollup of a table keeps a record of its own,
/// under the same id.
struct Entry<'a, T> {
    rollup: &'a Aggregator<T>,
    kept: QuarantinedRecord,
}

impl<T> Entry<'_, T> {
    fn is_waiting(&self) -> bool {
        self.kept.ending.is_none()
    }
}

async fn list<'a, T>(rollups: &[&'a Aggregator<T>]) -> Result<Vec<Entry<'a, T>>, CliError> {
    let mut all = Vec::new();
    for rollup in rollups {
        all.extend(rollup.quarantined().await?.into_iter().map(|kept| Entry { rollup, kept }));
    }
    Ok(all)
}

async fn get<'a, T>(rollups: &[&'a Aggregator<T>], id: &str) -> Result<Vec<Entry<'a, T>>, CliError> {
    let mut all = Vec::new();
    for rollup in rollups {
        all.extend(rollup.quarantined_record(id).await?.map(|kept| Entry { rollup, kept }));
    }
    if all.is_empty() {
        return Err(CliError::NotInQuarantine(id.to_owned()));
    }
    Ok(all)
}

async fn redrive<T>(
    items: &Table,
    entries: &[Entry<'_, T>],
    json: bool,
    out: &mut impl Write,
) -> Result<Outcome, CliError> {
    let mut outcome = Outcome::Success;
    for (index, entry) in entries.iter().enumerate() {
        progress(format_args!("{index} of {} records", entries.len()));
        let redriven = entry.rollup.redrive(&entry.kept, items, Timestamp::now()).await;
        progress("");
        let redriven = redriven.map_err(|error| CliError::Redrive { id: entry.kept.id.clone(), error })?;
        if matches!(redriven, RedriveOutcome::Unreadable(..)) {
            outcome = Outcome::Unreadable;
        }
        print_redriven(out, json, entry, &redriven)?;
    }
    Ok(outcome)
}

fn redrive_cost<T>(entries: &[Entry<'_, T>]) -> String {
    let write_units = entries.iter().map(|Entry { rollup, kept }| {
        // Two for the checkpoint; two for each statistic, one for its index, and its first-seen
        // record. Settling rewrites the whole record, so it costs the record's size, twice in a
        // transaction.
        2 + 4 * rollup.rollup().groups.len() as u64 + 2 * (1 + kept.record.len() as u64 / 1024)
    });
    let (count, write_units) = (entries.len() as u64, write_units.sum());
    let [records, reads, writes, requests] = [
        (count, "record"),
        (count * REDRIVE_READ_UNITS, "read unit"),
        (write_units, "write unit"),
        (4 * count, "request"),
    ]
    .map(|(number, thing)| terminal::count(number, thing));
    format!("{records}: about {reads}, {writes}, {requests}.")
}

fn print_redriven<T>(
    out: &mut impl Write,
    json: bool,
    entry: &Entry<'_, T>,
    redriven: &RedriveOutcome,
) -> std::io::Result<()> {
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
fn json<T>(entry: &Entry<'_, T>) -> Value {
    let mut value = json!(entry.kept);
    value["id"] = json!(entry.kept.id);
    value["rollup"] = json!(entry.rollup.rollup().name());
    value
}

fn show<T>(out: &mut impl Write, Entry { rollup, kept }: &Entry<'_, T>) -> std::io::Result<()> {
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
