//! `repair`: lets a stuck user go on, and makes differing items equal to PostgreSQL's rows.

use std::collections::BTreeMap;

use clap::Args;
use futures::{StreamExt, TryStreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::command::Product;
use crate::cutover::outbox_entry::OutboxEntry;
use crate::cutover::{DIFFERENCES, PARALLEL, Phase, Side, Sides, SidesArguments, run_state};
use crate::item::Key;
use crate::row::Row;
use crate::run::Run;
use crate::{Failure, FailureKind, Report};

/// The name of the file with the changes that were set aside.
const SET_ASIDE: &str = "set-aside.jsonl";

/// A line of the file of differences.
#[derive(Deserialize)]
struct Differing {
    user: String,
    what: String,
    partition: String,
    sort: String,
    kind: String,
    loses: Vec<String>,
}

/// The run, both databases, and the user.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Arguments {
    #[command(flatten)]
    sides: SidesArguments,
    /// The id of a stuck user.
    #[arg(long, value_name = "ID", group = "what")]
    user: Option<String>,
    /// Moves each refused change to set-aside.jsonl in the run's folder, and goes on with the next.
    /// Without it, the changes are only tried again.
    #[arg(long, requires = "user")]
    set_aside: bool,
    /// Writes the items again that the last `cutover --compare` found different, as PostgreSQL's
    /// rows have them, and deletes those that should not exist.
    #[arg(long, group = "what")]
    differences: bool,
    /// Repairs although an attribute would be removed from all items of a type.
    #[arg(long, requires = "differences")]
    accept_losses: bool,
}

pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let run = Run::open(&arguments.sides.folder)?;
    let (postgres, database) = arguments.sides.postgres(product).await?;
    if let Some(identity) = run.identity()? {
        run_state::check_database(&identity, database.as_deref())?;
    }
    postgres.lock_cutover().await?;
    let plan = postgres.plan().await?;
    let plan = plan.ok_or_else(|| FailureKind::Cutover.because("the database is in no cutover"))?;
    run_state::check_same_run(&run, &plan)?;
    let sides = arguments.sides.sides(&run, product, postgres, &plan).await?;
    let report = match &arguments.user {
        Some(user) => repair_user(&run, &sides, user, arguments.set_aside).await?,
        None => {
            if !arguments.accept_losses {
                check_losses(&run, &sides).await?;
            }
            repair_differences(&run, &sides, plan.phase).await?
        }
    };
    run.write_report("repair", &report)?;
    Ok(report)
}

/// Makes the items of all users equal to their rows who are in the file of differences.
async fn repair_differences(run: &Run, sides: &Sides, phase: Phase) -> Result<Report, Failure> {
    match phase {
        Phase::Capture => {
            let why = "before dual, `check` finds differences and `load --again` mends them";
            return Err(FailureKind::Cutover.because(why));
        }
        Phase::Finished => {
            let why = "the cutover is finished, and PostgreSQL's rows are no measure any more";
            return Err(FailureKind::Cutover.because(why));
        }
        Phase::Dual | Phase::Percent | Phase::RollingBack => {}
    }
    if !run.path(DIFFERENCES).exists() {
        return Err(
            FailureKind::RunIncomplete.because("nothing was compared yet: run `cutover --to <phase> --compare` first")
        );
    }
    sides.record_left_out(run)?;
    let (mut repaired, mut items, mut late) = (0_u64, 0_usize, 0_u64);
    for line in run.read_lines(DIFFERENCES)? {
        let Differing { what, partition, sort, .. } = line?;
        if what == "marker" && sides.repair_marker(&Key { partition, sort }).await? {
            items += 1;
        }
    }
    // The differences of a user stand together in the file. A marker that leads nowhere has none.
    let mut last = Some(String::new());
    let users = run.read_lines(DIFFERENCES)?.map(|line| line.map(|of: Differing| of.user)).filter(|user| {
        let is_new = user.as_ref().ok() != last.as_ref();
        last = user.as_ref().ok().cloned();
        is_new
    });
    let mut done =
        stream::iter(users).map(|user| async move { sides.repair_items(&user?).await }).buffer_unordered(PARALLEL);
    while let Some(found) = done.try_next().await? {
        match found {
            Some(count) => {
                repaired += 1;
                items += count;
            }
            None => late += 1,
        }
    }
    let mut text = format!(
        "{items} items of {repaired} users were repaired. `cutover --to <phase> --compare` shows what is left."
    );
    if late > 0 {
        text.push_str(&format!(" {late} users were written all the time: run the same command again."));
    }
    let json = json!({ "phase": "repair", "users": repaired, "items": items, "late": late });
    Ok(Report::new(json, text, late > 0))
}

/// Refuses to remove an attribute from all items of a type: rather a column of PostgreSQL has
/// changed.
async fn check_losses(run: &Run, sides: &Sides) -> Result<(), Failure> {
    let mut losses: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in run.read_lines(DIFFERENCES)? {
        let Differing { kind, loses, .. } = line?;
        loses.into_iter().for_each(|attribute| *losses.entry((kind.clone(), attribute)).or_default() += 1);
    }
    // A sample does not know whether the others keep the attribute.
    let is_sample =
        run.read::<Value>("report-cutover.json")?.is_some_and(|last| last["compared"]["sample"].is_object());
    if is_sample && !losses.is_empty() {
        let why = "the last comparison was a sample, and the repair would remove attributes: run `cutover --to <phase> --compare` first";
        return Err(FailureKind::RunIncomplete.because(why));
    }
    for ((kind, attribute), count) in losses {
        if !sides.has_more(&kind, &attribute, count).await? {
            return Err(FailureKind::SchemaChanged.because(format!(
                "the repair would remove {attribute} from all {count} items of the type {kind} that have it. If \
                 PostgreSQL's rows are right, give --accept-losses"
            )));
        }
    }
    Ok(())
}

async fn repair_user(run: &Run, sides: &Sides, user: &str, is_set_aside: bool) -> Result<Report, Failure> {
    if !sides.postgres().unknown_users(&[user.to_owned()]).await?.is_empty() {
        return Err(
            FailureKind::Options.because(format!("the cutover knows no user {user}; `cutover` names the stuck ones"))
        );
    }
    let (mut set_aside, mut replicated) = (0_u64, 0);
    loop {
        match sides.replicate(user).await {
            Ok(further) => {
                replicated += further;
                break;
            }
            Err(failure) if failure.kind == FailureKind::UserStuck && is_set_aside => {
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
    Ok(Report::new(json, text, set_aside > 0))
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
