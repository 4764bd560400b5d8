//! What a run's folder knows of its cutover. The database has the plan; but there may be several
//! databases and several folders.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use crate::run::Run;
use crate::{Failure, FailureKind};

const FILE: &str = "cutover.json";

/// How far the folder has seen its cutover go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// PostgreSQL notes what changes.
    Capture,
    /// Both sides are told.
    DualWrites,
    /// Everybody is back in PostgreSQL, and it may forget the cutover.
    RolledBack,
}

#[derive(Debug, Serialize, Deserialize)]
struct StartedCutover {
    run: String,
    stage: Stage,
}

/// Notes a stage before it begins.
pub(crate) fn record_stage(run: &Run, id: &str, stage: Stage) -> Result<(), Failure> {
    run.write(FILE, &StartedCutover { run: id.to_owned(), stage })
}

/// Checks a phase that makes or loads items again: after the cutover was opened, it would bring
/// deleted rows back.
pub(crate) fn check_not_dual(run: &Run) -> Result<(), Failure> {
    match run.read::<StartedCutover>(FILE)? {
        Some(StartedCutover { stage: Stage::DualWrites, .. }) => Err(FailureKind::Cutover.because(
            "the cutover of this run has gone on to dual: what was loaded stays as it is; `rollback` leads back",
        )),
        _ => Ok(()),
    }
}

/// Before the cutover goes on: that the folder has begun the cutover that the database is in.
pub(super) fn check_same_run(run: &Run, plan: &Plan) -> Result<(), Failure> {
    match run.read::<StartedCutover>(FILE)? {
        Some(begun) if begun.run == plan.run => Ok(()),
        Some(begun) => Err(another(&begun.run, &plan.run)),
        None => Err(FailureKind::Cutover
            .because(format!("the database is in the cutover {}, which this run has not begun", plan.run))),
    }
}

/// Before anything is taken out of the table: that the database is the one whose users are in it.
pub(crate) fn check_rollback_allowed(run: &Run, plan: Option<&Plan>) -> Result<(), Failure> {
    match (run.read::<StartedCutover>(FILE)?, plan) {
        (Some(begun), Some(plan)) if begun.run != plan.run => Err(another(&begun.run, &plan.run)),
        (Some(StartedCutover { run: id, stage }), None) if stage != Stage::RolledBack => Err(FailureKind::Cutover
            .because(format!(
                "the database knows nothing of the cutover {id} of this run: is it another one, or a copy from before? \
             If nothing was ever led over to DynamoDB, remove {} and try again",
                run.path(FILE).display()
            ))),
        _ => Ok(()),
    }
}

fn another(of_run: &str, of_database: &str) -> Failure {
    FailureKind::Cutover
        .because(format!("this run has begun the cutover {of_run}, and the database is in the cutover {of_database}"))
}
