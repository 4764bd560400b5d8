//! `adopt`: restores a lost folder from the database, so that `cutover`, `repair` and
//! `rollback` can go on.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use crate::arguments::MappingFile;
use crate::command::Product;
use crate::cutover::run_state::{self, Stage};
use crate::cutover::{Dynamo, Phase, Postgres, check_same_history};
use crate::export::MANIFEST;
use crate::mapping::World;
use crate::run::{IDENTITY, Run, RunFolderArgument, RunIdentity, report_file};
use crate::source::{Server, connect, database_identity};
use crate::transform::ITEMS;
use crate::{Failure, FailureKind, PhaseOutcome, Report, TargetTable};

/// The files of which the database keeps a copy. They hold the run's options and the digests of its
/// larger files, and no data of a person.
const COPIED: [&str; 3] = [IDENTITY, MANIFEST, ITEMS];

/// The folder, and both databases.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    table: TargetTable,
    #[command(flatten)]
    mapping: MappingFile,
    /// Adopts the run although the database has another identifier than when the run began, for
    /// example after an upgrade of the server.
    #[arg(long)]
    accept_database: bool,
}

/// Copies the folder's small files into the database.
///
/// # Errors
/// `run-folder`, and if PostgreSQL does not answer.
pub(crate) async fn store_copies(run: &Run, postgres: &Postgres) -> Result<(), Failure> {
    postgres.store_files(&copies(run)?).await
}

/// The folder's small files.
pub(crate) fn copies(run: &Run) -> Result<BTreeMap<String, String>, Failure> {
    let mut files = BTreeMap::new();
    for name in COPIED {
        let file: Option<serde_json::Value> = run.read(name)?;
        files.extend(file.map(|file| (name.to_owned(), file.to_string())));
    }
    Ok(files)
}

/// The command.
pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let run = Run::open(&arguments.folder)?;
    if let Some(identity) = run.identity()? {
        let why = format!("the folder has the run {}; give an empty folder", identity.run);
        return Err(FailureKind::RunExists.because(why));
    }
    let client = connect(&arguments.server).await?;
    let database = database_identity(&client).await?;
    let mapping = arguments.mapping.read(product)?;
    let postgres = Postgres::open(client, &arguments.server.schema, &mapping).await?;
    let plan = postgres.plan().await?.ok_or_else(|| {
        FailureKind::Cutover.because("the database is in no cutover, so there is no run that could be adopted")
    })?;
    let mut files = postgres.files().await?;
    let changed = |error| FailureKind::RunChanged.because(format!("the copy of {IDENTITY} in the database: {error}"));
    let identity = files.remove(IDENTITY).map(|file| serde_json::from_str::<RunIdentity>(&file).map_err(changed));
    let mut identity = identity.transpose()?.filter(|identity| identity.run == plan.run).ok_or_else(|| {
        FailureKind::Cutover.because(format!("the database has no copy of the folder of the run {}", plan.run))
    })?;
    if arguments.accept_database {
        identity.database = database;
    } else {
        run_state::check_database(&identity, database.as_deref())?;
    }
    let dynamo = Dynamo::new(arguments.table.open().await, &World::of_items(Arc::clone(&mapping), product)?, &plan.run);
    if plan.phase > Phase::Capture {
        if !dynamo.has_run().await? {
            let table = &arguments.table.table;
            let why = format!("the table {table} has nothing of the cutover {}: is it another table?", plan.run);
            return Err(FailureKind::Cutover.because(why));
        }
        if !dynamo.is_finished().await? {
            check_same_history(&mapping, &postgres, &dynamo).await?;
        }
    }
    // Before dual, the rows have to be exported again, because their files are lost.
    let (stage, is_loaded) = match plan.phase {
        Phase::Capture => (Stage::Capture, false),
        _ => (Stage::DualWrites, true),
    };
    run_state::record_stage(&run, &plan.run, stage)?;
    if is_loaded {
        for (name, file) in &files {
            let file: serde_json::Value = serde_json::from_str(file)
                .map_err(|error| FailureKind::RunChanged.because(format!("the copy of {name}: {error}")))?;
            run.write(name, &file)?;
        }
        run.write(&report_file("load"), &json!({ "phase": "load", "adopted": true }))?;
    }
    // The last file: without it the folder has no run yet.
    run.write(IDENTITY, &identity)?;
    let next = if is_loaded {
        "`cutover`, `repair` and `rollback` go on; the rows and items of the export are lost."
    } else {
        "Next: `export`, `transform` and `load --into-existing`, or `rollback`."
    };
    let text = format!("The folder has the run {} again, in the phase {}. {next}", plan.run, plan.phase);
    let json = json!({ "phase": "adopt", "run": plan.run, "cutover": plan.phase.as_str(), "percent": plan.percent });
    let report = Report { outcome: PhaseOutcome::Done, json, text };
    run.write_report("adopt", &report)?;
    Ok(report)
}
