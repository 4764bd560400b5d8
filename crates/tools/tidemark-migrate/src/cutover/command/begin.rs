//! The begin of a cutover.

use serde_json::json;

use super::{Arguments, report};
use crate::adopt::copies;
use crate::cutover::Postgres;
use crate::cutover::plan::{CaptureMode, Goal, Phase};
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
    if arguments.first.is_some() {
        return Err(
            FailureKind::Options.because("--first names users of a cutover that has begun: give it from dual on")
        );
    }
    let mode = arguments.capture.unwrap_or_default();
    if arguments.dry_run {
        let what = match mode {
            CaptureMode::Triggers => " and its triggers",
            CaptureMode::Logical => ", a publication and a replication slot",
        };
        let text = format!("Would create the schema tidemark_migration{what}.");
        return Ok(report("capture", &json!({ "dryRun": true }), text));
    }
    postgres.preflight(mode).await?;
    postgres.remove_unfinished().await?;
    // A new id, even if a cutover of this folder was rolled back: its writers may still be running.
    let id = run.begin(database)?.run;
    run_state::record_stage(run, &id, Stage::Capture)?;
    match mode {
        CaptureMode::Triggers => postgres.install(&id, &copies(run)?).await?,
        CaptureMode::Logical => postgres.install_logical(&id, &copies(run)?).await?,
    }
    if let Some(role) = &arguments.application_role {
        postgres.grant(role).await?;
    }
    let text =
        format!("Cutover {id}: PostgreSQL records changes from now on. Next: export, transform, load and check.");
    let slot = postgres.slot_state().await?;
    let report = report("capture", &json!({ "phase": "capture", "run": id, "slot": slot }), text);
    run.write_report("cutover", &report)?;
    Ok(report)
}

/// Refuses another way of capture than the cutover began with.
pub(super) fn check_mode(mode: Option<CaptureMode>, goal: Goal, has_slot: bool) -> Result<(), Failure> {
    match mode {
        Some(_) if goal.phase != Phase::Capture => {
            Err(FailureKind::Options.because("--capture belongs to `--to capture`"))
        }
        Some(mode) if (mode == CaptureMode::Logical) != has_slot => {
            Err(FailureKind::Options.because("the cutover has begun with the other way of capture; `rollback` ends it"))
        }
        _ => Ok(()),
    }
}
