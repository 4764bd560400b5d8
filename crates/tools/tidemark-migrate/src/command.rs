//! The command line.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::mapping::{Extension, Mapping, Parameters, Signature, World};
use crate::{
    Failure, FailureKind, check, cutover, export, init, load, preflight, rehearse, repair, rollback, serve, transform,
};

/// Moves a PostgreSQL application to DynamoDB: export, transform, load, check, cutover; rollback
/// returns from each of these.
///
/// Exit code 0: success; 1: the phase is done, but its report needs review; 2: it failed.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Command {
    #[command(subcommand)]
    phase: PhaseCommand,
    /// Prints the report, or the error, as JSON.
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
enum PhaseCommand {
    /// Writes a draft of a mapping for a schema: `init > shop.toml`.
    Init(init::Arguments),
    /// Says what would stop the migration, or surprise it; changes nothing.
    Preflight(preflight::Arguments),
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
    /// Takes every step on a copy of the database and a new or empty table, and goes back.
    Rehearse(rehearse::Arguments),
    /// Writes and reads through the cutover for an application that is not written in Rust: an HTTP
    /// API.
    Serve(serve::Arguments),
    /// Lets a user go on of whom one side refuses a change.
    Repair(repair::Arguments),
    /// Returns to PostgreSQL, from any state of the run.
    Rollback(rollback::Arguments),
}

/// A program with its mapping, and with what the mapping cannot say.
#[derive(Clone, Copy)]
pub struct Product {
    /// The program's name.
    pub name: &'static str,
    /// The mapping; without it the command line names a file.
    pub mapping: Option<&'static str>,
    /// The conversions of the extension.
    pub conversions: &'static [Signature],
    /// Makes the extension.
    pub extension: Option<MakeExtension>,
}

impl Product {
    /// The program's mapping with its parameters, for an application that writes during a cutover.
    /// `as_of` is `takenAt` of the run's export.
    ///
    /// # Errors
    /// `mapping`; `option` if the program has no mapping of its own, or a parameter is not valid.
    pub fn world(&self, source_zone: TimeZone, parameters: Parameters, as_of: Timestamp) -> Result<World, Failure> {
        let text = self.mapping.ok_or_else(|| FailureKind::Options.because("the program has no mapping"))?;
        let mapping = Mapping::read(text, self.conversions).map_err(|errors| FailureKind::Mapping.because(errors))?;
        Ok(World::new(Arc::new(mapping), self.extension(&parameters)?, ("", as_of), source_zone, parameters))
    }

    pub(crate) fn extension(&self, parameters: &Parameters) -> Result<Option<Arc<dyn Extension>>, Failure> {
        self.extension.map(|make| make(parameters)).transpose().map_err(|why| FailureKind::Options.because(why))
    }
}

/// Makes an extension for the parameters of a run; the error is for people.
pub type MakeExtension = fn(&Parameters) -> Result<Arc<dyn Extension>, String>;

impl fmt::Debug for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The table and its address.
#[derive(Debug, Clone, Args)]
pub struct TargetTable {
    /// The table in DynamoDB.
    #[arg(long, env = "TIDEMARK_MIGRATE_TABLE", overrides_with = "table")]
    pub table: String,
    /// The address of a DynamoDB other than AWS, such as the local stack's. Missing credentials and
    /// region are replaced by dummy values.
    #[arg(long, value_name = "URL", value_parser = endpoint)]
    pub endpoint: Option<String>,
}

fn endpoint(url: &str) -> Result<String, String> {
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or_default();
    if host.is_empty() { Err("expected a URL such as http://127.0.0.1:8000".to_owned()) } else { Ok(url.to_owned()) }
}

impl TargetTable {
    /// Connects to the table.
    pub async fn open(&self) -> store_base::Table {
        let client = aws_sdk_dynamodb::Client::new(&store_base::endpoint::config(self.endpoint.as_deref()).await);
        store_base::Table::new(client, &self.table)
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

impl Report {
    pub(crate) fn new(json: Value, text: String, needs_review: bool) -> Self {
        let outcome = if needs_review { PhaseOutcome::NeedsReview } else { PhaseOutcome::Done };
        Self { outcome, json, text }
    }
}

/// The whole program: reads the command line, runs the phase, prints its report or its error.
pub async fn main(product: Product) -> ExitCode {
    let matches = command_line(&product).get_matches();
    let command = Command::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let json = command.json;
    match run(command, &product).await {
        Ok(PhaseOutcome::Done) => ExitCode::SUCCESS,
        Ok(PhaseOutcome::NeedsReview) => ExitCode::from(1),
        Err(failure) => {
            if json {
                println!("{}", failure.json());
            }
            eprintln!("{}: {failure}", product.name);
            ExitCode::from(2)
        }
    }
}

/// Without a mapping in the program, each phase that has `--mapping` requires it.
fn command_line(product: &Product) -> clap::Command {
    let is_required = product.mapping.is_none();
    Command::command().mut_subcommands(|phase| {
        let has_mapping = phase.get_arguments().any(|argument| argument.get_id() == "mapping");
        if has_mapping { phase.mut_arg("mapping", |argument| argument.required(is_required)) } else { phase }
    })
}

/// Runs a command line, and prints its report.
///
/// # Errors
/// If the phase failed. Its work so far is kept, and it can be run again.
pub async fn run(command: Command, product: &Product) -> Result<PhaseOutcome, Failure> {
    let json = command.json;
    let report = run_quietly(command, product).await?;
    let output = if json { report.json.to_string() } else { report.text };
    writeln!(std::io::stdout(), "{}", output.trim_end()).map_err(|error| FailureKind::RunFolder.because(error))?;
    Ok(report.outcome)
}

/// The same without output.
pub async fn run_quietly(command: Command, product: &Product) -> Result<Report, Failure> {
    command.phase.run(product).await
}

impl PhaseCommand {
    async fn run(self, product: &Product) -> Result<Report, Failure> {
        match self {
            Self::Init(arguments) => init::run(arguments, product).await,
            Self::Preflight(arguments) => preflight::run(arguments, product).await,
            Self::Export(arguments) => export::run(arguments, product).await,
            Self::Transform(arguments) => transform::run(arguments, product),
            Self::Load(arguments) => load::run(arguments).await,
            Self::Check(arguments) => check::run(arguments, product).await,
            Self::Cutover(arguments) => cutover::run(arguments, product).await,
            Self::Rehearse(arguments) => rehearse::run(arguments, product).await,
            Self::Serve(arguments) => serve::run(arguments, product).await,
            Self::Repair(arguments) => repair::run(arguments, product).await,
            Self::Rollback(arguments) => rollback::run(arguments, product).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRODUCT: Product = Product { name: "any", mapping: None, conversions: &[], extension: None };

    #[test]
    fn the_flags_do_not_contradict_each_other() {
        command_line(&PRODUCT).debug_assert();
    }

    #[test]
    fn usage_names_the_mapping_where_the_program_has_none() {
        let usage = |product: &Product| {
            let mut rollback = command_line(product).find_subcommand("rollback").expect("the phase").clone();
            rollback.render_usage().to_string()
        };
        assert!(usage(&PRODUCT).contains("--mapping <FILE>"), "{}", usage(&PRODUCT));
        let with_mapping = Product { mapping: Some(""), ..PRODUCT };
        assert!(!usage(&with_mapping).contains("--mapping"), "{}", usage(&with_mapping));
    }
}
