//! The commands of `tidemark`, as a library that tests can call.
//!
//! Results go to standard output, as text or with `--json`; everything else goes to standard error.

pub mod bots;
pub mod demo;
pub mod import;
pub mod play;
pub mod recount;

mod terminal;

use anyhow::{Result, anyhow};
use clap::{Args, Parser, Subcommand};
use clicks_store::{click_aggregators, rollup_table};
use rollup::cli::{CliError, QuarantineCommand, quarantine};
use store_base::StoreError;

/// Tools for the operator of Tidemark, and bots for the game.
#[derive(Debug, Parser)]
#[command(name = "tidemark", version)]
pub struct Command {
    #[command(subcommand)]
    subcommand: Subcommands,
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Recounts the clicks, shows where the statistics differ, and repairs them on request. Exit
    /// code 0: nothing differs any more; 1: something differs; 2: an error.
    Recount(recount::Arguments),
    /// Shows the records that could not be read, and counts their clicks once they can be read.
    Quarantine {
        #[command(subcommand)]
        command: QuarantineCommand,
        #[command(flatten)]
        table: TableArguments,
    },
    /// Loads the shop's and the journal's time series from CSV, each line once. Exit code 0: all
    /// lines are loaded; 1: some are bad; 2: an error.
    Import(import::Arguments),
    /// Adds a demo to the local stack: a year of clicks, a finished game, products with their
    /// histories, a month of the medication log, and a record in quarantine. Or removes it.
    Demo(demo::Arguments),
    /// Runs bots that play the drawing game with a visitor or by themselves.
    Bots(bots::Arguments),
}

/// The table and its address.
#[derive(Debug, Clone, Args)]
pub struct TableArguments {
    /// The clicks table.
    #[arg(long, env = "CLICKS_TABLE", default_value = "qit-db-local", global = true)]
    pub table: String,
    /// The address of a DynamoDB other than AWS, such as the local stack's. Missing credentials and
    /// region are replaced by dummy values.
    #[arg(long, value_name = "URL", global = true)]
    pub endpoint: Option<String>,
}

/// How a command ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOutcome {
    /// Nothing needs attention.
    Success,
    /// Statistics differ from their clicks.
    Differences,
    /// Records to redrive still cannot be read.
    Unreadable,
    /// Lines of a file could not be loaded.
    Rejected,
}

impl From<rollup::cli::Outcome> for CommandOutcome {
    fn from(outcome: rollup::cli::Outcome) -> Self {
        match outcome {
            rollup::cli::Outcome::Success => Self::Success,
            rollup::cli::Outcome::Unreadable => Self::Unreadable,
            _ => Self::Differences,
        }
    }
}

/// Runs a command line.
pub async fn run(command: Command) -> Result<CommandOutcome> {
    let outcome = match command.subcommand {
        Subcommands::Recount(arguments) => recount::run(arguments).await,
        Subcommands::Quarantine { command, table } => run_quarantine(&command, &table).await,
        Subcommands::Import(arguments) => import::run(arguments).await,
        Subcommands::Demo(arguments) => demo::run(arguments).await,
        Subcommands::Bots(arguments) => bots::run(arguments).await,
    };
    outcome.map_err(|error| if is_unanswered(&error) { anyhow!("{error:#}\n{UNANSWERED}") } else { error })
}

/// The hint for a DynamoDB that does not answer.
const UNANSWERED: &str = "DynamoDB does not answer. For the local stack, pass --endpoint http://127.0.0.1:8000, or the address that `make run` \
    prints. Without --endpoint, AWS is used with the credentials and the region of the environment.";

/// Whether a request to DynamoDB got no answer.
fn is_unanswered(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let error = cause.downcast_ref::<StoreError>().or(cause.downcast_ref().and_then(CliError::store_error));
        matches!(error, Some(StoreError::Unavailable(_)))
    })
}

/// The records of the rollups of the clicks.
async fn run_quarantine(command: &QuarantineCommand, table: &TableArguments) -> Result<CommandOutcome> {
    let client = aws_sdk_dynamodb::Client::new(&store_base::endpoint::config(table.endpoint.as_deref()).await);
    let items = rollup_table(&store_base::Table::new(client, &table.table));
    let rollups = click_aggregators(&items)?;
    Ok(quarantine(&rollups.each_ref(), &items, command, &mut std::io::stdout()).await?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        Command::command().debug_assert();
    }

    #[tokio::test]
    async fn unreachable_dynamodb_gives_a_hint_without_internal_error_text() {
        for flags in [&["recount", "--all", "--yes"][..], &["quarantine", "list"]] {
            // Nothing listens on the discard port.
            let flags = [&["tidemark"], flags, &["--endpoint", "http://127.0.0.1:9"]].concat();
            let error = run(Command::try_parse_from(flags).expect("flags")).await.expect_err("nobody is there");
            let told = format!("{error:#}");
            assert!(told.contains("--endpoint") && told.contains("refused"), "{told}");
            assert!(!told.contains('{') && !told.contains("DispatchFailure"), "{told}");
        }
    }

    #[test]
    fn a_redrive_needs_ids_or_all() {
        let parse = |flags: &[&str]| Command::try_parse_from([&["tidemark", "quarantine", "redrive"], flags].concat());
        assert!(parse(&["--all"]).is_ok());
        assert!(parse(&["--id", "a", "--id", "b"]).is_ok());
        assert!(parse(&[]).is_err() && parse(&["--all", "--id", "a"]).is_err());
    }

    #[test]
    fn a_recount_needs_exactly_one_scope() {
        let parse = |flags: &[&str]| Command::try_parse_from([&["tidemark", "recount"], flags].concat());
        assert!(parse(&["--all"]).is_ok());
        assert!(parse(&["--day", "2025-10-02"]).is_ok());
        assert!(parse(&["--month", "2025-10"]).is_ok());
        assert!(parse(&["--repair", "--subtract", "--all"]).is_ok());
        assert!(parse(&["--repair", "--subtract=12", "--all"]).is_ok());
        for flags in [
            &[][..],
            &["--all", "--day", "2025-10-02"],
            &["--day", "2025-02-30"],
            &["--month", "2025-13"],
            &["--all", "--date-shards", "0"],
            &["--all", "--subtract"],
            &["--all", "--repair", "--subtract=all"],
        ] {
            assert!(parse(flags).is_err(), "{flags:?}");
        }
    }
}
