//! The injected faults: they change every few seconds, and the stack is killed among them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::world::World;

/// How long one set of faults lasts, at least and at most.
const FAULTS_MS: std::ops::Range<u64> = 2_000..6_000;

/// The injected faults, by kind.
#[derive(Debug, Default)]
pub(crate) struct InjectedFaults {
    /// Faults by their kind.
    pub faults: BTreeMap<String, u64>,
    /// What the stack that runs now has counted so far.
    in_this_life: BTreeMap<String, u64>,
    /// How often the stack was killed with SIGKILL and started again.
    pub kills: u64,
}

/// Lets faults come and go, and kills the stack so many times, until the traffic ends.
///
/// # Errors
/// When the stack does not come up again.
pub(crate) async fn inject(world: &World, rng: &mut Rng, kills: u32) -> Result<InjectedFaults> {
    let mut injected = InjectedFaults::default();
    let begin = Instant::now();
    let time = world.until().saturating_duration_since(begin);
    // In the middle of each part of the time, so that there is something before the first and after
    // the last.
    let mut kill_at = (0..kills).map(|n| begin + time.mul_f64((f64::from(n) + 0.5) / f64::from(kills)));
    let mut next_kill = kill_at.next();
    while world.goes_on() {
        set(world, &random_faults(rng)).await?;
        let end = Instant::now() + Duration::from_millis(rng.u64(FAULTS_MS));
        let dies = next_kill.is_some_and(|at| at <= end);
        tokio::time::sleep_until(end.min(next_kill.unwrap_or(end)).min(world.until()).into()).await;
        injected.read_counts(world).await?;
        if dies {
            world.kill().await?;
            injected.end_life();
            injected.kills += 1;
            next_kill = kill_at.next();
        }
    }
    injected.read_counts(world).await?;
    injected.end_life();
    set(world, &json!({})).await?;
    Ok(injected)
}

impl InjectedFaults {
    /// Asks the stack for the faults injected since its start.
    async fn read_counts(&mut self, world: &World) -> Result<()> {
        let health = world.with(async |stack| stack.get("/_local/health").await).await??.json();
        let injected = health["faultsInjected"].as_object().into_iter().flatten();
        self.in_this_life = injected.map(|(kind, count)| (kind.clone(), count.as_u64().unwrap_or_default())).collect();
        Ok(())
    }

    /// The stack that was asked last is gone, or will not be asked again.
    fn end_life(&mut self) {
        for (kind, count) in std::mem::take(&mut self.in_this_life) {
            *self.faults.entry(kind).or_default() += count;
        }
    }
}

async fn set(world: &World, faults: &Value) -> Result<()> {
    world.with(async |stack| stack.set_faults(faults).await).await?
}

/// A set of faults, or none.
fn random_faults(rng: &mut Rng) -> Value {
    let some = |p: f64| json!({ "probability": p });
    match rng.u8(..7) {
        0 => json!({ "functions": { "kill_before": some(0.05), "kill_after": some(0.08) } }),
        1 => json!({ "functions": { "deliver_twice": some(0.5), "delay_ms": 20 } }),
        2 => json!({ "engine": { "throttle": true, "fail_before": { "*": some(0.1) }, "failure_reply": "throttled" } }),
        3 => json!({ "engine": { "fail_before": { "*": some(0.04) }, "fail_after": { "*": some(0.04) } } }),
        4 => json!({ "engine": {
            "fail_after": { "TransactWriteItems": some(0.1), "PutItem": some(0.1), "UpdateItem": some(0.1) },
            "transaction_conflicts": some(0.1), "failure_reply": "connection_closed", "delay_ms": 5,
        } }),
        5 => json!({
            "sockets": { "cut": some(0.01), "delay_ms_max": 100 },
            "functions": { "kill_after": some(0.03), "deliver_twice": some(0.2) },
            "engine": { "transaction_conflicts": some(0.05) },
        }),
        _ => json!({}),
    }
}
