//! `repair`: lets a stuck user go on.

use clap::Args;
use serde_json::json;

use crate::arguments::MappingArguments;
use crate::command::Product;
use crate::cutover::outbox_entry::OutboxEntry;
use crate::cutover::{Postgres, Side, run_state};
use crate::row::Row;
use crate::run::{Run, RunFolderArgument};
use crate::source::{Server, connect};
use crate::{Failure, FailureKind, PhaseOutcome, Report, TargetTable};

/// The name of the file with the changes that were set aside.
const SET_ASIDE: &str = "set-aside.jsonl";

/// The run, both databases, and the user.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    table: TargetTable,
    #[command(flatten)]
    mapping: MappingArguments,
    /// The id of the user.
    #[arg(long, value_name = "ID")]
    user: String,
    /// Moves each refused change to set-aside.jsonl in the run's folder, and goes on with the next.
    /// Without it, the changes are only tried again.
    #[arg(long)]
    set_aside: bool,
}

/// The command.
pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let run = Run::open(&arguments.folder)?;
    let client = connect(&arguments.server).await?;
    let postgres = Postgres::open(client, &arguments.server.schema, &arguments.mapping.read(product)?).await?;
    let plan = postgres.plan().await?;
    let plan = plan.ok_or_else(|| FailureKind::Cutover.because("the database is in no cutover"))?;
    run_state::check_same_run(&run, &plan)?;
    let sides = crate::cutover::sides(&run, &arguments.table, (&arguments.mapping, product), postgres, &plan).await?;
    let user = &arguments.user;
    let (mut set_aside, mut replicated) = (0_u64, 0);
    loop {
        match sides.replicate(user).await {
            Ok(further) => {
                replicated += further;
                break;
            }
            Err(failure) if failure.kind == FailureKind::UserStuck && arguments.set_aside => {
                let Some((to, entry)) = sides.first_pending(user).await? else { continue };
                // The file has the change before the databases lose it.
                run.append(SET_ASIDE, &line(to, &entry, &failure)?)?;
                sides.skip(to, &entry).await?;
                set_aside += 1;
            }
            Err(failure) => return Err(failure),
        }
    }
    let text = format!("{replicated} changes of user {user} were replicated, and {set_aside} are in {SET_ASIDE}.");
    let json = json!({ "phase": "repair", "user": user, "replicated": replicated, "setAside": set_aside });
    let outcome = if set_aside > 0 { PhaseOutcome::NeedsReview } else { PhaseOutcome::Done };
    let report = Report { outcome, json, text };
    run.write_report("repair", &report)?;
    Ok(report)
}

fn line(to: Side, entry: &OutboxEntry, failure: &Failure) -> Result<serde_json::Value, Failure> {
    let json = |row: &Option<Row>| {
        let json = row.as_ref().map(Row::json).transpose();
        let json = json.and_then(|json| json.map(serde_json::value::RawValue::from_string).transpose());
        json.map_err(|error| FailureKind::RunFolder.because(error))
    };
    Ok(json!({
        "user": entry.user, "version": entry.version, "refusedBy": to, "table": entry.table.name, "why": failure.detail,
        "before": json(&entry.before)?, "after": json(&entry.after)?,
    }))
}
