//! Finds a free millisecond for each click, at a bounded cost.

use std::collections::{HashMap, HashSet};

use clicks_store::{ClickWriter, PutClick, StoredClick};
use domain::clicks::{Click, ClickTime, Slot};
use futures::stream::{self, StreamExt};
use lambda_kit::problem::{self, IDEMPOTENCY_KEY_REUSED, Problem, busy};
use store_base::StoreError;

/// The number of milliseconds that a click may take.
pub const SLOTS_MAX: u16 = Slot::<()>::MAX;

/// The most conditional writes for one click. If another client has filled all milliseconds of a
/// user, a new click of that user costs one write and one query.
pub const PUTS_MAX: u32 = 3;

/// The most requests in flight at once.
const REQUESTS_MAX: usize = 8;

const NO_FREE_MILLISECOND: Problem =
    Problem::new(409, "no-free-millisecond", "This user's clicks take all milliseconds from this one on");

/// A click that has no slot yet.
#[derive(Debug)]
pub(crate) struct PendingClick {
    pub(crate) click: Click,
    pub(crate) click_id: String,
    /// Set if the click's time is too old or in the future. Such a click is looked up, but not
    /// stored.
    pub(crate) time_problem: Option<Problem>,
}

/// The stored click: written by this request, or found from an earlier one.
#[derive(Debug)]
pub(crate) enum PlaceOutcome {
    Stored(StoredClick),
    AlreadyStored(StoredClick),
}

/// The taken milliseconds of users, as far as this request knows. A click is never moved, so a
/// taken slot stays taken.
#[derive(Debug, Default)]
struct HeldSlots(HashMap<(String, String), StoredClick>);

impl HeldSlots {
    fn insert(&mut self, stored: StoredClick) {
        self.0.insert((stored.user_id.clone(), stored.create_date_time.clone()), stored);
    }

    fn find_slot(&self, PendingClick { click, click_id, .. }: &PendingClick) -> Slot<&StoredClick> {
        let holder_of = |time: ClickTime| self.0.get(&(click.user_id.to_string(), time.to_string()));
        Slot::find(click.time, holder_of, |holder| holder.click_id.as_deref() == Some(click_id))
    }
}

/// Puts each click into its first free millisecond, from its own time on, and returns the outcomes
/// in order.
///
/// Nearly all clicks find their own millisecond free. They take one write each, several at once.
/// The others follow one after the other, so that clicks of one user and millisecond are stored in
/// the order in which they were sent. Each of them costs one query and at most [`PUTS_MAX`] writes
/// in all.
pub(crate) async fn place(writer: &ClickWriter, clicks: &[PendingClick]) -> Vec<Result<PlaceOutcome, Problem>> {
    let mut held = HeldSlots::default();
    let mut outcomes: Vec<Option<Result<PlaceOutcome, Problem>>> = clicks.iter().map(|_| None).collect();

    let mut slots = HashSet::new();
    let first = clicks.iter().enumerate().filter(|(_, pending)| {
        pending.time_problem.is_none() && slots.insert((pending.click.user_id.as_str(), pending.click.time))
    });
    let first: Vec<_> = first.collect();
    let puts = stream::iter(first)
        .map(|(index, pending)| async move { (index, writer.put(&pending.click, &pending.click_id).await) });
    let mut puts = puts.buffer_unordered(REQUESTS_MAX);
    while let Some((index, put)) = puts.next().await {
        match put {
            Ok(PutClick::Stored) => {
                let stored = StoredClick::new(&clicks[index].click, &clicks[index].click_id);
                held.insert(stored.clone());
                outcomes[index] = Some(Ok(PlaceOutcome::Stored(stored)));
            }
            Ok(PutClick::Held(holder)) => held.insert(holder),
            Err(error) => outcomes[index] = Some(Err(store_problem(error))),
        }
    }

    let mut placed = Vec::with_capacity(clicks.len());
    for (pending, outcome) in clicks.iter().zip(outcomes) {
        placed.push(match outcome {
            Some(outcome) => outcome,
            None => place_in_later_slot(writer, &mut held, pending).await,
        });
    }
    placed
}

/// Places a click whose own millisecond may be taken.
async fn place_in_later_slot(
    writer: &ClickWriter,
    held: &mut HeldSlots,
    pending: &PendingClick,
) -> Result<PlaceOutcome, Problem> {
    let PendingClick { click, click_id, time_problem } = pending;
    let last = click.time.plus(SLOTS_MAX - 1).map_err(|_| NO_FREE_MILLISECOND.detail("the calendar ends"))?;
    let mut has_looked = false;
    // The first write was tried already.
    let mut puts = 1;
    loop {
        let time = match held.find_slot(pending) {
            Slot::Own(stored) if stored.is(click) => return Ok(PlaceOutcome::AlreadyStored(stored.clone())),
            Slot::Own(_) => {
                return Err(IDEMPOTENCY_KEY_REUSED.detail("it was used with another click count or target"));
            }
            Slot::None => {
                return Err(
                    NO_FREE_MILLISECOND.detail(format!("{SLOTS_MAX} milliseconds are taken, from {} on", click.time))
                );
            }
            Slot::Free(time) => time,
        };
        if !has_looked {
            has_looked = true;
            let found = writer.held(&click.user_id, click.time, last).await.map_err(store_problem)?;
            found.into_iter().for_each(|stored| held.insert(stored));
            continue;
        }
        if let Some(time_problem) = time_problem {
            return Err(time_problem.clone());
        }
        // Other writers take the milliseconds as fast as they are found.
        if puts == PUTS_MAX {
            return Err(busy());
        }
        puts += 1;
        let click = Click { time, ..click.clone() };
        match writer.put(&click, click_id).await.map_err(store_problem)? {
            PutClick::Stored => {
                let stored = StoredClick::new(&click, click_id);
                held.insert(stored.clone());
                return Ok(PlaceOutcome::Stored(stored));
            }
            PutClick::Held(holder) => held.insert(holder),
        }
    }
}

fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}
