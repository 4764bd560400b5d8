//! An operator who recounts and repairs while records are counted, and a client that writes wrong
//! numbers.

use std::fmt::Display;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::faults::Fault;
use super::wire::Wire;
use super::world::{Sim, World};
use super::{Factory, SimError, Weakness};
use crate::recount::{Lowering, RecountError, Recounter, Scope};
use crate::shard::Shard;
use crate::{Aggregator, Policy, StoreError};

/// How often the operator looks at the table in one history.
const VISITS_MAX: u32 = 12;

/// How often a repair is repeated at the end until nothing differs.
const REPAIRS_MAX: usize = 6;

/// How long an operator looks at a measurement before the repair.
const CONFIRMATION_MS: std::ops::Range<u64> = 1..10_000;

/// The operator of a history.
pub(crate) struct Operator<T> {
    sim: Sim,
    factory: Factory<T>,
    /// Whether the quarantine is redriven.
    redrives: bool,
    /// Whether numbers may become too high, and are then lowered. In the other histories, a number
    /// that is too high is a miscount.
    lowers: bool,
    /// Whether wrong numbers were written.
    has_tampered: bool,
    /// One line for each recount that found a right number wrong.
    pub(crate) wrong: Vec<String>,
}

impl<T: Clone + 'static> Operator<T> {
    pub(crate) fn new(sim: Sim, factory: Factory<T>) -> Self {
        let aggregator = factory(Wire::new(sim.clone()).table());
        let redrives = aggregator.rollup().on_modify == Policy::Keep;
        // A batch that was given up may have taken something back, or have had negative amounts.
        let lowers = sim.with(|world| world.rng.bool() || world.rate(Fault::GivenUp) > 0.0);
        let lowers = lowers && !aggregator.rules.lacks(Weakness::UnconditionalRepair);
        Self { sim, factory, redrives, lowers, has_tampered: false, wrong: Vec::new() }
    }

    /// Tampers, redrives, recounts and repairs from time to time, until no more changes come.
    pub(crate) async fn run(mut self) -> Result<Self, SimError> {
        for _ in 0..VISITS_MAX {
            self.sim.pause(100..20_000).await;
            if !self.sim.with(|world| world.is_open) {
                break;
            }
            if self.strikes(Fault::Tamper) {
                self.tamper()?;
            }
            if self.redrives && self.strikes(Fault::Redrive) {
                self.twice(async || self.redrive().await).await;
            }
            if self.strikes(Fault::Recount) {
                self.recount().await;
            }
            if self.strikes(Fault::Repair) {
                // Most repairs have something to do.
                if self.sim.with(|world| world.rng.u8(..4) > 0) {
                    self.sim.with(|world| world.tally.note(Fault::Tamper));
                    self.tamper()?;
                }
                self.twice(async || self.repair().await).await;
            }
        }
        Ok(self)
    }

    fn strikes(&self, fault: Fault) -> bool {
        self.sim.with(|world| world.strikes(fault))
    }

    /// Runs a command once, or twice at once.
    async fn twice<R>(&self, command: impl AsyncFn() -> R) {
        if self.sim.with(|world| world.rng.bool()) {
            tokio::join!(command(), command());
        } else {
            command().await;
        }
    }

    /// Runs a command in a process of its own, which a fault may kill. `None` if it died or failed.
    async fn command<R, E: Display>(
        &self,
        command: impl AsyncFnOnce(Aggregator<T>, Wire) -> Result<R, E>,
    ) -> Option<R> {
        let wire = Wire::new(self.sim.clone());
        let outcome = tokio::select! {
            biased;
            () = wire.killed() => Err("it is dead".to_owned()),
            outcome = command((self.factory)(wire.table()), wire.clone()) => outcome.map_err(|error| error.to_string()),
        };
        let trace =
            |why: &String| self.sim.with(|world| world.trace(|| format!("a command of the operator fails: {why}")));
        outcome.inspect_err(trace).ok()
    }

    async fn redrive(&self) {
        let now = self.sim.with(World::now);
        self.command(async move |aggregator, wire| redrive_all(&aggregator, &wire, now).await).await;
    }

    /// Adds to a number of a statistic, or deletes an item of a value.
    fn tamper(&mut self) -> Result<(), SimError> {
        let aggregator = (self.factory)(Wire::new(self.sim.clone()).table());
        let extremes = aggregator.rollup().measures.iter().filter(|(_, of)| of.is_stored_extreme());
        let extremes: Vec<_> = extremes.map(|(name, _)| name.clone()).collect();
        self.sim.with(|world| {
            let items = world.table.items()?;
            let (mut stats, mut values) = (Vec::new(), Vec::new());
            for item in &items {
                let (partition, sort) = world.table.key_of(item);
                if partition.contains("#SEEN#") || partition.contains("#HELD#") {
                    values.push(item);
                } else if aggregator.rollup().group_of(&partition, &sort).is_some() {
                    stats.push(item);
                }
            }
            let keys = world.table.keys.clone();
            let key = |item: &Value| json!({&keys[0]: item[&keys[0]], &keys[1]: item[&keys[1]]});
            if self.lowers && world.rng.u8(..3) == 0 {
                let Some(item) = world.rng.choice(&values).copied() else { return Ok(()) };
                // A record that was written a moment ago may still be needed.
                return if world.rng.bool() { world.table.delete(&key(item)) } else { Ok(()) };
            }
            let Some(item) = world.rng.choice(&stats).copied() else { return Ok(()) };
            let Value::Object(attributes) = item else { return Ok(()) };
            // A minimum or maximum that is too far out cannot be told from one of a deleted item.
            let is_sum = |name: &String| !extremes.contains(name);
            let numbers: Vec<_> = attributes
                .iter()
                .filter(|(name, value)| value["N"].is_string() && is_sum(name))
                .map(|(name, _)| name.clone())
                .collect();
            let Some(name) = world.rng.choice(&numbers).cloned() else { return Ok(()) };
            let added = world.rng.i64(1..50) * if self.lowers && world.rng.bool() { 1 } else { -1 };
            world.trace(|| format!("tamper {} {name} {added}", key(item)));
            world.table.add(&key(item), &name, added)
        })?;
        self.has_tampered = true;
        Ok(())
    }

    async fn recount(&mut self) {
        let is_calm = |operator: &Self| {
            let given_up = operator.sim.with(|world| world.tally.of(Fault::GivenUp));
            !operator.has_tampered && given_up == 0
        };
        let was_calm = is_calm(self);
        let measured =
            self.command(async |aggregator, wire| recounter(&aggregator, &wire).check(&Scope::All, |_| {}).await).await;
        self.sim.with(|world| world.trace(|| format!("recount: {measured:?}")));
        if let Some(measured) = measured.filter(|measured| was_calm && is_calm(self) && !measured.is_right()) {
            self.wrong.push(format!("a recount finds right numbers wrong: {measured:?}"));
        }
    }

    /// Measures and repairs. Returns whether nothing was wrong; `None` if a request failed. The
    /// next repair does the rest.
    async fn repair(&self) -> Option<bool> {
        let (now, lowers, sim) = (self.sim.with(World::now), self.lowers, self.sim.clone());
        let repaired = self.command(async move |aggregator, wire| {
            let recounter = recounter(&aggregator, &wire);
            let mut measured = recounter.check(&Scope::All, |_| {}).await.map_err(|error| error.to_string())?;
            let is_right = measured.is_right();
            // Another repair may run meanwhile.
            sim.pause(CONFIRMATION_MS).await;
            match aggregator.rules.weakness {
                Some(Weakness::UnconditionalRepair) => {
                    let shard = Shard::repair();
                    let now = shard.checkpoint(&aggregator.table, &aggregator.rollup.name).await;
                    measured.repair = now.map_err(|error| error.to_string())?;
                }
                Some(Weakness::RepairWithoutRecords) => measured.missing.clear(),
                _ => {}
            }
            let lowering = if lowers { Lowering::UpTo(measured.too_high()) } else { Lowering::Nothing };
            let outcome = recounter.repair(&measured, lowering, now, |_| {}).await;
            outcome.map(|_| is_right).map_err(|error| format!("repair of {measured:?}: {error}"))
        });
        repaired.await
    }

    /// Redrives what waits, and repairs until nothing differs.
    pub(crate) async fn finish(&mut self) -> Result<(), SimError> {
        let wire = Wire::new(self.sim.clone());
        if self.redrives {
            let now = self.sim.with(World::now);
            redrive_all(&(self.factory)(wire.table()), &wire, now).await.map_err(SimError::new)?;
        }
        for _ in 0..REPAIRS_MAX {
            if self.repair().await == Some(true) {
                return Ok(());
            }
            sleep(Duration::from_secs(5)).await;
        }
        self.wrong.push("repairs do not make the statistics right".to_owned());
        Ok(())
    }

    /// Recounts without faults and without tampering: nothing may differ.
    pub(crate) async fn last_recount(&mut self) -> Result<(), SimError> {
        let wire = Wire::new(self.sim.clone());
        let aggregator = (self.factory)(wire.table());
        let recounter = recounter(&aggregator, &wire);
        match recounter.check(&Scope::All, |_| {}).await {
            Ok(measured) if measured.is_right() => {}
            Ok(measured) => self.wrong.push(format!("the last recount finds {measured:?}")),
            Err(RecountError::Store(error)) => return Err(SimError::new(error)),
            Err(error) => self.wrong.push(format!("the last recount has no result: {error}")),
        }
        Ok(())
    }
}

/// A recounter that judges a table with as few items as a history has.
pub(crate) fn recounter<'a, T: Clone>(aggregator: &'a Aggregator<T>, wire: &Wire) -> Recounter<'a, T> {
    let mut recounter = Recounter::new(aggregator, wire.items(), wire.streams_client());
    recounter.judges_few_items = true;
    recounter
}

/// Redrives all waiting records.
async fn redrive_all<T>(aggregator: &Aggregator<T>, wire: &Wire, now: Timestamp) -> Result<(), StoreError> {
    for record in aggregator.quarantined().await?.iter().filter(|record| record.ending.is_none()) {
        aggregator.redrive(record, &wire.items(), now).await?;
    }
    Ok(())
}
