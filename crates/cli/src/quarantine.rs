//! `tidemark quarantine`: the records that could not be read, and why.

use std::io::Write;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use store::clicks::{Kept, Quarantine};

use crate::{Outcome, Table, aws};

/// The most pages that a listing reads: at a megabyte each, a lot of records for one pair of eyes.
const PAGES_MAX: usize = 1_000;

/// What to show.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// All of them, a line each.
    List {
        #[command(flatten)]
        table: Table,
    },
    /// One of them, whole.
    Show {
        /// As the list names it.
        id: String,
        #[command(flatten)]
        table: Table,
    },
}

/// The command.
pub async fn run(arguments: Arguments) -> Result<Outcome> {
    let (What::List { table } | What::Show { table, .. }) = &arguments.what;
    let client = aws_sdk_dynamodb::Client::new(&aws::config(table).await);
    let quarantine = Quarantine::new(client, &table.table);
    let mut out = std::io::stdout().lock();
    match &arguments.what {
        What::List { .. } => {
            let all = list(&quarantine).await?;
            if table.json {
                writeln!(out, "{}", serde_json::to_string(&all)?)?;
            } else {
                for Kept { quarantined_at, reason, id, detail, .. } in &all {
                    writeln!(out, "{quarantined_at}  {reason:<16}  {id}  {detail}")?;
                }
                eprintln!("{} in quarantine", all.len());
            }
        }
        What::Show { id, .. } => {
            let Some(kept) = quarantine.get(id).await? else { bail!("{id} is not in quarantine") };
            if table.json {
                writeln!(out, "{}", serde_json::to_string(&kept)?)?;
            } else {
                show(&mut out, &kept)?;
            }
        }
    }
    Ok(Outcome::Fine)
}

/// Everything in quarantine.
pub async fn list(quarantine: &Quarantine) -> Result<Vec<Kept>> {
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

fn show(out: &mut impl Write, kept: &Kept) -> Result<()> {
    let lines = [
        ("id", &kept.id),
        ("quarantined", &kept.quarantined_at),
        ("reason", &kept.reason),
        ("detail", &kept.detail),
        ("stream", &kept.stream_arn),
        ("shard", &kept.shard_id),
        ("number", &kept.sequence_number),
    ];
    for (name, value) in lines {
        writeln!(out, "{name:<12} {value}")?;
    }
    // What was cut, or was no JSON in the first place, is shown as it is.
    let record = serde_json::from_str::<serde_json::Value>(&kept.record);
    let record = record.and_then(|record| serde_json::to_string_pretty(&record));
    writeln!(out, "{}", record.as_ref().unwrap_or(&kept.record))?;
    Ok(())
}
