//! `cutover`: one phase after the other; each may be killed and run again.

mod begin;
mod compare;

use std::pin::pin;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::{Value, json};

use super::SidesArguments;
use super::not_migrated::LEFT_OUT;
use super::ownership::{Side, bucket};
use super::passes::{CutoverStatus, Sample};
use super::plan::{Goal, Phase, Plan};
use super::postgres::Postgres;
use super::run_state::{self, Stage};
use super::sides::Sides;
use super::stuck::StuckUsers;
use crate::command::Product;
use crate::run::Run;
use crate::terminal::tell;
use crate::transform::ITEMS;
use crate::{Failure, FailureKind, PhaseOutcome, Report};
use compare::{compare, compare_before_finished};

/// The name of the file with each difference.
pub(crate) const DIFFERENCES: &str = "differences-cutover.jsonl";

/// The shortest and the longest time that `--follow` waits between two passes.
const REST: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];

/// The passes of `--follow` that DynamoDB may refuse one after the other.
const REFUSED_PASSES_MAX: u32 = 10;

/// How often `finished` looks for a moment without pending changes.
const FINISH_TRIES: u32 = 5;

/// The number of differences in the report.
const SHOWN_MAX: usize = 20;

/// The run, both databases, and the phase.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    sides: SidesArguments,
    /// The phase to go to: capture (before the export), dual (after load and check), 1% to 100%,
    /// finished. Without it, prints the current state. A lower percentage moves users back.
    /// The same phase again continues where it was stopped, and replicates the pending changes.
    #[arg(long, value_name = "PHASE")]
    to: Option<Goal>,
    /// The application's role in PostgreSQL, if it is not the tool's own: it gets the rights to
    /// write and read during the cutover.
    #[arg(long, value_name = "ROLE")]
    application_role: Option<String>,
    /// Also compares all users' items with PostgreSQL's rows afterwards, or those of so many percent
    /// of the users, of others each time.
    #[arg(long, requires = "to", value_name = "PERCENT")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "100")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=100))]
    compare: Option<u8>,
    /// Finishes although items differ from PostgreSQL's rows.
    #[arg(long, requires = "to")]
    accept_differences: bool,
    /// With `--to finished`: for so many days, `rollback` can still return. It then makes
    /// PostgreSQL's rows from the items that the new application has written. The same command
    /// again gives other days.
    #[arg(long, requires = "to", value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
    way_back: Option<u16>,
    /// With `--to dual` and the percentages: replicates what other programs change from then on,
    /// until Ctrl-C.
    #[arg(long, requires = "to")]
    follow: bool,
}

impl Arguments {
    /// Goes to a phase, and perhaps compares all items then.
    pub(crate) fn to(sides: SidesArguments, goal: Goal, is_compared: bool) -> Self {
        let (application_role, way_back) = (None, None);
        let (accept_differences, follow, compare) = (false, false, is_compared.then_some(100));
        Self { sides, to: Some(goal), application_role, compare, accept_differences, way_back, follow }
    }
}

pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let run = Run::open(&arguments.sides.folder)?;
    let (postgres, database) = arguments.sides.postgres(product).await?;
    let Some(goal) = arguments.to else {
        return match postgres.plan().await? {
            None => Ok(report("none", &json!({ "phase": null }), "No cutover has started.".to_owned())),
            Some(plan) => {
                let sides = arguments.sides.sides(&run, product, postgres, &plan).await?;
                let state = sides.current_state(&plan).await?;
                Ok(state_report(&plan, &state, json!({})))
            }
        };
    };
    if let Some(identity) = run.identity()? {
        run_state::check_database(&identity, database.as_deref())?;
    }
    postgres.lock_cutover().await?;
    let Some(plan) = postgres.plan().await? else {
        return begin::begin(&run, &arguments, postgres, goal, database).await;
    };
    run_state::check_same_run(&run, &plan)?;
    check_transition(&run, &plan, goal)?;
    if arguments.way_back.is_some() {
        check_way_back(goal, &postgres)?;
    }
    let sides = arguments.sides.sides(&run, product, postgres, &plan).await?;
    let aim = Plan { phase: goal.phase, percent: goal.percent, ..plan.clone() };
    let target = target_side(&aim);
    // Before the next phase, in which sidecars need the options of the transformation.
    if let Some(items) = run.read::<Value>(ITEMS)? {
        sides.postgres.store_items(&items.to_string()).await?;
    }
    if let Some(role) = &arguments.application_role {
        sides.postgres.grant(role).await?;
    }
    let start = Instant::now();
    let (mut moved, mut replicated) = (0, 0);
    let mut compared = None;
    let stuck = StuckUsers::default();
    // A second `finished` only removes what an interrupted one has left.
    let is_over = sides.dynamo.is_finished().await?;
    if goal.phase > Phase::Capture && !is_over {
        sides.record_left_out(&run)?;
        // The phase becomes `finished` only when everybody is moved, so an interrupted command can
        // still go back.
        let shown = if goal.phase == Phase::Finished { Phase::Percent } else { goal.phase };
        run_state::record_stage(&run, &plan.run, Stage::DualWrites)?;
        if plan.phase == Phase::Capture {
            sides.wait_for_lost_keys(&run).await?;
        }
        sides.dynamo.enable_replication().await?;
        sides.postgres.set_phase(shown, goal.percent).await?;
        replicated += sides.replicate_all(&stuck).await?;
        moved += sides.move_users(target, &stuck).await?;
        if goal.phase == Phase::Finished {
            stuck.check()?;
            compared = Some(compare_before_finished(&run, &sides, &arguments).await?);
            // From here on PostgreSQL refuses unknown users. The users who came before are moved in
            // the last pass.
            sides.postgres.set_phase(Phase::Finished, 100).await?;
            moved += sides.move_users(target, &stuck).await?;
        }
        replicated += sides.replicate_all(&stuck).await?;
    }
    if arguments.follow && matches!(goal.phase, Phase::Dual | Phase::Percent) {
        replicated += follow(&sides, &stuck).await?;
    }
    let plan = sides.postgres.plan().await?.unwrap_or(plan);
    let mut is_clean = true;
    if goal.phase == Phase::Finished {
        if let Some(days) = arguments.way_back {
            sides.postgres.allow_way_back(days).await?;
        }
        // A write of a busy application is pending for a moment.
        for _ in 0..FINISH_TRIES {
            is_clean = sides.finish().await?;
            if is_clean {
                break;
            }
            replicated += sides.replicate_all(&stuck).await?;
        }
    }
    let mut more = json!({ "moved": moved, "replicated": replicated, "seconds": start.elapsed().as_secs_f64(), "stuck": stuck.list() });
    if let Some(percent) = arguments.compare.filter(|_| compared.is_none() && !is_over) {
        let sample = Sample { percent, seed: jiff::Timestamp::now().as_second() };
        compared = Some(compare(&run, &sides, sample).await?.0);
    }
    if let Some((until, _)) = sides.postgres.way_back_until().await? {
        more["wayBackUntil"] = json!(until);
    }
    if let Some(compared) = compared {
        more["compared"] = compared;
    }
    let mut is_decided = true;
    if goal.phase > Phase::Capture && !is_over {
        (more["leftOut"], is_decided) = sides.left_out.write(&run).map(|(counts, all)| (json!(counts), all))?;
    }
    let mut report = state_report(&plan, &sides.current_state(&plan).await?, more);
    if !is_decided {
        report.outcome = PhaseOutcome::NeedsReview;
    }
    if !is_clean {
        report.outcome = PhaseOutcome::NeedsReview;
        report.text.push_str(
            " It is not finished yet, because a change or a move was under way. Stop the old application, and run the \
             same command again.",
        );
    }
    if let Some(text) = stuck.text() {
        report.outcome = PhaseOutcome::NeedsReview;
        report.text.push_str(&format!(" {text}"));
    }
    run.write_report("cutover", &report)?;
    Ok(report)
}

/// Replicates pending changes again and again. Ctrl-C ends it when a pass has ended. It waits as
/// long as the pass before took, so it slows down with both databases, and longer while DynamoDB is
/// too busy to answer.
async fn follow(sides: &Sides, stuck: &StuckUsers) -> Result<u64, Failure> {
    let (mut stop, mut all) = (pin!(tokio::signal::ctrl_c()), 0);
    let (mut took, mut refused) = (Duration::ZERO, 0);
    tell("Replicating changes until Ctrl-C.");
    loop {
        tokio::select! {
            _ = &mut stop => return Ok(all),
            () = tokio::time::sleep(rest(took, refused)) => {}
        }
        let start = Instant::now();
        match sides.replicate_all(stuck).await {
            Ok(replicated) => {
                refused = 0;
                all += replicated;
                if replicated > 0 {
                    tell(&format!("{all} changes are replicated."));
                }
            }
            Err(error) if error.kind == FailureKind::TableUnreachable && refused < REFUSED_PASSES_MAX => {
                refused += 1;
                tell(&format!("{error}. The next attempt is in {} s.", rest(took, refused).as_secs()));
            }
            Err(error) => return Err(error),
        }
        took = start.elapsed();
    }
}

/// How long to wait after a pass that took so long, and after so many refused passes.
fn rest(took: Duration, refused: u32) -> Duration {
    let [min, max] = REST;
    took.max(min).saturating_mul(1 << refused.min(6)).min(max)
}

/// The side on which the plan wants a user.
pub(super) fn target_side(plan: &Plan) -> impl Fn(&str) -> Side + Copy + use<> {
    let percent = match plan.phase {
        Phase::Percent => plan.percent,
        Phase::Finished => 100,
        Phase::Capture | Phase::Dual | Phase::RollingBack => 0,
    };
    move |user| if bucket(user) < percent { Side::Dynamo } else { Side::Postgres }
}

/// Refuses a step from one phase to another that is not allowed.
fn check_transition(run: &Run, plan: &Plan, goal: Goal) -> Result<(), Failure> {
    let refuse = |why: String| Err(FailureKind::Cutover.because(why));
    match (plan.phase, goal.phase) {
        (Phase::Finished, Phase::Finished) => {}
        (Phase::Finished, _) => return refuse("the cutover is finished".to_owned()),
        (Phase::RollingBack, _) => {
            return refuse("the cutover is being rolled back; `rollback` continues it".to_owned());
        }
        (Phase::Capture, Phase::Capture) => {}
        (_, Phase::Capture) => return refuse(format!("the cutover has already reached {}", plan.phase)),
        // A change that is replicated before the load of its earlier state would be overwritten by
        // the load, or a deleted item would be restored.
        (Phase::Capture, Phase::Dual) if !run.has_report("load") => {
            return Err(
                FailureKind::RunIncomplete.because("the run is not loaded: run `export`, `transform` and `load` first")
            );
        }
        (Phase::Capture, Phase::Dual) => {}
        (Phase::Capture, _) => return refuse(format!("go to dual before {goal}")),
        (Phase::Dual, Phase::Finished) => return refuse("go to 100% before finished".to_owned()),
        (Phase::Percent, Phase::Finished) if plan.percent < 100 => {
            return refuse("go to 100% before finished".to_owned());
        }
        _ => {}
    }
    Ok(())
}

/// Refuses a way back that could not find the items again.
fn check_way_back(goal: Goal, postgres: &Postgres) -> Result<(), Failure> {
    if goal.phase != Phase::Finished {
        return Err(FailureKind::Options.because("--way-back belongs to `--to finished`"));
    }
    let owners = postgres.schema().mapping.owners.iter();
    let lost: Vec<_> = owners.filter(|owner| owner.partitions.is_empty()).map(|owner| &*owner.name).collect();
    match lost.as_slice() {
        [] => Ok(()),
        lost => Err(FailureKind::Options.because(format!(
            "--way-back needs the partitions of each owner's items, and the mapping has none for {}",
            lost.join(", ")
        ))),
    }
}

fn report(phase: &str, json: &Value, text: String) -> Report {
    let mut all = json!({ "phase": phase });
    if let (Value::Object(all), Value::Object(more)) = (&mut all, json) {
        all.extend(more.clone());
    }
    Report { outcome: PhaseOutcome::Done, json: all, text }
}

fn state_report(plan: &Plan, state: &CutoverStatus, more: Value) -> Report {
    let Plan { run, phase, percent } = plan;
    let CutoverStatus { in_postgres, in_dynamo, between, to_move, pending } = state;
    let mut text = format!(
        "Cutover {run}: {phase}, {percent}%. PostgreSQL owns {in_postgres} users, DynamoDB {in_dynamo}, {between} are between the two; \
         {to_move} are to move, and {pending} changes are not replicated yet."
    );
    let differences = more["compared"]["differences"].as_u64().unwrap_or_default();
    if let Some(users) = more["compared"]["users"].as_u64() {
        text.push_str(&format!(" {users} users were compared, and {differences} items differ."));
        match more["compared"]["late"].as_u64().unwrap_or_default() {
            0 => {}
            late => text.push_str(&format!(" {late} users were written meanwhile and not compared.")),
        }
        for first in more["compared"]["first"].as_array().into_iter().flatten() {
            let words = ["what", "kind", "partition", "sort", "table", "id", "reason"].map(|name| first[name].as_str());
            text.push_str(&format!("\n  {}", words.into_iter().flatten().collect::<Vec<_>>().join(" ")));
        }
        if differences > 0 {
            text.push_str(&format!("\nAll differences are in {DIFFERENCES}."));
        }
    }
    if let Some(until) = more["wayBackUntil"].as_str() {
        text.push_str(&format!(" `rollback` returns until {until}."));
    }
    for (table, reasons) in more["leftOut"].as_object().into_iter().flatten() {
        text.push_str(&format!("\nLeft out of {table} since the export: {reasons}. All are in {LEFT_OUT}."));
    }
    let mut json = json!({ "run": run, "phase": phase.name(), "percent": percent, "state": state });
    if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
        json.extend(more);
    }
    Report::new(json, text, differences > 0)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn comparison_needs_a_phase() {
        #[derive(Debug, clap::Parser)]
        struct Command {
            #[command(flatten)]
            arguments: Arguments,
        }
        let read = |flags: &[&str]| {
            let own =
                ["cutover", "--run", "r", "--table", "t", "--source", "s", "--mapping", "m", "--source-zone", "UTC"];
            Command::try_parse_from(own.iter().chain(flags)).map(|command| command.arguments.compare)
        };
        assert_eq!(read(&["--to", "dual", "--compare=5"]).unwrap_or_default(), Some(5));
        assert_eq!(read(&["--to", "dual", "--compare"]).unwrap_or_default(), Some(100));
        for flag in ["--compare", "--compare=5", "--follow", "--accept-differences", "--way-back=3"] {
            assert!(read(&[flag]).is_err(), "{flag}");
        }
    }

    #[test]
    fn follow_waits_longer_after_slow_and_refused_passes() {
        let seconds = |took_ms, refused| rest(Duration::from_millis(took_ms), refused).as_secs_f64();
        assert_eq!([seconds(10, 0), seconds(4_500, 0), seconds(10, 3)], [1.0, 4.5, 8.0]);
        assert_eq!([seconds(90_000, 0), seconds(10, 10)], [60.0, 60.0]);
    }
}
