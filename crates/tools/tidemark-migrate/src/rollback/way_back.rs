//! `rollback` of a finished cutover, within the time that `finished --way-back` has given.

use serde_json::json;

use super::{Arguments, confirm};
use crate::cutover::run_state::{self, Stage};
use crate::cutover::{NOT_RETURNED, Plan, Sides};
use crate::run::Run;
use crate::{Failure, FailureKind, Report};

/// Brings PostgreSQL's rows to the state of the items, and opens PostgreSQL again if nothing is
/// left.
pub(super) async fn run(run: &Run, arguments: &Arguments, sides: &Sides, plan: &Plan) -> Result<Report, Failure> {
    match sides.postgres().way_back_until().await? {
        Some((_, false)) => {}
        Some((until, true)) => {
            return Err(
                FailureKind::Cutover.because(format!("the cutover is finished, and its way back ended at {until}"))
            );
        }
        None => {
            let why = "the cutover is finished without a way back, and PostgreSQL has received no changes since";
            return Err(FailureKind::Cutover.because(why));
        }
    }
    let what = "The rollback makes PostgreSQL's rows from the items. Stop the new application first.";
    confirm(arguments, &plan.run, what)?;
    let returned = sides.return_all(run, arguments.dry_run).await?;
    let is_complete = returned.not_returned == 0 || arguments.accept_losses;
    let is_open = is_complete && !arguments.dry_run;
    if is_open {
        run_state::record_stage(run, &plan.run, Stage::Returned)?;
        sides.reopen().await?;
    }
    let would = if arguments.dry_run { "would be" } else { "were" };
    let mut text = format!(
        "{} rows of {} owners {would} written or deleted; {} owners are new.",
        returned.rows, returned.owners, returned.new_owners
    );
    if returned.not_returned > 0 {
        text.push_str(&format!(
            " {} items are not brought back, or not completely: {NOT_RETURNED} names each.",
            returned.not_returned
        ));
    }
    text.push_str(match (is_open, arguments.dry_run) {
        (true, _) => " PostgreSQL takes writes again. The items stay in the table.",
        (false, true) => "",
        (false, false) => " PostgreSQL stays closed: correct the causes and try again, or give --accept-losses.",
    });
    let json = json!({ "phase": "rollback", "dryRun": arguments.dry_run, "wayBack": returned, "isOpen": is_open });
    let report = Report::new(json, text, returned.not_returned > 0);
    if !arguments.dry_run {
        run.write_report("rollback", &report)?;
    }
    Ok(report)
}
