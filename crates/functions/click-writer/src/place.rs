//! Finding a click its millisecond.

use domain::clicks::Click;
use lambda_kit::problem::{Problem, failed};
use store::StoreError;
use store::clicks::{ClickWriter, PutClick, StoredClick};

/// How many milliseconds are tried, the click's own among them.
pub const PROBES_MAX: u16 = 64;

const NO_FREE_MILLISECOND: Problem =
    Problem::new(409, "no-free-millisecond", "This user's clicks hold every millisecond around this one");

/// Where a click came to lie.
#[derive(Debug)]
pub(crate) enum Placed {
    /// At its own millisecond or a little later.
    New(Click),
    /// Where an earlier request had put it.
    Before(StoredClick),
}

/// Puts the click into the first free millisecond, from its own on. Probing in order is what makes a repetition find the
/// click: whatever slot the first request took, the second comes past it before any free one.
pub(crate) async fn place(writer: &ClickWriter, click: Click, click_id: &str) -> Result<Placed, Problem> {
    for step in 0..PROBES_MAX {
        let time = click.time.plus(step).map_err(|_| NO_FREE_MILLISECOND.detail("the calendar ends"))?;
        let click = Click { time, ..click.clone() };
        match writer.put(&click, click_id).await.map_err(problem)? {
            PutClick::Stored => return Ok(Placed::New(click)),
            PutClick::Held(holder) if holder.click_id.as_deref() == Some(click_id) => {
                return Ok(Placed::Before(holder));
            }
            PutClick::Held(_) => {}
        }
    }
    Err(NO_FREE_MILLISECOND.detail(format!("{PROBES_MAX} were tried from {} on", click.time)))
}

fn problem(error: StoreError) -> Problem {
    tracing::error!(%error, "a click could not be stored");
    failed(error.is_transient())
}
