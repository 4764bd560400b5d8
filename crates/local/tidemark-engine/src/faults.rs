//! Injected faults: DynamoDB's failures, on demand and repeatable.
//!
//! All are off until [`Faults::set`]. Probabilities use a seeded generator, so that a run can be
//! repeated.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// When a fault is injected: the next `next` times, after that with `probability`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Chance {
    /// The fault is injected this many times for certain; each time counts it down.
    pub next: u32,
    /// The probability after that, 0 to 1.
    pub probability: f64,
}

/// How a failed request looks to its caller.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureReply {
    /// A 500 with `InternalServerError`.
    #[default]
    InternalServerError,
    /// The connection closes in the middle of the reply.
    ConnectionClosed,
    /// A 400 with `ThrottlingException`, as for a hot partition. Realistic only for
    /// [`EngineFaults::fail_before`].
    Throttled,
}

/// The faults of the database. The keys are names of API operations (`PutItem`, `GetRecords`); `*`
/// stands for all others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EngineFaults {
    /// Throttle at DynamoDB's limits for one partition key: 1,000 write units and 3,000 read units
    /// a second, in the table and in each index that a write reaches.
    pub throttle: bool,
    /// `TransactWriteItems` and `TransactGetItems` are cancelled with `TransactionConflict`.
    pub transaction_conflicts: Chance,
    /// The request fails and has not been applied.
    pub fail_before: BTreeMap<String, Chance>,
    /// The request is applied, and then its reply is lost.
    pub fail_after: BTreeMap<String, Chance>,
    /// How the two faults above look to the caller.
    pub failure_reply: FailureReply,
    /// Delay before each request, milliseconds.
    pub delay_ms: u64,
}

/// The active faults, shared by the proxy and the callers that set them.
#[derive(Debug)]
pub struct Faults {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    faults: EngineFaults,
    rng: fastrand::Rng,
    injected: BTreeMap<&'static str, u64>,
}

impl Default for Faults {
    fn default() -> Self {
        let rng = fastrand::Rng::with_seed(0);
        Self { state: Mutex::new(State { faults: EngineFaults::default(), rng, injected: BTreeMap::new() }) }
    }
}

impl Faults {
    /// The active faults, with the remaining count of each countdown.
    pub fn get(&self) -> EngineFaults {
        self.lock().faults.clone()
    }

    /// Replaces all faults.
    pub fn set(&self, faults: EngineFaults) {
        self.lock().faults = faults;
    }

    /// Restarts the random generator from `seed`; the initial seed is 0.
    pub fn reseed(&self, seed: u64) {
        self.lock().rng = fastrand::Rng::with_seed(seed);
    }

    /// How often each fault was injected since the start: `fail_before`, `fail_after`, `throttle`,
    /// `transaction_conflicts`.
    pub fn injected(&self) -> BTreeMap<&'static str, u64> {
        self.lock().injected.clone()
    }

    pub(crate) fn delay(&self) -> Duration {
        Duration::from_millis(self.lock().faults.delay_ms)
    }

    pub(crate) fn throttles(&self) -> bool {
        self.lock().faults.throttle
    }

    pub(crate) fn count_throttled(&self) {
        *self.lock().injected.entry("throttle").or_default() += 1;
    }

    /// The failure that replaces the execution of `operation`, if one is due.
    pub(crate) fn fails_before(&self, operation: &str) -> Option<FailureReply> {
        self.due_failure("fail_before", |faults| chance_of(&mut faults.fail_before, operation))
    }

    /// The failure that replaces the reply to `operation`, if one is due.
    pub(crate) fn fails_after(&self, operation: &str) -> Option<FailureReply> {
        self.due_failure("fail_after", |faults| chance_of(&mut faults.fail_after, operation))
    }

    /// The index of the action that conflicts, if a conflict is due.
    pub(crate) fn conflicts(&self, actions: usize) -> Option<usize> {
        self.due_failure("transaction_conflicts", |faults| Some(&mut faults.transaction_conflicts))?;
        Some(self.lock().rng.usize(..actions.max(1)))
    }

    fn due_failure(
        &self,
        kind: &'static str,
        chance: impl FnOnce(&mut EngineFaults) -> Option<&mut Chance>,
    ) -> Option<FailureReply> {
        let state = &mut *self.lock();
        let reply = state.faults.failure_reply;
        let chance = chance(&mut state.faults)?;
        if chance.next > 0 {
            chance.next -= 1;
        } else if chance.probability <= 0.0 || state.rng.f64() >= chance.probability {
            return None;
        }
        *state.injected.entry(kind).or_default() += 1;
        Some(reply)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn chance_of<'a>(chances: &'a mut BTreeMap<String, Chance>, operation: &str) -> Option<&'a mut Chance> {
    let name = if chances.contains_key(operation) { operation } else { "*" };
    chances.get_mut(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(operation: &str, chance: Chance) -> EngineFaults {
        EngineFaults { fail_before: BTreeMap::from([(operation.to_owned(), chance)]), ..EngineFaults::default() }
    }

    #[test]
    fn a_fault_is_injected_the_given_number_of_times() {
        let faults = Faults::default();
        faults.set(failing("PutItem", Chance { next: 2, probability: 0.0 }));
        let injected: Vec<bool> = (0..4).map(|_| faults.fails_before("PutItem").is_some()).collect();
        assert_eq!(injected, [true, true, false, false]);
        assert_eq!(faults.injected()["fail_before"], 2);
    }

    #[test]
    fn an_operation_with_its_own_chance_ignores_the_common_one() {
        let faults = Faults::default();
        let mut plan = failing("*", Chance { next: 1, probability: 0.0 });
        plan.fail_before.insert("GetItem".to_owned(), Chance::default());
        faults.set(plan);
        assert!(faults.fails_before("GetItem").is_none());
        assert!(faults.fails_before("Query").is_some());
    }

    #[test]
    fn the_same_seed_repeats_the_same_faults() {
        let run = || {
            let faults = Faults::default();
            faults.reseed(7);
            faults.set(failing("PutItem", Chance { next: 0, probability: 0.5 }));
            (0..64).map(|_| faults.fails_before("PutItem").is_some()).collect::<Vec<_>>()
        };
        let injected = run();
        assert_eq!(injected, run());
        assert!(injected.contains(&true) && injected.contains(&false));
    }

    #[test]
    fn an_unknown_fault_is_rejected() {
        assert!(serde_json::from_str::<EngineFaults>(r#"{"throtle": true}"#).is_err());
    }
}
