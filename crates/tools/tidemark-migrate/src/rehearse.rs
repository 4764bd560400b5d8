//! `rehearse`: every phase on a copy of the database and a new or empty table, and back.

use std::time::Instant;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::command::Product;
use crate::cutover::{self, SidesArguments};
use crate::run::Run;
use crate::source::{connect, source_failure};
use crate::terminal::{ask, tell};
use crate::{Failure, FailureKind, PhaseOutcome, Report, check, export, load, preflight, rollback, transform};

/// The name of the file with the finished steps.
const STEPS: &str = "rehearsal.json";

/// A new folder, the copy, and the table.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    sides: SidesArguments,
    /// The most write units a second of the load.
    #[arg(long, value_name = "UNITS", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Confirms that the database is a copy: its name. At a terminal the command asks for it.
    #[arg(long, value_name = "DATABASE")]
    confirm: Option<String>,
}

/// A finished step.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Step {
    command: String,
    seconds: f64,
    needs_review: bool,
    text: String,
}

/// The steps, as an operator takes them.
const PLAN: [&str; 11] = [
    "preflight",
    "cutover --to capture",
    "export",
    "transform",
    "load --create-table",
    "check --strict",
    "cutover --to dual --compare",
    "cutover --to 1%",
    "cutover --to 100% --compare",
    "cutover --to 0% --compare",
    "rollback",
];

pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    confirm(&arguments).await?;
    // The folder is locked only by the steps themselves.
    let folder = &arguments.sides.folder;
    let mut steps: Vec<Step> = Run::open(folder)?.read(STEPS)?.unwrap_or_default();
    for command in PLAN.into_iter().skip(steps.len()) {
        tell(&format!("{} of {}: {command}", steps.len() + 1, PLAN.len()));
        let start = Instant::now();
        let done = Box::pin(take(&arguments, command, product)).await.map_err(|Failure { kind, detail }| {
            let next = "The same `rehearse` tries this step again, and `rollback` ends the rehearsal";
            kind.because(format!("{command}: {detail}. {next}"))
        })?;
        let (needs_review, seconds) = (done.outcome == PhaseOutcome::NeedsReview, start.elapsed().as_secs_f64());
        steps.push(Step { command: command.to_owned(), seconds, needs_review, text: done.text });
        Run::open(folder)?.write(STEPS, &steps)?;
    }
    let report = report(&steps);
    Run::open(folder)?.write_report("rehearse", &report)?;
    Ok(report)
}

/// A rehearsal moves every owner of the database, so it asks whether this is a copy.
async fn confirm(arguments: &Arguments) -> Result<(), Failure> {
    let client = connect(&arguments.sides.server).await?;
    let row = client.query_one("SELECT current_database()::text", &[]).await.map_err(source_failure)?;
    let name: String = row.get(0);
    let question = format!(
        "The rehearsal moves all owners of the database {name:?} to the table {:?} and back. Type the database's name if it is a copy that no application uses:",
        arguments.sides.table.table
    );
    let given = arguments.confirm.clone().or_else(|| ask(&question));
    match given {
        Some(given) if given == name => Ok(()),
        _ => Err(FailureKind::Options.because(format!("if this database is a copy, confirm it with --confirm {name}"))),
    }
}

async fn take(arguments: &Arguments, step: &str, product: &Product) -> Result<Report, Failure> {
    let Arguments { sides, rate, .. } = arguments;
    let SidesArguments { folder, server, table, mapping } = sides.clone();
    let file = mapping.file().clone();
    match *step.split(' ').collect::<Vec<_>>() {
        ["preflight"] => {
            let report =
                preflight::run(preflight::Arguments { server, mapping, application_role: None }, product).await?;
            // Before the folder has a run: the mapping may still be changed.
            let is_stopped = report.json["stops"].as_array().is_some_and(|stops| !stops.is_empty());
            if is_stopped { Err(FailureKind::Cutover.because(report.text)) } else { Ok(report) }
        }
        ["export"] => export::run(export::Arguments { folder, server, mapping: file }, product).await,
        ["transform"] => transform::run(transform::Arguments { folder, mapping }, product),
        ["load", ..] => {
            let (into_existing, create_table, again, rate) = (false, true, false, *rate);
            load::run(load::Arguments { folder, table, into_existing, create_table, again, rate }).await
        }
        ["check", ..] => check::run(check::Arguments { folder, table, mapping: file, strict: true }, product).await,
        ["cutover", _, to, ref compare @ ..] => {
            let goal = to.parse().map_err(|why: String| FailureKind::Options.because(why))?;
            cutover::run(cutover::Arguments::to(sides.clone(), goal, !compare.is_empty()), product).await
        }
        _ => {
            let confirm = Run::open(&folder)?.identity()?.map(|identity| identity.run);
            let arguments = rollback::Arguments { sides: sides.clone(), confirm, accept_losses: false, dry_run: false };
            rollback::run(arguments, product).await
        }
    }
}

fn report(steps: &[Step]) -> Report {
    let needs_review = steps.iter().any(|step| step.needs_review);
    let total: f64 = steps.iter().map(|step| step.seconds).sum();
    let mut text = format!("The rehearsal took {total:.0} s, and left nothing in the database and in the table.");
    for Step { command, seconds, needs_review, text: of_step } in steps {
        let mark = if *needs_review { ", to review" } else { "" };
        text.push_str(&format!("\n{command} ({seconds:.1} s{mark}): {}", of_step.replace('\n', "\n  ")));
    }
    let json: Value = json!({ "phase": "rehearse", "seconds": total, "steps": steps });
    Report::new(json, text, needs_review)
}
