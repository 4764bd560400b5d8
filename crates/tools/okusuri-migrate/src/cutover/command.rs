//! `okusuri-migrate cutover`: one phase after the other; each may be killed and run again.

use std::collections::BTreeMap;
use std::time::Instant;

use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::Dynamo;
use super::ownership::{MoveStep, Ownerships, Side, bucket};
use super::plan::{Goal, Phase, Plan};
use super::postgres::Postgres;
use super::run_state::{self, Stage};
use super::sides::{Difference, Sides};
use crate::export::MANIFEST;
use crate::run::{Run, RunFolderArgument};
use crate::source::{Server, connect};
use crate::terminal::progress_bar;
use crate::transform::{ITEMS, Items, TransformArguments};
use crate::{Failure, FailureKind, PhaseOutcome, Report, TargetTable};

/// The most passes over all users until none is left to move; new users appear meanwhile.
const PASSES_MAX: u32 = 20;

/// The number of differences in the report.
const SHOWN_MAX: usize = 20;

/// The number of ownership records per read from DynamoDB
/// ([BatchGetItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html)).
const OWNERSHIPS_PER_READ: usize = 100;

/// The run, both databases, and the phase.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    table: TargetTable,
    #[command(flatten)]
    transform: TransformArguments,
    /// The phase to go to: capture (before the export), dual (after load and check), shadow, 1% to
    /// 100%, finished. Without it, prints the current state. A lower percentage moves users back.
    /// The same phase again continues where it was stopped, and replicates the pending changes.
    #[arg(long, value_name = "PHASE")]
    to: Option<Goal>,
    /// The application's role in PostgreSQL, if it is not the tool's own: it gets the rights to
    /// write and read during the cutover.
    #[arg(long, value_name = "ROLE")]
    application_role: Option<String>,
    /// Also compares all users' items with PostgreSQL's rows afterwards.
    #[arg(long)]
    compare: bool,
    /// The number of users that are moved at once.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: u16,
    /// Prints the steps without taking them; changes nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The state of a cutover, counted over all users.
#[derive(Debug, Default, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CutoverStatus {
    /// Users that PostgreSQL owns.
    pub in_postgres: u64,
    /// Users that DynamoDB owns.
    pub in_dynamo: u64,
    /// Users for whom neither side may write, because a move was interrupted.
    pub between: u64,
    /// Users that are not yet on the side that the plan wants.
    pub to_move: u64,
    /// Changes of one side that are not replicated to the other.
    pub pending: u64,
}

/// The command.
pub(crate) async fn run(arguments: Arguments) -> Result<Report, Failure> {
    let run = Run::open(&arguments.folder)?;
    let client = connect(&arguments.server).await?;
    let postgres = Postgres::new(client, &arguments.server.schema);
    let plan = postgres.plan().await?;
    let Some(goal) = arguments.to else {
        return match plan {
            None => Ok(report("none", &json!({ "phase": null }), "No cutover has started.".to_owned())),
            Some(plan) => {
                let sides = sides(&run, &arguments.table, &arguments.transform, postgres, &plan).await?;
                let state = sides.state(target_side(&plan)).await?;
                Ok(state_report(&plan, &state, json!({})))
            }
        };
    };
    let Some(plan) = plan else { return begin(&run, &arguments, postgres, goal).await };
    run_state::check_same_run(&run, &plan)?;
    check_transition(&run, &plan, goal)?;
    let sides = sides(&run, &arguments.table, &arguments.transform, postgres, &plan).await?;
    let aim = Plan { phase: goal.phase, percent: goal.percent, ..plan.clone() };
    if arguments.dry_run {
        let state = sides.state(target_side(&aim)).await?;
        return Ok(state_report(&plan, &state, json!({ "dryRun": true, "to": goal.to_string() })));
    }
    if let Some(role) = &arguments.application_role {
        sides.postgres.grant(role).await?;
    }
    let start = Instant::now();
    let parallel = usize::from(arguments.parallel);
    let (mut moved, mut replicated) = (0, 0);
    if goal.phase > Phase::Capture {
        // The phase becomes `finished` only when everybody is moved, so an interrupted command can
        // still go back.
        let shown = if goal.phase == Phase::Finished { Phase::Percent } else { goal.phase };
        run_state::record_stage(&run, &plan.run, Stage::DualWrites)?;
        sides.dynamo.enable_replication().await?;
        sides.postgres.set_phase(shown, goal.percent).await?;
        replicated += sides.replicate_all(parallel).await?;
        moved += sides.move_users(target_side(&aim), parallel).await?;
        if goal.phase == Phase::Finished {
            // From here on PostgreSQL refuses unknown users. The users who came before are moved in
            // the last pass.
            sides.postgres.set_phase(Phase::Finished, 100).await?;
            moved += sides.move_users(target_side(&aim), parallel).await?;
        }
        replicated += sides.replicate_all(parallel).await?;
    }
    let plan = sides.postgres.plan().await?.unwrap_or(plan);
    let mut more = json!({ "moved": moved, "replicated": replicated, "seconds": start.elapsed().as_secs_f64() });
    if arguments.compare {
        more["compared"] = compare(&sides, parallel).await?;
    }
    let report = state_report(&plan, &sides.state(target_side(&plan)).await?, more);
    run.write_report("cutover", &report)?;
    Ok(report)
}

/// The side on which the plan wants a user.
fn target_side(plan: &Plan) -> impl Fn(&str) -> Side + Copy {
    let percent = match plan.phase {
        Phase::Percent => plan.percent,
        Phase::Finished => 100,
        Phase::Capture | Phase::Dual | Phase::Shadow | Phase::RollingBack => 0,
    };
    move |user| if bucket(user) < percent { Side::Dynamo } else { Side::Postgres }
}

async fn begin(run: &Run, arguments: &Arguments, postgres: Postgres, goal: Goal) -> Result<Report, Failure> {
    if goal.phase != Phase::Capture {
        return Err(FailureKind::Cutover.because(format!("a cutover starts with capture, not with {goal}")));
    }
    if run.path(MANIFEST).exists() {
        let why = "the run already has an export, and changes since then were not captured: start a new run with `cutover --to capture`";
        return Err(FailureKind::Cutover.because(why));
    }
    if arguments.dry_run {
        let text = "Would create the schema tidemark_migration and its triggers.".to_owned();
        return Ok(report("capture", &json!({ "dryRun": true }), text));
    }
    let id = format!("{:016x}", fastrand::u64(..));
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
        (Phase::Dual | Phase::Shadow, Phase::Finished) => return refuse("go to 100% before finished".to_owned()),
        (Phase::Percent, Phase::Finished) if plan.percent < 100 => {
            return refuse("go to 100% before finished".to_owned());
        }
        _ => {}
    }
    Ok(())
}

/// Both sides of a cutover, with the options with which the run was transformed.
///
/// # Errors
/// `option` if other options are given: a log would get another date than when it was loaded.
pub(crate) async fn sides(
    run: &Run,
    table: &TargetTable,
    how: &TransformArguments,
    postgres: Postgres,
    plan: &Plan,
) -> Result<Sides, Failure> {
    let items: Option<Items> = run.read(ITEMS)?;
    let as_of = match items {
        Some(items) => {
            how.is_of(&items)?;
            items.as_of
        }
        // Without items no row is transformed yet; and during a rollback only PostgreSQL receives
        // changes.
        None if matches!(plan.phase, Phase::Capture | Phase::RollingBack) => jiff::Timestamp::UNIX_EPOCH,
        None => return Err(FailureKind::RunIncomplete.because("the run has no items, whose options are needed here")),
    };
    let dynamo = Dynamo::new(table.open().await, &plan.run);
    Ok(Sides::new(postgres, dynamo, how.options(as_of)?))
}

impl Sides {
    /// Moves all users to their side; a user who is there already costs one read. Returns the
    /// number of moved users.
    pub(crate) async fn move_users(&self, goal: impl Fn(&str) -> Side + Copy, parallel: usize) -> Result<u64, Failure> {
        let bar = progress_bar(self.postgres.users().await?, "users");
        let mut moved = 0;
        for _ in 0..PASSES_MAX {
            bar.set_position(0);
            let mut pass = 0;
            let mut last = String::new();
            loop {
                let users = self.ownerships_after(&last).await?;
                let Some((user, _)) = users.last() else { break };
                last.clone_from(user);
                bar.inc(u64::try_from(users.len()).unwrap_or_default());
                let left =
                    users.into_iter().filter(|(user, ownerships)| ownerships.next_step(goal(user)) != MoveStep::Done);
                let brought =
                    stream::iter(left).map(|(user, _)| async move { self.move_user(&user, goal(&user)).await });
                pass += brought
                    .buffer_unordered(parallel)
                    .try_fold(0, |sum, moved| async move { Ok(sum + u64::from(moved)) })
                    .await?;
            }
            moved += pass;
            if pass == 0 {
                break;
            }
        }
        bar.finish_and_clear();
        Ok(moved)
    }

    /// Marks the plan as rolling back: writers move no more users to DynamoDB, and a `cutover` that
    /// still runs cannot begin another phase.
    pub(crate) async fn begin_rollback(&self) -> Result<(), Failure> {
        self.postgres.set_phase(Phase::RollingBack, 0).await
    }

    /// Removes the cutover from PostgreSQL completely.
    pub(crate) async fn end_rollback(&self) -> Result<(), Failure> {
        self.postgres.uninstall().await
    }

    async fn ownerships_after(&self, user: &str) -> Result<Vec<(String, Ownerships)>, Failure> {
        let users = self.postgres.users_after(user).await?;
        let mut dynamo = BTreeMap::new();
        for users in users.chunks(OWNERSHIPS_PER_READ) {
            let ids: Vec<_> = users.iter().map(|(user, _)| user.clone()).collect();
            dynamo.extend(self.dynamo.ownerships(&ids).await?);
        }
        let both = |(user, postgres): (String, _)| {
            let dynamo = dynamo.get(&user).copied().unwrap_or_default();
            (user, Ownerships { postgres, dynamo })
        };
        Ok(users.into_iter().map(both).collect())
    }

    /// Counts the users by their state.
    pub(crate) async fn state(&self, goal: impl Fn(&str) -> Side) -> Result<CutoverStatus, Failure> {
        let ((_, postgres), (_, dynamo)) = tokio::try_join!(self.postgres.pending(), self.dynamo.pending())?;
        let mut state = CutoverStatus { pending: postgres + dynamo, ..CutoverStatus::default() };
        let mut last = String::new();
        loop {
            let users = self.ownerships_after(&last).await?;
            let Some((user, _)) = users.last() else { return Ok(state) };
            last.clone_from(user);
            for (user, ownerships) in users {
                let count = match (ownerships.postgres.epoch == ownerships.dynamo.epoch, ownerships.leader()) {
                    (true, Side::Postgres) => &mut state.in_postgres,
                    (true, Side::Dynamo) => &mut state.in_dynamo,
                    (false, _) => &mut state.between,
                };
                *count += 1;
                state.to_move += u64::from(ownerships.next_step(goal(&user)) != MoveStep::Done);
            }
        }
    }

    /// Compares all users' items with PostgreSQL's rows. Returns the number of compared users, the
    /// number of users skipped because of concurrent writes, and the differences.
    ///
    /// # Errors
    /// If a side does not answer.
    pub async fn compare_all(&self, parallel: usize) -> Result<(u64, u64, Vec<Difference>), Failure> {
        let bar = progress_bar(self.postgres.users().await?, "compared");
        let (mut compared, mut late, mut differences) = (0, 0, Vec::new());
        let mut last = String::new();
        loop {
            let users = self.postgres.users_after(&last).await?;
            let Some((user, _)) = users.last() else { break };
            last.clone_from(user);
            let of_users = stream::iter(users).map(|(user, _)| async move { self.compare(&user).await });
            let mut of_users = of_users.buffer_unordered(parallel);
            while let Some(found) = of_users.try_next().await? {
                bar.inc(1);
                match found {
                    Some(found) => {
                        compared += 1;
                        differences.extend(found);
                    }
                    None => late += 1,
                }
            }
        }
        bar.finish_and_clear();
        Ok((compared, late, differences))
    }
}

async fn compare(sides: &Sides, parallel: usize) -> Result<Value, Failure> {
    let (users, late, differences) = sides.compare_all(parallel).await?;
    let shown: Vec<_> = differences.iter().take(SHOWN_MAX).collect();
    Ok(json!({ "users": users, "late": late, "differences": differences.len(), "first": shown }))
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
    }
    let mut json = json!({ "run": run, "phase": phase.as_str(), "percent": percent, "state": state });
    if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
        json.extend(more);
    }
    let outcome = if differences > 0 { PhaseOutcome::NeedsReview } else { PhaseOutcome::Done };
    Report { outcome, json, text }
}
