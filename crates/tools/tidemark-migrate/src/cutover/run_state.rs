//! The state of the cutover in a run's folder. The database has the plan, but there may be several
//! databases and several folders.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use crate::run::{Run, RunIdentity};
use crate::{Failure, FailureKind};

const FILE: &str = "cutover.json";

/// How far the folder's cutover has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// PostgreSQL records changes.
    Capture,
    /// Changes are replicated to both sides.
    DualWrites,
    /// All users are back in PostgreSQL, and the cutover may be removed from it.
    RolledBack,
    /// The rows have been made from the items of a finished cutover.
    Returned,
}

#[derive(Debug, Serialize, Deserialize)]
struct StartedCutover {
    run: String,
    stage: Stage,
}

/// Records a stage before it begins.
pub(crate) fn record_stage(run: &Run, id: &str, stage: Stage) -> Result<(), Failure> {
    run.write(FILE, &StartedCutover { run: id.to_owned(), stage })
}

/// The id of the cutover that this run has started, unless it was rolled back.
pub(crate) fn started(run: &Run) -> Result<Option<String>, Failure> {
    let begun = run.read::<StartedCutover>(FILE)?;
    Ok(begun.filter(|begun| !matches!(begun.stage, Stage::RolledBack | Stage::Returned)).map(|begun| begun.run))
}

/// Refuses a phase that makes or loads items again after dual writes have started: it would restore
/// items that were deleted since.
pub(crate) fn check_not_dual(run: &Run) -> Result<(), Failure> {
    if is_dual(run)? {
        return Err(FailureKind::Cutover.because(
            "the cutover of this run has reached dual, so its items must not be made or loaded again; `rollback` undoes the cutover",
        ));
    }
    Ok(())
}

/// Whether changes since the export may be in the table.
pub(crate) fn is_dual(run: &Run) -> Result<bool, Failure> {
    Ok(run.read::<StartedCutover>(FILE)?.is_some_and(|started| started.stage == Stage::DualWrites))
}

/// Refuses to continue the cutover of another run: the folder must have started the database's
/// cutover.
pub(crate) fn check_same_run(run: &Run, plan: &Plan) -> Result<(), Failure> {
    match run.read::<StartedCutover>(FILE)? {
        Some(begun) if begun.run == plan.run => Ok(()),
        Some(begun) => Err(another(&begun.run, &plan.run)),
        None => Err(FailureKind::Cutover
            .because(format!("the database is in the cutover {}, which this run did not start", plan.run))),
    }
}

/// Refuses another database than the one on which the run began.
pub(crate) fn check_database(identity: &RunIdentity, found: Option<&str>) -> Result<(), Failure> {
    match (identity.database.as_deref(), found) {
        (Some(begun), Some(found)) if begun != found => Err(FailureKind::Cutover.because(format!(
            "this is the wrong database: the run {} began on {begun}, and this is {found}. If it is the same one after an \
             upgrade of the server, change `database` in run.json",
            identity.run
        ))),
        _ => Ok(()),
    }
}

/// Refuses to remove items from the table unless the database is the one whose users are in the
/// table.
pub(crate) fn check_rollback_allowed(run: &Run, plan: Option<&Plan>) -> Result<(), Failure> {
    match (run.read::<StartedCutover>(FILE)?, plan) {
        (None, Some(plan)) => Err(FailureKind::Cutover
            .because(format!("the database is in the cutover {}, which this run did not start", plan.run))),
        (Some(begun), Some(plan)) if begun.run != plan.run => Err(another(&begun.run, &plan.run)),
        (Some(StartedCutover { stage: Stage::Returned, .. }), None) => Err(FailureKind::Cutover.because(
            "the run is back in PostgreSQL, and its items stay in the table; delete the table when nobody needs it",
        )),
        (Some(StartedCutover { run: id, stage }), None) if stage != Stage::RolledBack => Err(FailureKind::Cutover
            .because(format!(
                "the database has no cutover {id}, which this run started: is it another database, or an older copy? \
             If no user was ever moved to DynamoDB, remove {} and try again",
                run.path(FILE).display()
            ))),
        _ => Ok(()),
    }
}

fn another(of_run: &str, of_database: &str) -> Failure {
    FailureKind::Cutover
        .because(format!("this run started the cutover {of_run}, but the database is in the cutover {of_database}"))
}
