//! Finding clicks their milliseconds, at a bounded cost.

use std::collections::{HashMap, HashSet};

use domain::clicks::{Click, ClickTime};
use futures::stream::{self, StreamExt};
use lambda_kit::problem::{IDEMPOTENCY_KEY_REUSED, Problem, busy, failed};
use store::StoreError;
use store::clicks::{ClickWriter, PutClick, StoredClick};

/// How many milliseconds a click may take: its own and the next ones.
pub const SLOTS_MAX: u16 = 64;

/// The most conditional writes of one click. Somebody who holds all of a user's milliseconds costs the owner one, and one query.
pub const PUTS_MAX: u32 = 3;

/// Requests in flight at once.
const REQUESTS_MAX: usize = 8;

const NO_FREE_MILLISECOND: Problem =
    Problem::new(409, "no-free-millisecond", "This user's clicks hold every millisecond around this one");

/// A click on its way to a place.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) click: Click,
    pub(crate) click_id: String,
    /// The problem of a click whose time is over, or to come: it is looked for, and not stored.
    pub(crate) untimely: Option<Problem>,
}

/// Where a click came to lie: just now, or before.
#[derive(Debug)]
pub(crate) enum Placed {
    New(StoredClick),
    Before(StoredClick),
}

/// Users' milliseconds that are held, as far as this request has seen. Who holds one holds it for ever, so what is known stays true.
#[derive(Debug, Default)]
struct Held(HashMap<(String, String), StoredClick>);

/// What is known about a click.
enum Spot {
    /// It is stored, here.
    Own(StoredClick),
    /// The first millisecond that nobody is known to hold.
    Free(ClickTime),
    /// All are held.
    None,
}

impl Held {
    fn learn(&mut self, stored: StoredClick) {
        self.0.insert((stored.user_id.clone(), stored.create_date_time.clone()), stored);
    }

    /// Going through the milliseconds in order is what makes a repetition find the click: whatever slot the first request took, the second
    /// one comes past it before any free one. So a put is only tried where all slots before are known to be others'.
    fn spot(&self, wanted: &Wanted) -> Spot {
        let Wanted { click, click_id, .. } = wanted;
        for time in (0..SLOTS_MAX).map_while(|step| click.time.plus(step).ok()) {
            match self.0.get(&(click.user_id.to_string(), time.to_string())) {
                None => return Spot::Free(time),
                Some(holder) if holder.click_id.as_deref() == Some(click_id) => return Spot::Own(holder.clone()),
                Some(_) => {}
            }
        }
        Spot::None
    }
}

/// Puts clicks into the first free milliseconds, each from its own on, and tells of each in its order.
///
/// Those that meet nobody, which is nearly all, take one write each, some at a time. The others follow one after the other, so that clicks of one
/// user and millisecond come to lie in the order in which they were sent. They cost a query and at most [`PUTS_MAX`] writes in all.
pub(crate) async fn place(writer: &ClickWriter, clicks: &[Wanted]) -> Vec<Result<Placed, Problem>> {
    let mut held = Held::default();
    let mut outcomes: Vec<Option<Result<Placed, Problem>>> = clicks.iter().map(|_| None).collect();

    let mut slots = HashSet::new();
    let first = clicks.iter().enumerate().filter(|(_, wanted)| {
        wanted.untimely.is_none() && slots.insert((wanted.click.user_id.as_str(), wanted.click.time))
    });
    let first: Vec<_> = first.collect();
    let puts = stream::iter(first)
        .map(|(index, wanted)| async move { (index, writer.put(&wanted.click, &wanted.click_id).await) });
    let mut puts = puts.buffer_unordered(REQUESTS_MAX);
    while let Some((index, put)) = puts.next().await {
        match put {
            Ok(PutClick::Stored) => {
                let stored = StoredClick::new(&clicks[index].click, &clicks[index].click_id);
                held.learn(stored.clone());
                outcomes[index] = Some(Ok(Placed::New(stored)));
            }
            Ok(PutClick::Held(holder)) => held.learn(holder),
            Err(error) => outcomes[index] = Some(Err(problem(error))),
        }
    }

    let mut placed = Vec::with_capacity(clicks.len());
    for (wanted, outcome) in clicks.iter().zip(outcomes) {
        placed.push(match outcome {
            Some(outcome) => outcome,
            None => place_late(writer, &mut held, wanted).await,
        });
    }
    placed
}

/// Places a click whose own millisecond may be held.
async fn place_late(writer: &ClickWriter, held: &mut Held, wanted: &Wanted) -> Result<Placed, Problem> {
    let Wanted { click, click_id, untimely } = wanted;
    let last = click.time.plus(SLOTS_MAX - 1).map_err(|_| NO_FREE_MILLISECOND.detail("the calendar ends"))?;
    let mut has_looked = false;
    // One write has been tried already.
    let mut puts = 1;
    loop {
        let time = match held.spot(wanted) {
            Spot::Own(stored) if stored.click_count == Some(click.count.get().into()) => {
                return Ok(Placed::Before(stored));
            }
            Spot::Own(_) => return Err(IDEMPOTENCY_KEY_REUSED.detail("it stands for another number of clicks")),
            Spot::None => {
                return Err(NO_FREE_MILLISECOND.detail(format!("{SLOTS_MAX} are held, from {} on", click.time)));
            }
            Spot::Free(time) => time,
        };
        if !has_looked {
            has_looked = true;
            let found = writer.held(&click.user_id, click.time, last).await.map_err(problem)?;
            found.into_iter().for_each(|stored| held.learn(stored));
            continue;
        }
        if let Some(untimely) = untimely {
            return Err(untimely.clone());
        }
        // Others take the milliseconds as fast as they are found.
        if puts == PUTS_MAX {
            return Err(busy());
        }
        puts += 1;
        let click = Click { time, ..click.clone() };
        match writer.put(&click, click_id).await.map_err(problem)? {
            PutClick::Stored => {
                let stored = StoredClick::new(&click, click_id);
                held.learn(stored.clone());
                return Ok(Placed::New(stored));
            }
            PutClick::Held(holder) => held.learn(holder),
        }
    }
}

fn problem(error: StoreError) -> Problem {
    tracing::error!(%error, "a click could not be stored");
    failed(error.is_transient())
}
