//! The begin of a cutover.

use serde_json::json;

use super::{Arguments, report};
use crate::cutover::Postgres;
use crate::cutover::plan::{Goal, Phase};
use crate::cutover::run_state::{self, Stage};
use crate::export::MANIFEST;
use crate::run::Run;
use crate::{Failure, FailureKind, Report};

/// Starts a cutover: PostgreSQL records changes from now on.
pub(super) async fn begin(
    run: &Run,
    arguments: &Arguments,
    postgres: Postgres,
    goal: Goal,
    database: Option<String>,
) -> Result<Report, Failure> {
    if goal.phase != Phase::Capture {
        return Err(FailureKind::Cutover.because(format!("a cutover starts with capture, not with {goal}")));
    }
    if run.path(MANIFEST).exists() {
        let why = "the run already has an export, and changes since then were not captured: start a new run with `cutover --to capture`";
        return Err(FailureKind::Cutover.because(why));
    }
    postgres.preflight(arguments.application_role.as_deref()).await?;
    // A new id, even if a cutover of this folder was rolled back: its writers may still be running.
    let id = run.begin(database)?.run;
    run_state::record_stage(run, &id, Stage::Capture)?;
    postgres.install(&id).await?;
    if let Some(role) = &arguments.application_role {
        postgres.grant(role).await?;
    }
    let text =
        format!("Cutover {id}: PostgreSQL records changes from now on. Next: export, transform, load and check.");
    let report = report("capture", &json!({ "phase": "capture", "run": id }), text);
    run.write_report("cutover", &report)?;
    Ok(report)
}
