//! Okusuri's move from PostgreSQL to DynamoDB, in phases that can each be killed and begun again.
//!
//! A run lives in a folder, `--run`: the exported rows, the items, the rejected rows with their
//! reasons, the progress of the load, and a report of each phase. Results go to standard output, as
//! text or with `--json`; everything else to standard error.
//!
//! Exit codes: 0 when all is well, 1 when the phase is done but its report wants to be read (rows
//! rejected, items that differ), 2 when it could not be done.

pub mod check;
pub mod cutover;
pub mod export;
mod failure;
pub mod load;
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

/// Moves Okusuri from PostgreSQL to DynamoDB: export, transform, load, check, cutover; and back
/// again from each of these with rollback.
///
/// Exit code 0 when all is well, 1 when the phase is done but its report wants to be read, 2 when
/// it could not be done.
#[derive(Debug, Parser)]
#[command(name = "okusuri-migrate", version)]
pub struct Command {
    #[command(subcommand)]
    phase: PhaseCommand,
    /// Prints the report as JSON; an error too.
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
enum PhaseCommand {
    /// Copies the tables into the run's folder, as they are in one moment.
    Export(export::Arguments),
    /// Makes items of the rows, always the same of the same, and tells which rows it rejects.
    Transform(transform::Arguments),
    /// Puts the items into the table; never over anything newer.
    Load(load::Arguments),
    /// Compares the table with the items in both directions, and the lookup items with their
    /// targets.
    Check(check::Arguments),
    /// Moves the live application over, step by step.
    Cutover(cutover::Arguments),
    /// Goes back to PostgreSQL, from wherever the run is.
    Rollback(rollback::Arguments),
    /// Tells how far a run is.
    Status(status::Arguments),
}

/// Which table, and where.
#[derive(Debug, Clone, Args)]
pub struct TargetTable {
    /// Okusuri's table.
    #[arg(long, env = "OKUSURI_TABLE", default_value = "okusuri-table")]
    pub table: String,
    /// A DynamoDB elsewhere than on AWS, such as the local stack's. Credentials and region that the
    /// environment lacks are made up for it.
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
}

impl TargetTable {
    /// The table where it is.
    pub async fn open(&self) -> store::Table {
        let client = aws_sdk_dynamodb::Client::new(&store::endpoint::config(self.endpoint.as_deref()).await);
        store::Table::new(client, &self.table)
    }
}

/// How a phase ended that could do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseOutcome {
    /// Nothing to worry about.
    Done,
    /// Done, and there is something to look at.
    NeedsReview,
}

/// What a phase tells in the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How it ended.
    pub outcome: PhaseOutcome,
    /// For programs; also kept in the run's folder as `report-<phase>.json`.
    pub json: Value,
    /// For people.
    pub text: String,
}

/// Does what a command line says, and prints its report.
///
/// # Errors
/// If the phase failed. Its work until then is kept, and it can be started again.
pub async fn run(command: Command) -> Result<PhaseOutcome, Failure> {
    let json = command.json;
    let report = run_quietly(command).await?;
    let told = if json { report.json.to_string() } else { report.text };
    writeln!(std::io::stdout(), "{}", told.trim_end()).map_err(|error| FailureKind::RunFolder.because(error))?;
    Ok(report.outcome)
}

/// The same without a word.
///
/// # Errors
/// As above.
pub async fn run_quietly(command: Command) -> Result<Report, Failure> {
    match command.phase {
        PhaseCommand::Export(arguments) => export::run(arguments).await,
        PhaseCommand::Transform(arguments) => transform::run(arguments),
        PhaseCommand::Load(arguments) => load::run(arguments).await,
        PhaseCommand::Check(arguments) => check::run(arguments).await,
        PhaseCommand::Cutover(arguments) => cutover::run(arguments).await,
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
