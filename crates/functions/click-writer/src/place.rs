//! Finding clicks their milliseconds, at a bounded cost.

use std::collections::{HashMap, HashSet};

use domain::clicks::{Click, ClickTime};
use futures::stream::{self, StreamExt};
use lambda_kit::problem::{self, IDEMPOTENCY_KEY_REUSED, Problem, busy};
use store::StoreError;
use store::clicks::{ClickWriter, PutClick, StoredClick};

/// How many milliseconds a click may take: its own and the next ones.
pub const SLOTS_MAX: u16 = 64;

/// The most conditional writes of one click. Somebody who holds all of a user's milliseconds costs
/// the owner one, and one query.
pub const PUTS_MAX: u32 = 3;

/// Requests in flight at once.
const REQUESTS_MAX: usize = 8;

const NO_FREE_MILLISECOND: Problem =
    Problem::new(409, "no-free-millisecond", "This user's clicks hold every millisecond around this one");

/// A click on its way to a place.
#[derive(Debug)]
pub(crate) struct PendingClick {
    pub(crate) click: Click,
    pub(crate) click_id: String,
    /// The problem of a click whose time is over, or to come: it is looked for, and not stored.
    pub(crate) time_problem: Option<Problem>,
}

/// Where a click came to lie: just now, or before.
#[derive(Debug)]
pub(crate) enum PlaceOutcome {
    Stored(StoredClick),
    AlreadyStored(StoredClick),
}

/// The milliseconds of users that this request has seen taken. A taken millisecond stays taken, so
/// this cache never goes stale.
#[derive(Debug, Default)]
struct HeldSlots(HashMap<(String, String), StoredClick>);

/// The state of a click while it is placed.
enum Slot {
    /// It is stored, here.
    Own(StoredClick),
    /// The first millisecond that nobody is known to hold.
    Free(ClickTime),
    /// All are held.
    None,
}

impl HeldSlots {
    fn insert(&mut self, stored: StoredClick) {
        self.0.insert((stored.user_id.clone(), stored.create_date_time.clone()), stored);
    }

    /// Going through the milliseconds in order is what makes a repetition find the click: whatever
    /// slot the first request took, the second one comes past it before any free one. So a put is
    /// only tried where all slots before are known to be others'.
    fn find_slot(&self, pending: &PendingClick) -> Slot {
        let PendingClick { click, click_id, .. } = pending;
        for time in (0..SLOTS_MAX).map_while(|step| click.time.plus(step).ok()) {
            match self.0.get(&(click.user_id.to_string(), time.to_string())) {
                None => return Slot::Free(time),
                Some(holder) if holder.click_id.as_deref() == Some(click_id) => return Slot::Own(holder.clone()),
                Some(_) => {}
            }
        }
        Slot::None
    }
}

/// Puts clicks into the first free milliseconds, each from its own on, and tells of each in its
/// order.
///
/// Those that meet nobody, which is nearly all, take one write each, some at a time. The others
/// follow one after the other, so that clicks of one user and millisecond come to lie in the order
/// in which they were sent. They cost a query and at most [`PUTS_MAX`] writes in all.
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

/// Places a click whose own millisecond may be held.
async fn place_in_later_slot(
    writer: &ClickWriter,
    held: &mut HeldSlots,
    pending: &PendingClick,
) -> Result<PlaceOutcome, Problem> {
    let PendingClick { click, click_id, time_problem } = pending;
    let last = click.time.plus(SLOTS_MAX - 1).map_err(|_| NO_FREE_MILLISECOND.detail("the calendar ends"))?;
    let mut has_looked = false;
    // One write has been tried already.
    let mut puts = 1;
    loop {
        let time = match held.find_slot(pending) {
            Slot::Own(stored) if stored.click_count == Some(click.count.get().into()) => {
                return Ok(PlaceOutcome::AlreadyStored(stored));
            }
            Slot::Own(_) => return Err(IDEMPOTENCY_KEY_REUSED.detail("it stands for another number of clicks")),
            Slot::None => {
                return Err(NO_FREE_MILLISECOND.detail(format!("{SLOTS_MAX} are held, from {} on", click.time)));
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
        // Others take the milliseconds as fast as they are found.
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
