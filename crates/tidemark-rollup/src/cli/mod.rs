//! A ready command for the operator of a rollup: it compares the statistics with the items, repairs
//! them, shows and counts the records in quarantine, and explains the cost.
//!
//! ```no_run
//! # use rollup::{Aggregator, Table};
//! # #[derive(Clone)]
//! # struct Vote;
//! # async fn of(aggregator: Aggregator<Vote>, config: aws_sdk_dynamodbstreams::Config) -> std::process::ExitCode {
//! rollup::cli::run(&aggregator, aggregator.table(), config).await
//! # }
//! ```
//!
//! Results go to standard output, as text or with `--json`; everything else goes to standard error.
//! The exit code is 0 when nothing needs attention, 1 when something does, and 2 for an error. An
//! error has a [code](CliError::code) that stays. `--help` lists the permissions.

mod explain;
mod quarantine;
mod recount;
mod report;
mod terminal;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::aggregator::Aggregator;
use crate::error::StoreError;
use crate::recount::{Lowering, RecountError, Recounter, RepairError, Scope};
use crate::table::Table;

pub use quarantine::{QuarantineCommand, quarantine};
pub use recount::{RecountCost, RecountOptions, recount};

/// What the role of the operator needs, for `--help`.
const PERMISSIONS: &str = "\
Permissions, on the table, its indexes and its stream:
  check       dynamodb:DescribeTable, Scan, Query, GetItem, BatchGetItem, DescribeStream,
              GetShardIterator, GetRecords
  repair      those of check, and dynamodb:PutItem, UpdateItem
  quarantine  dynamodb:Query, GetItem; to redrive and dismiss also PutItem, UpdateItem,
              BatchGetItem
  explain     dynamodb:DescribeTable, Scan";

/// Recounts, repairs and explains the statistics of a table.
#[derive(Debug, Parser)]
#[command(after_help = PERMISSIONS)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Compares the statistics with all items, while records are still counted. Exit code 1:
    /// something differs.
    Check(OutputOptions),
    /// Does the same, and repairs the differences. Adds what is missing. Exit code 1: something
    /// still differs.
    Repair {
        /// Also lowers numbers that are too high: at most one in 20, or as many as a check has
        /// printed, `--subtract=12`. Items that expired or were deleted may rightly stay counted.
        #[arg(long, value_name = "NUMBERS", num_args = 0..=1, require_equals = true)]
        subtract: Option<Option<u64>>,
        #[command(flatten)]
        output: OutputOptions,
    },
    /// Shows the records that could not be read, counts them and settles them.
    Quarantine {
        #[command(subcommand)]
        command: QuarantineCommand,
    },
    /// Prints the write and read units for each new item, for items of the table.
    Explain(OutputOptions),
}

/// The flags of each command.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OutputOptions {
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// Does not ask for confirmation before reading or writing.
    #[arg(long)]
    pub yes: bool,
}

/// How a command ended that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing needs attention.
    Success,
    /// Statistics differ from their items.
    Differences,
    /// Records to redrive still cannot be read.
    Unreadable,
}

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// The recount has no result.
    #[error(transparent)]
    Recount(#[from] RecountError),
    /// The repair has an error.
    #[error("the repair stopped early; its changes are valid, and running it again does the rest: {0}")]
    Repair(RepairError),
    /// DynamoDB has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The records before this one are settled.
    #[error("{id}: {error}; run the command again to continue from there")]
    Redrive {
        /// The record.
        id: String,
        /// The failure.
        error: StoreError,
    },
    /// There is no record with this id.
    #[error("{0} is not in quarantine")]
    NotInQuarantine(String),
    /// The table has no item whose cost could be explained.
    #[error("no item of the table counts, so there is nothing to explain")]
    NoItems,
    /// Nobody can confirm the cost.
    #[error("standard input is not a terminal; pass --yes to continue without confirmation")]
    NoTerminal,
    /// The operator did not confirm the cost.
    #[error("{0}")]
    Declined(&'static str),
    /// The arguments are wrong, or ask for help.
    #[error("{0}")]
    Usage(#[from] clap::Error),
    /// The output could not be written.
    #[error("the output cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

impl CliError {
    /// A stable name of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Recount(RecountError::Refused(_)) => "refused",
            Self::Recount(RecountError::Unsteady) => "unsteady",
            Self::Repair(RepairError::ConcurrentRepair) => "concurrent-repair",
            Self::Repair(RepairError::LowersTooMuch { .. }) => "lowers-too-much",
            Self::NotInQuarantine(_) => "not-in-quarantine",
            Self::NoItems => "no-items",
            Self::NoTerminal | Self::Declined(_) => "not-confirmed",
            Self::Usage(_) => "usage",
            Self::Output(_) => "output",
            _ => match self.store_error() {
                Some(StoreError::Busy(_)) => "busy",
                Some(StoreError::Unavailable(_)) => "unavailable",
                Some(StoreError::Unreadable(_)) => "unreadable",
                _ => "refused-request",
            },
        }
    }

    /// The failure of a request, if it is one.
    pub fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Recount(RecountError::Store(error))
            | Self::Repair(RepairError::Store(error))
            | Self::Redrive { error, .. }
            | Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// Runs the command line of this process for the statistics of an aggregator. `items` is the table
/// whose stream it counts: [`Aggregator::table`], unless the statistics are in another table.
/// `config` is the configuration of the SDK.
pub async fn run<T: Clone>(
    aggregator: &Aggregator<T>,
    items: &Table,
    config: impl Into<aws_sdk_dynamodbstreams::Config>,
) -> ExitCode {
    match run_with(std::env::args_os(), aggregator, items, config, &mut std::io::stdout()).await {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::Differences | Outcome::Unreadable) => ExitCode::from(1),
        Err(CliError::Usage(usage)) => usage.exit(),
        Err(error) => {
            eprintln!("error ({}): {error}", error.code());
            ExitCode::from(2)
        }
    }
}

/// [`run`] with other arguments, the first of which is the name of the program, and another output.
pub async fn run_with<T: Clone>(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    aggregator: &Aggregator<T>,
    items: &Table,
    config: impl Into<aws_sdk_dynamodbstreams::Config>,
    out: &mut impl Write,
) -> Result<Outcome, CliError> {
    let streams = aws_sdk_dynamodbstreams::Client::from_conf(config.into());
    let options = match Arguments::try_parse_from(arguments)?.command {
        Command::Check(output) => RecountOptions { repair: None, output },
        Command::Repair { subtract, output } => RecountOptions { repair: Some(Lowering::of_flag(subtract)), output },
        Command::Quarantine { command } => return quarantine(&[aggregator], items, &command, out).await,
        Command::Explain(output) => return explain::explain(aggregator, items, output, out).await,
    };
    let cost = RecountCost::of_table(items).await?;
    recount(&Recounter::new(aggregator, items.clone(), streams), &Scope::All, options, cost, out).await
}

impl Lowering {
    /// Of a flag that may be absent, without a number, or with one.
    pub fn of_flag(subtract: Option<Option<u64>>) -> Self {
        match subtract {
            None => Self::Nothing,
            Some(None) => Self::SmallShare,
            Some(Some(numbers)) => Self::UpTo(numbers),
        }
    }
}
