//! Moves Okusuri from PostgreSQL to DynamoDB, in phases that can each be killed and run again.
//!
//! A run has a folder, `--run`, with the export, the items, the rejected rows and their reasons,
//! the progress of the load, and a report of each phase. Results go to standard output, as text or
//! with `--json`; everything else goes to standard error.
//!
//! Exit codes: 0 for success; 1 if the phase is done but its report needs review (rejected rows,
//! differing items); 2 if it failed.

pub mod check;
pub mod cutover;
pub mod export;
mod failure;
pub mod load;
pub mod repair;
pub mod rollback;
pub mod run;
pub mod source;
pub mod status;
mod terminal;
pub mod transform;

use std::io::Write;

use clap::{Args, Parser, Subcommand};
use serde_json::Value;

pub use failure::{Failure, FailureKind};

/// Moves Okusuri from PostgreSQL to DynamoDB: export, transform, load, check, cutover; rollback
/// returns from each of these.
///
/// Exit code 0: success; 1: the phase is done, but its report needs review; 2: it failed.
#[derive(Debug, Parser)]
#[command(name = "okusuri-migrate", version)]
pub struct Command {
    #[command(subcommand)]
    phase: PhaseCommand,
    /// Prints the report, or the error, as JSON.
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
enum PhaseCommand {
    /// Copies the tables into the run's folder, in one snapshot.
    Export(export::Arguments),
    /// Transforms the rows into items, deterministically, and reports the rejected rows.
    Transform(transform::Arguments),
    /// Writes the items into the table; never overwrites a newer item.
    Load(load::Arguments),
    /// Compares the table with the items in both directions, and the markers with the items that
    /// they mark.
    Check(check::Arguments),
    /// Moves the live application to DynamoDB, in phases.
    Cutover(cutover::Arguments),
    /// Lets a user go on of whom one side refuses a change.
    Repair(repair::Arguments),
    /// Returns to PostgreSQL, from any state of the run.
    Rollback(rollback::Arguments),
    /// Shows how far a run is.
    Status(status::Arguments),
}

/// The table and its address.
#[derive(Debug, Clone, Args)]
pub struct TargetTable {
    /// Okusuri's table.
    #[arg(long, env = "OKUSURI_TABLE", default_value = "okusuri-table")]
    pub table: String,
    /// The address of a DynamoDB other than AWS, such as the local stack's. Missing credentials and
    /// region are replaced by dummy values.
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
}

impl TargetTable {
    /// Connects to the table.
    pub async fn open(&self) -> store::Table {
        let client = aws_sdk_dynamodb::Client::new(&store::endpoint::config(self.endpoint.as_deref()).await);
        store::Table::new(client, &self.table)
    }
}

/// How a phase ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseOutcome {
    /// Nothing needs attention.
    Done,
    /// Done, but the report needs review.
    NeedsReview,
}

/// The report of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How it ended.
    pub outcome: PhaseOutcome,
    /// For programs; also stored in the run's folder as `report-<phase>.json`.
    pub json: Value,
    /// For people.
    pub text: String,
}

/// Runs a command line, and prints its report.
///
/// # Errors
/// If the phase failed. Its work so far is kept, and it can be run again.
pub async fn run(command: Command) -> Result<PhaseOutcome, Failure> {
    let json = command.json;
    let report = run_quietly(command).await?;
    let output = if json { report.json.to_string() } else { report.text };
    writeln!(std::io::stdout(), "{}", output.trim_end()).map_err(|error| FailureKind::RunFolder.because(error))?;
    Ok(report.outcome)
}

/// The same without output.
///
/// # Errors
/// See [`run()`].
pub async fn run_quietly(command: Command) -> Result<Report, Failure> {
    match command.phase {
        PhaseCommand::Export(arguments) => export::run(arguments).await,
        PhaseCommand::Transform(arguments) => transform::run(arguments),
        PhaseCommand::Load(arguments) => load::run(arguments).await,
        PhaseCommand::Check(arguments) => check::run(arguments).await,
        PhaseCommand::Cutover(arguments) => cutover::run(arguments).await,
        PhaseCommand::Repair(arguments) => repair::run(arguments).await,
        PhaseCommand::Rollback(arguments) => rollback::run(arguments).await,
        PhaseCommand::Status(arguments) => status::run(arguments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Command::command().debug_assert();
    }
}
