//! Injected faults between the stack and its functions, and between the stack and its clients.
//!
//! All are off until `PUT /_local/faults`, or a caller in this process, sets them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
pub use tidemark_engine::Chance;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// The faults of functions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FunctionFaults {
    /// Only this function, named by its binary or its own name; absent: all functions.
    pub function: Option<String>,
    /// How many of the next invocations of each function return an error, without running it. A
    /// function is named by its binary or its own name.
    pub fail: BTreeMap<String, u32>,
    /// The instance is killed before it sees the request.
    pub kill_before: Chance,
    /// The instance is killed after its response, and the response is lost.
    pub kill_after: Chance,
    /// A batch of a stream mapping is delivered twice.
    pub deliver_twice: Chance,
    /// Delay before each request is delivered, milliseconds.
    pub delay_ms: u64,
}

/// The faults of WebSocket connections.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SocketFaults {
    /// A connection breaks without a close frame when a message is received or sent.
    pub cut: Chance,
    /// The longest random delay before a client's message reaches its function, milliseconds.
    /// Messages may overtake each other.
    pub delay_ms_max: u64,
}

/// The active faults, shared by all parts that inject them.
#[derive(Debug)]
pub struct Faults {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    functions: FunctionFaults,
    sockets: SocketFaults,
    rng: fastrand::Rng,
    injected: BTreeMap<&'static str, u64>,
    /// How often faults were set.
    changes: u64,
    watched: Option<Watched>,
}

/// A function whose deliveries are copied.
#[derive(Debug)]
struct Watched {
    function: String,
    deliveries: mpsc::Sender<Bytes>,
    /// Copies for which the channel had no space.
    dropped: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self::seeded(0)
    }
}

impl Faults {
    /// No faults yet. `seed` starts the random generator, so that a run can be repeated.
    pub fn seeded(seed: u64) -> Self {
        let rng = fastrand::Rng::with_seed(seed);
        let (functions, sockets) = (FunctionFaults::default(), SocketFaults::default());
        let state = State { functions, sockets, rng, injected: BTreeMap::new(), changes: 0, watched: None };
        Self { state: Mutex::new(state) }
    }

    /// How often each fault was injected since the start: `kill_before`, `kill_after`,
    /// `deliver_twice`, `fail`, `cut`.
    pub fn injected(&self) -> BTreeMap<&'static str, u64> {
        self.lock().injected.clone()
    }

    /// The active faults of functions.
    pub fn get(&self) -> FunctionFaults {
        self.lock().functions.clone()
    }

    /// Replaces the faults of functions, and returns how often faults were set.
    pub fn set(&self, faults: FunctionFaults) -> u64 {
        let mut state = self.lock();
        state.functions = faults;
        state.changes += 1;
        state.changes
    }

    /// How often faults were set.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// Sends a copy of each delivery to a function, named by its binary or its own name, instead of
    /// those that were sent before.
    pub(crate) fn watch(&self, function: String, deliveries: mpsc::Sender<Bytes>) {
        self.lock().watched = Some(Watched { function, deliveries, dropped: 0 });
    }

    /// Tells the watcher of the function `names` that a request reaches an instance. Never waits: a
    /// slow watcher must not slow down the function.
    pub(crate) fn delivered(&self, names: [&str; 2], payload: &Bytes) {
        let mut state = self.lock();
        let Some(watched) = state.watched.as_mut().filter(|watched| names.contains(&&*watched.function)) else {
            return;
        };
        if let Err(TrySendError::Full(_)) = watched.deliveries.try_send(payload.clone()) {
            watched.dropped += 1;
        }
    }

    /// How many deliveries the watcher did not get, because it was too slow.
    pub(crate) fn dropped_deliveries(&self) -> u64 {
        self.lock().watched.as_ref().map_or(0, |watched| watched.dropped)
    }

    /// The active faults of connections.
    pub fn sockets(&self) -> SocketFaults {
        self.lock().sockets.clone()
    }

    /// Replaces the faults of connections, and returns how often faults were set.
    pub fn set_sockets(&self, faults: SocketFaults) -> u64 {
        let mut state = self.lock();
        state.sockets = faults;
        state.changes += 1;
        state.changes
    }

    /// Lets the next `times` invocations of a function fail.
    pub fn fail(&self, name: &str, times: u32) {
        let mut state = self.lock();
        state.functions.fail.insert(name.to_owned(), times);
        state.changes += 1;
    }

    /// Whether an invocation of the function `names` returns an error.
    pub fn fails(&self, names: [&str; 2]) -> bool {
        let State { functions, injected, .. } = &mut *self.lock();
        let fails = |name: &&str| functions.fail.get(*name).is_some_and(|left| *left > 0);
        let due = names.iter().copied().find(fails);
        if let Some(left) = due.and_then(|name| functions.fail.get_mut(name)) {
            *left -= 1;
        }
        let due = due.is_some();
        *injected.entry("fail").or_default() += u64::from(due);
        due
    }

    /// Whether to kill the instance of the function `names` before its request.
    pub fn kills_before(&self, names: [&str; 2]) -> bool {
        self.is_due("kill_before", names, |faults| &mut faults.kill_before)
    }

    /// Whether to kill the instance of the function `names` after its request.
    pub fn kills_after(&self, names: [&str; 2]) -> bool {
        self.is_due("kill_after", names, |faults| &mut faults.kill_after)
    }

    /// Whether to deliver a batch of the function `names` twice.
    pub fn delivers_twice(&self, names: [&str; 2]) -> bool {
        self.is_due("deliver_twice", names, |faults| &mut faults.deliver_twice)
    }

    /// The delay of a request for the function `names`.
    pub fn delay(&self, names: [&str; 2]) -> Duration {
        let state = self.lock();
        let concerned = concerns(&state.functions, names);
        if concerned { Duration::from_millis(state.functions.delay_ms) } else { Duration::ZERO }
    }

    /// Whether to cut the connection at this message.
    pub fn cuts_connection(&self) -> bool {
        let State { sockets, rng, injected, .. } = &mut *self.lock();
        let cuts = occurs(&mut sockets.cut, rng);
        *injected.entry("cut").or_default() += u64::from(cuts);
        cuts
    }

    /// The delay of a client's message.
    pub fn message_delay(&self) -> Duration {
        let State { sockets, rng, .. } = &mut *self.lock();
        Duration::from_millis(if sockets.delay_ms_max == 0 { 0 } else { rng.u64(..=sockets.delay_ms_max) })
    }

    fn is_due(&self, kind: &'static str, names: [&str; 2], fault: fn(&mut FunctionFaults) -> &mut Chance) -> bool {
        let State { functions, rng, injected, .. } = &mut *self.lock();
        let due = concerns(functions, names) && occurs(fault(functions), rng);
        *injected.entry(kind).or_default() += u64::from(due);
        due
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn occurs(chance: &mut Chance, rng: &mut fastrand::Rng) -> bool {
    if chance.next > 0 {
        chance.next -= 1;
        return true;
    }
    chance.probability > 0.0 && rng.f64() < chance.probability
}

fn concerns(faults: &FunctionFaults, names: [&str; 2]) -> bool {
    faults.function.as_deref().is_none_or(|function| names.contains(&function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_injected_the_given_number_of_times() {
        let faults = Faults::default();
        faults.set(FunctionFaults { kill_before: Chance { next: 2, probability: 0.0 }, ..FunctionFaults::default() });
        let injected: Vec<bool> = (0..4).map(|_| faults.kills_before(["a", "b"])).collect();
        assert_eq!(injected, [true, true, false, false]);
        assert_eq!(faults.injected()["kill_before"], 2);
    }

    #[test]
    fn a_fault_of_one_function_does_not_affect_the_others() {
        let faults = Faults::default();
        let certain = Chance { next: 0, probability: 1.0 };
        faults.set(FunctionFaults {
            function: Some("b".to_owned()),
            kill_after: certain,
            delay_ms: 5,
            ..FunctionFaults::default()
        });
        assert!(faults.kills_after(["a", "b"]));
        assert!(!faults.kills_after(["a", "c"]));
        assert_eq!(faults.delay(["a", "c"]), Duration::ZERO);
    }

    #[test]
    fn a_message_waits_a_random_time_up_to_the_maximum() {
        let faults = Faults::default();
        assert_eq!(faults.message_delay(), Duration::ZERO);
        faults.set_sockets(SocketFaults { delay_ms_max: 5, ..SocketFaults::default() });
        let delays: std::collections::BTreeSet<Duration> = (0..200).map(|_| faults.message_delay()).collect();
        assert_eq!(delays, (0..=5).map(Duration::from_millis).collect());
    }

    #[test]
    fn slow_watcher_drops_deliveries_and_counts_them() {
        let faults = Faults::default();
        let (sender, mut deliveries) = mpsc::channel(1);
        faults.watch("a".to_owned(), sender);
        for _ in 0..3 {
            faults.delivered(["a", "b"], &Bytes::from_static(b"{}"));
            faults.delivered(["c", "d"], &Bytes::from_static(b"{}"));
        }
        assert_eq!(faults.dropped_deliveries(), 2);
        assert!(deliveries.try_recv().is_ok() && deliveries.try_recv().is_err());
    }

    #[test]
    fn each_way_of_setting_faults_is_a_change() {
        let faults = Faults::default();
        assert_eq!(faults.set(FunctionFaults::default()), 1);
        assert_eq!(faults.set_sockets(SocketFaults::default()), 2);
        faults.fail("a", 1);
        assert_eq!(faults.changes(), 3);
    }

    #[test]
    fn an_unknown_fault_is_rejected() {
        let parsed = serde_json::from_str::<FunctionFaults>(r#"{"kil_before": {"next": 1}}"#);
        assert!(parsed.is_err());
    }
}
