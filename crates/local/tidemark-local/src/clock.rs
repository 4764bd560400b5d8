//! The stack's clock, and everything that is under way.
//!
//! The time is the machine's, plus what tests have added. Schedules, delays, visibility time-outs
//! and batching windows wait on this clock. A test moves this clock instead of waiting.
//! `settle` asks it what is under way, and what waits for which time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The longest sleep. A change of the machine's clock, or a laptop's sleep, is noticed after this
/// time.
const NAP_MAX: Duration = Duration::from_secs(30);

/// The clock of a stack.
#[derive(Debug)]
pub struct Clock {
    added: watch::Sender<Duration>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How much work has begun so far.
    begun: u64,
    next_id: u64,
    work: BTreeMap<u64, Arc<str>>,
    alarms: BTreeMap<(Instant, u64), Entry>,
}

/// An alarm that is set.
#[derive(Debug)]
struct Entry {
    what: Arc<str>,
    wait: Wait,
    /// Cancelled when its wait ends before its time.
    ended: CancellationToken,
}

/// What an alarm is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A schedule, a retry, or the end of a tumbling window.
    Time,
    /// The end of a batching window: records that were read wait for others.
    Batch,
}

impl Default for Clock {
    fn default() -> Self {
        Self { added: watch::Sender::new(Duration::ZERO), state: Mutex::default() }
    }
}

impl Clock {
    /// The stack's time.
    pub(crate) fn now(&self) -> Timestamp {
        let added = *self.added.borrow();
        Timestamp::now().checked_add(added).unwrap_or(Timestamp::MAX)
    }

    /// The stack's time for durations.
    pub(crate) fn instant(&self) -> Instant {
        Instant::now() + *self.added.borrow()
    }

    /// What was added to the machine's time, milliseconds.
    pub(crate) fn added_ms(&self) -> i64 {
        i64::try_from(self.added.borrow().as_millis()).unwrap_or(i64::MAX)
    }

    /// Moves the clock to a time, unless it is there already.
    pub(crate) fn move_to(&self, time: Instant) {
        self.added.send_modify(|added| *added += time.saturating_duration_since(Instant::now() + *added));
    }

    /// Waits for a time.
    pub(crate) async fn reached(&self, time: Instant) {
        self.passed(|| time.saturating_duration_since(self.instant())).await;
    }

    async fn passed(&self, left: impl Fn() -> Duration) {
        let mut moved = self.added.subscribe();
        loop {
            let left = left();
            if left.is_zero() {
                return;
            }
            // The sender is this clock, so that an error cannot come.
            drop(tokio::time::timeout(left.min(NAP_MAX), moved.changed()).await);
        }
    }

    /// Notes that work is under way, until the returned value is dropped. `what` names it in
    /// messages: `the function F runs`.
    pub(crate) fn begin(self: &Arc<Self>, what: impl Into<Arc<str>>) -> Work {
        let what = what.into();
        let mut state = self.lock();
        state.begun += 1;
        let id = state.new_id();
        state.work.insert(id, Arc::clone(&what));
        drop(state);
        Work { clock: Arc::clone(self), id, what }
    }

    /// Notes that something happens at a time, until the returned value is dropped.
    pub(crate) fn set_alarm(self: &Arc<Self>, time: Instant, wait: Wait, what: impl Into<Arc<str>>) -> Alarm {
        let mut state = self.lock();
        let key = (time, state.new_id());
        let ended = CancellationToken::new();
        state.alarms.insert(key, Entry { what: what.into(), wait, ended: ended.clone() });
        drop(state);
        Alarm { clock: Arc::clone(self), key, wait, ended }
    }

    /// Ends all batching windows now, without moving the clock: a delay or a schedule must not
    /// happen because of it. Returns whether there was one.
    pub(crate) fn end_batching_windows(&self) -> bool {
        let state = self.lock();
        let batching = state.alarms.values().filter(|entry| entry.wait == Wait::Batch);
        batching.inspect(|entry| entry.ended.cancel()).count() > 0
    }

    /// The number of [`begin`](Self::begin) so far.
    pub(crate) fn begun(&self) -> u64 {
        self.lock().begun
    }

    /// What is under way, and what is due.
    pub(crate) fn under_way(&self) -> Vec<String> {
        let now = self.instant();
        let state = self.lock();
        let due = state.alarms.iter().filter(|((time, _), entry)| *time <= now || entry.ended.is_cancelled());
        let due = due.map(|(_, entry)| format!("{} (due)", entry.what));
        state.work.values().map(|what| what.to_string()).chain(due).collect()
    }

    /// The time of the next alarm.
    pub(crate) fn next_alarm(&self) -> Option<Instant> {
        self.lock().alarms.first_key_value().map(|((time, _), _)| *time)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }
}

/// Work that is under way.
#[derive(Debug)]
pub(crate) struct Work {
    clock: Arc<Clock>,
    id: u64,
    what: Arc<str>,
}

impl Work {
    /// Rests for as long as `left` says, and goes on. Nobody sees a moment between.
    pub(crate) async fn rest(self, left: impl Fn() -> Duration) -> Self {
        let time = self.clock.instant() + left();
        self.go_on_at(time, left).await
    }

    /// Rests until a time, and goes on.
    pub(crate) async fn rest_until(self, time: Instant) -> Self {
        let clock = Arc::clone(&self.clock);
        self.go_on_at(time, || time.saturating_duration_since(clock.instant())).await
    }

    async fn go_on_at(self, time: Instant, left: impl Fn() -> Duration) -> Self {
        let (clock, what) = (Arc::clone(&self.clock), Arc::clone(&self.what));
        let alarm = clock.set_alarm(time, Wait::Time, Arc::clone(&what));
        drop(self);
        clock.passed(left).await;
        let work = clock.begin(what);
        drop(alarm);
        work
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.clock.lock().work.remove(&self.id);
    }
}

/// A time for which something waits.
#[derive(Debug)]
pub(crate) struct Alarm {
    clock: Arc<Clock>,
    key: (Instant, u64),
    wait: Wait,
    ended: CancellationToken,
}

impl Alarm {
    /// Whether its time has come, or its wait was ended before.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.is_cancelled() || self.key.0 <= self.clock.instant()
    }

    /// What it is for.
    pub(crate) fn wait(&self) -> Wait {
        self.wait
    }

    /// Waits for its time, or for an end before it.
    pub(crate) async fn reached(&self) {
        self.ended.run_until_cancelled(self.clock.reached(self.key.0)).await;
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.clock.lock().alarms.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn work_that_rests_goes_on_when_the_clock_moves() {
        let clock = Arc::new(Clock::default());
        let time = clock.instant() + HOUR;
        let resting = tokio::spawn(clock.begin("a retry").rest_until(time));
        while clock.next_alarm().is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!((clock.under_way(), clock.next_alarm()), (Vec::new(), Some(time)));
        assert!(!clock.end_batching_windows());
        clock.move_to(time);
        assert_eq!(clock.under_way(), ["a retry (due)"]);
        let work = resting.await.expect("it goes on");
        assert_eq!((clock.under_way(), clock.begun()), (vec!["a retry".to_owned()], 2));
        drop(work);
        assert_eq!((clock.under_way(), clock.next_alarm()), (Vec::new(), None));
        assert!(clock.added_ms() > 3_590_000 && clock.now() > Timestamp::now());
    }

    #[tokio::test]
    async fn batching_window_ends_without_moving_the_clock() {
        let clock = Arc::new(Clock::default());
        let start = clock.instant();
        let earlier = clock.set_alarm(start + HOUR, Wait::Time, "a schedule");
        let window = clock.set_alarm(start + 2 * HOUR, Wait::Batch, "a batch");
        assert!(clock.end_batching_windows());
        window.reached().await;
        assert!(window.is_over() && !earlier.is_over());
        assert_eq!((clock.under_way(), clock.added_ms()), (vec!["a batch (due)".to_owned()], 0));
        drop(window);
        assert!(!clock.end_batching_windows());
    }
}
