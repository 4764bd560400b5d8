//! What a run's folder knows of its shift. The database has the plan; but there may be several databases and several folders.

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use crate::run::Run;
use crate::{Failure, Kind};

const FILE: &str = "shift.json";

/// How far the folder has seen its shift go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Stage {
    /// PostgreSQL notes what changes.
    Capture,
    /// Both sides are told.
    Open,
    /// Everybody is back in PostgreSQL, and it may forget the shift.
    Home,
}

#[derive(Debug, Serialize, Deserialize)]
struct Begun {
    run: String,
    stage: Stage,
}

/// Notes a stage before it begins.
pub(crate) fn note(run: &Run, id: &str, stage: Stage) -> Result<(), Failure> {
    run.write(FILE, &Begun { run: id.to_owned(), stage })
}

/// Before a phase that makes or loads items anew: what has been deleted since the shift was opened would come back to life.
pub(crate) fn is_not_open(run: &Run) -> Result<(), Failure> {
    match run.read::<Begun>(FILE)? {
        Some(Begun { stage: Stage::Open, .. }) => Err(Kind::Shift.because(
            "the shift of this run has gone on to dual: what was loaded stays as it is; `rollback` leads back",
        )),
        _ => Ok(()),
    }
}

/// Before the shift goes on: that the folder has begun the shift that the database is in.
pub(super) fn is_of(run: &Run, plan: &Plan) -> Result<(), Failure> {
    match run.read::<Begun>(FILE)? {
        Some(begun) if begun.run == plan.run => Ok(()),
        Some(begun) => Err(another(&begun.run, &plan.run)),
        None => {
            Err(Kind::Shift.because(format!("the database is in the shift {}, which this run has not begun", plan.run)))
        }
    }
}

/// Before anything is taken out of the table: that the database is the one whose users are in it.
pub(crate) fn may_roll_back(run: &Run, plan: Option<&Plan>) -> Result<(), Failure> {
    match (run.read::<Begun>(FILE)?, plan) {
        (Some(begun), Some(plan)) if begun.run != plan.run => Err(another(&begun.run, &plan.run)),
        (Some(Begun { run: id, stage }), None) if stage != Stage::Home => Err(Kind::Shift.because(format!(
            "the database knows nothing of the shift {id} of this run: is it another one, or a copy from before? \
             If nothing was ever led over to DynamoDB, remove {} and try again",
            run.path(FILE).display()
        ))),
        _ => Ok(()),
    }
}

fn another(of_run: &str, of_database: &str) -> Failure {
    Kind::Shift
        .because(format!("this run has begun the shift {of_run}, and the database is in the shift {of_database}"))
}
