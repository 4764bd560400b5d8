//! The comparison of a cutover command, and its file.

use serde_json::{Value, json};

use super::{Arguments, DIFFERENCES, SHOWN_MAX};
use crate::cutover::compare::Difference;
use crate::cutover::passes::Sample;
use crate::cutover::sides::Sides;
use crate::run::{LineWriter, Run};
use crate::{Failure, FailureKind};

/// Refuses to finish while items differ: afterwards, PostgreSQL's rows are no measure any more.
pub(super) async fn compare_before_finished(run: &Run, sides: &Sides, arguments: &Arguments) -> Result<Value, Failure> {
    let (compared, first) = compare(run, sides, Sample::ALL).await?;
    match first {
        Some(first) if !arguments.accept_differences => Err(FailureKind::Cutover.because(format!(
            "{} items differ from PostgreSQL's rows, the first is {first}; all are in {DIFFERENCES}. \
             `repair --differences` repairs them, except for rejected rows, which have to fit; \
             --accept-differences finishes nevertheless",
            compared["differences"]
        ))),
        _ => Ok(compared),
    }
}

/// Compares the users of the sample, and writes each difference to a file. Also returns the first
/// one.
pub(super) async fn compare(run: &Run, sides: &Sides, sample: Sample) -> Result<(Value, Option<Difference>), Failure> {
    let mut lines = LineWriter::create(run.path(DIFFERENCES))?;
    let mut shown = Vec::new();
    let mut take = |difference: Difference| {
        lines.write_json(&difference)?;
        if shown.len() < SHOWN_MAX {
            shown.push(difference);
        }
        Ok(())
    };
    let (users, late) = sides.compare_all(sample, &mut take).await?;
    let has_markers = !sides.mapping().markers.is_empty();
    if sample.percent == 100 && has_markers {
        sides.broken_markers(&mut take).await?;
    }
    let mut json = json!({ "users": users, "late": late, "differences": lines.finish()?.lines, "first": shown });
    if sample.percent < 100 {
        json["sample"] = json!({ "percent": sample.percent, "seed": sample.seed });
    }
    Ok((json, shown.into_iter().next()))
}
