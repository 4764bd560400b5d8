//! Waits until a stack is at rest, and moves its clock from alarm to alarm.
//!
//! At rest means that nothing happens before somebody calls the stack, or its clock moves: no
//! function runs, each stream is read to its end, no queue has a message that its mapping could
//! receive, and no asynchronous invocation is under way. What waits for a time is at rest: a delay,
//! a visibility time-out, the retry of an asynchronous invocation, a schedule.

use std::time::{Duration, Instant};

use tidemark_engine::EngineError;

use crate::admin_routes::AdminState;
use crate::event_source_mapping::Mapping;

/// How long a stack may take to come to rest.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Pauses between two looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
const POLL_LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// How long to wait for one poll of all streams before everything is looked at again.
const POLL_MAX: Duration = Duration::from_millis(500);

/// The longest span of one call: 100 years.
const ADVANCE_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// Maximum number of alarms in one call. A function that always causes another batch has no end.
const ALARMS_MAX: u32 = 100_000;

/// Why a stack is not at rest, or its clock does not move.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettleError {
    /// What is under way after the patience has ended.
    #[error("not at rest: {}", .0.join("; "))]
    NotAtRest(Vec<String>),
    /// The time is too far away.
    #[error("the clock moves by 100 years at most")]
    TooFar,
    /// Expired items cannot be deleted.
    #[error("cannot delete the expired items")]
    Engine(#[from] EngineError),
}

/// Waits until everything is at rest. Batching windows end at once, and the clock does not move.
///
/// # Errors
/// [`SettleError::NotAtRest`] after `patience`.
pub(crate) async fn settle(admin: &AdminState, patience: Duration) -> Result<(), SettleError> {
    let clock = admin.functions.clock();
    for _ in 0..ALARMS_MAX {
        rest(admin, patience).await?;
        if !clock.end_batching_windows() {
            return Ok(());
        }
    }
    Err(without_end())
}

/// Lets the stack live through a span of time: the clock stops at each alarm until everything is at
/// rest again. In the end, the items that have expired meanwhile are deleted.
pub(crate) async fn advance(admin: &AdminState, by: Duration, patience: Duration) -> Result<(), SettleError> {
    if by > ADVANCE_MAX {
        return Err(SettleError::TooFar);
    }
    let clock = admin.functions.clock();
    rest(admin, patience).await?;
    let end = clock.instant() + by;
    for _ in 0..ALARMS_MAX {
        let alarms = clock.next_alarm().into_iter().chain(next_messages(admin));
        let Some(next) = alarms.min().filter(|next| *next <= end) else {
            clock.move_to(end);
            if let Some(housekeeper) = &admin.housekeeper {
                housekeeper.sweep_at(clock.now()).await?;
            }
            return rest(admin, patience).await;
        };
        clock.move_to(next);
        rest(admin, patience).await?;
    }
    Err(without_end())
}

fn without_end() -> SettleError {
    SettleError::NotAtRest(vec![format!("more than {ALARMS_MAX} alarms: something causes itself again")])
}

/// Waits until everything is at rest, as long as the clock does not move.
async fn rest(admin: &AdminState, patience: Duration) -> Result<(), SettleError> {
    let start = Instant::now();
    loop {
        let found = under_way(admin).await;
        if found.is_empty() {
            return Ok(());
        }
        if start.elapsed() > patience {
            return Err(SettleError::NotAtRest(found));
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

/// What is not at rest. While no work begins, only what is looked at here can begin some: first the
/// work itself, then the queues, and then the streams, whose poll sees all earlier writes.
async fn under_way(admin: &AdminState) -> Vec<String> {
    // The caller may have just begun something on this thread.
    tokio::task::yield_now().await;
    let Some(mappings) = admin.mappings.get() else { return vec!["the stack is starting".to_owned()] };
    let clock = admin.functions.clock();
    let begun = clock.begun();
    let mut found = clock.under_way();
    for (queue, function) in mapped_queues(admin) {
        let (waiting, _) = admin.queues.waiting(queue);
        if waiting > 0 {
            found.push(format!("{waiting} messages of {queue} wait for {function}"));
        }
    }
    if !found.is_empty() {
        return found;
    }
    let mut reading: Vec<(&Mapping, u64)> = mappings.iter().map(|mapping| (mapping, mapping.poll())).collect();
    let start = Instant::now();
    loop {
        reading.retain(|(mapping, poll)| !mapping.rests_since(*poll));
        if reading.is_empty() || start.elapsed() > POLL_MAX {
            break;
        }
        tokio::time::sleep(POLL_LOOK_INTERVAL).await;
    }
    let name = |(mapping, _): &(&Mapping, u64)| format!("the mapping {} has records to deliver", mapping.name);
    found.extend(reading.iter().map(name));
    if found.is_empty() && clock.begun() != begun {
        found.push("work has begun again".to_owned());
    }
    found
}

/// When a message becomes visible for a mapping.
fn next_messages(admin: &AdminState) -> impl Iterator<Item = Instant> {
    mapped_queues(admin).filter_map(|(queue, _)| admin.queues.waiting(queue).1)
}

/// The queues that a function reads, and the function.
fn mapped_queues(admin: &AdminState) -> impl Iterator<Item = (&str, &str)> {
    admin.functions.all().iter().flat_map(|pool| {
        let mappings = pool.function().queue_mappings.iter().filter(|mapping| mapping.enabled);
        mappings.map(|mapping| (mapping.queue.as_str(), pool.function().short_name()))
    })
}
