//! `rollback`: returns to PostgreSQL alone, from any state of a run.
//!
//! It has three steps, each of which may be killed and run again. PostgreSQL becomes the owner of
//! every user, and receives the changes that it lacks. The cutover is removed from PostgreSQL. The
//! migration's items are removed from the table, unless another writer has changed them since.

mod remove;
mod way_back;

use std::sync::{Mutex, PoisonError};

use clap::Args;
use futures::future::try_join_all;
use serde_json::json;

use crate::command::Product;
use crate::cutover::run_state::{self, Stage};
use crate::cutover::stuck::StuckUsers;
use crate::cutover::{Phase, Plan, Side, Sides, SidesArguments, finished_runs};
use crate::load::{PROGRESS, check_table};
use crate::run::Run;
use crate::source::connect;
use crate::terminal::{Progress, ask};
use crate::{Failure, FailureKind, Report};
use remove::{Counts, Removal, RemovalPass};

/// The number of segments of the table that are read at once.
const SEGMENTS: i32 = 4;

/// The run, and both databases.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) sides: SidesArguments,
    /// Confirms the rollback: the run's id, which the error names. At a terminal the command asks
    /// for it.
    #[arg(long, value_name = "RUN")]
    pub(crate) confirm: Option<String>,
    /// After `finished --way-back`: opens PostgreSQL again although some items are not brought
    /// back.
    #[arg(long)]
    pub(crate) accept_losses: bool,
    /// Prints the steps without taking them; changes nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let run = Run::open(&arguments.sides.folder)?;
    let identity = run.identity()?.ok_or_else(|| {
        FailureKind::RunIncomplete
            .because("the folder has no run, so nothing is to be undone. If you expected a run, check --run")
    })?;
    check_table(&run, &arguments.sides.table.table)?;
    let client = connect(&arguments.sides.server).await?;
    let (postgres, database) = arguments.sides.postgres_of(client, product).await?;
    run_state::check_database(&identity, database.as_deref())?;
    if !arguments.dry_run {
        postgres.lock_cutover().await?;
    }
    let target = arguments.sides.mapping.read(product)?.target.clone();
    let plan = postgres.plan().await?;
    run_state::check_rollback_allowed(&run, plan.as_ref())?;
    if let Some(plan) = plan.as_ref().filter(|plan| plan.phase == Phase::Finished) {
        let sides = arguments.sides.sides(&run, product, postgres, plan).await?;
        return way_back::run(&run, &arguments, &sides, plan).await;
    }
    let table = arguments.sides.table.open().await;
    let is_capture = plan.as_ref().is_none_or(|plan| plan.phase == Phase::Capture);
    // The database and the folder may be older copies, so the table decides.
    let finished = match finished_runs(&table, &target).await {
        // Nobody has created the table yet.
        Err(failure) if is_capture && failure.detail.contains("ResourceNotFoundException") => None,
        finished => Some(finished?),
    };
    if finished.as_ref().is_some_and(|finished| finished.contains(&identity.run)) {
        let why = format!("the cutover {} is finished, and its items belong to the application", identity.run);
        return Err(FailureKind::Cutover.because(why));
    }
    let name = table.name();
    let what = format!("The rollback of the run {} removes its items from the table {name}.", identity.run);
    confirm(&arguments, &identity.run, &what)?;
    let (mut users, mut replicated) = (0, 0);
    if let Some(plan) = &plan {
        let sides = arguments.sides.sides(&run, product, postgres, plan).await?;
        if arguments.dry_run && finished.is_some() {
            users = sides.state(|_| Side::Postgres).await?.to_move;
        } else if finished.is_none() {
            if !arguments.dry_run {
                remove_capture(&sides, &run, plan).await?;
            }
        } else {
            (users, replicated) = move_everyone_back(&sides, &run, plan).await?;
        }
    }
    if !arguments.dry_run {
        // Before the first item goes, so that a load after this rollback does not skip it.
        run.remove(PROGRESS)?;
        run.remove_report("load")?;
        run.remove_report("check")?;
    }
    let counts = Mutex::<Counts>::default();
    let progress = Progress::new(0, "items");
    let removal =
        Removal { table: &table, target: &target, run: &identity.run, dry_run: arguments.dry_run, counts: &counts };
    // Removes the cutover's own items first. Then a writer that was suspended for a long time
    // cannot replicate an old change any more.
    for what in [RemovalPass::Cutover, RemovalPass::Items].into_iter().filter(|_| finished.is_some()) {
        progress.set_position(0);
        let cleared = (0..SEGMENTS).map(|segment| {
            let progress = &progress;
            removal.clear((segment, SEGMENTS), what, move |items| progress.inc(items))
        });
        try_join_all(cleared).await?;
    }
    let counts = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let report = report(&arguments, plan.is_some(), users, replicated, &counts);
    if !arguments.dry_run {
        run.write_report("rollback", &report)?;
    }
    Ok(report)
}

/// Refuses a rollback that the operator did not confirm with the run's id.
fn confirm(arguments: &Arguments, run: &str, what: &str) -> Result<(), Failure> {
    if arguments.dry_run {
        return Ok(());
    }
    let typed = arguments.confirm.clone().or_else(|| ask(&format!("{what} Type the run's id to go on:")));
    match typed {
        Some(typed) if typed == run => Ok(()),
        _ => Err(FailureKind::Options.because(format!("{what} Confirm it with --confirm {run}"))),
    }
}

/// Moves all users back, and removes the cutover from PostgreSQL.
async fn move_everyone_back(sides: &Sides, run: &Run, plan: &Plan) -> Result<(u64, u64), Failure> {
    // Writers move no more users to DynamoDB, and a `cutover` that still runs cannot begin another
    // phase.
    sides.postgres().set_phase(Phase::RollingBack, 0).await?;
    let stuck = StuckUsers::default();
    let users = sides.move_users(|_| Side::Postgres, &stuck).await?;
    // PostgreSQL needs all changes that it lacks. DynamoDB will not be read any more, so changes
    // that it lacks do not matter.
    let replicated = sides.replicate_all_to(Side::Postgres, &stuck).await?;
    // DynamoDB has the only copy of a change that PostgreSQL refuses.
    stuck.check()?;
    remove_capture(sides, run, plan).await?;
    Ok((users, replicated))
}

async fn remove_capture(sides: &Sides, run: &Run, plan: &Plan) -> Result<(), Failure> {
    run_state::record_stage(run, &plan.run, Stage::RolledBack)?;
    sides.postgres().uninstall().await
}

fn report(arguments: &Arguments, was_in_cutover: bool, users: u64, replicated: u64, counts: &Counts) -> Report {
    let Counts { removed, changed, own, cutover_items, named } = counts;
    let is = if arguments.dry_run { "would be" } else { "are" };
    let json = json!({
        "phase": "rollback", "dryRun": arguments.dry_run, "wasInCutover": was_in_cutover, "usersMoved": users, "changesReplicated": replicated,
        "itemsRemoved": removed, "cutoverItems": cutover_items, "itemsChangedSince": changed, "itemsOfOthers": own, "changedSince": named,
    });
    let mut text = format!(
        "{users} users {is} back in PostgreSQL, which received {replicated} changes. {removed} items of the migration {is} removed."
    );
    if *changed > 0 {
        text.push_str(&format!(
            " {changed} items that were changed since are kept, the first of them {}.",
            named.join(", ")
        ));
    }
    Report::new(json, text, *changed > 0)
}
