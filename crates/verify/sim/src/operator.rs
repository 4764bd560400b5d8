//! The operator, and whoever makes an operator necessary: statistics are tampered with, clicks are
//! mended, and the command line's steps run while clicks keep coming. Each command is a process of
//! its own, which a fault may kill.

use std::future::Future;

use domain::clicks::{Period, RecountScope};
use jiff::Timestamp;
use serde_json::{Value, json};
use store::clicks::{
    Checkpoints, DateShards, Measurement, Quarantine, QuarantinedRecord, Recounter, Redriver, RepairReport, Repairer,
    ShardCheckpoint,
};

use crate::faults::Fault;
use crate::implementation::Implementation;
use crate::mutations::redrive_non_idempotent;
use crate::stat_errors::{StatError, StatErrors, scope_of};
use crate::wire::Wire;
use crate::world::{Sim, World};

/// The most index partitions of a day that a crowd's writer may use.
const DATE_SHARDS: u8 = 4;

/// How often the last repair is begun again at the most.
const LAST_REPAIRS_MAX: usize = 3;

/// How long an operator rests, milliseconds.
const REST_MS: std::ops::Range<u64> = 200..8_000;

/// An operator, and the known errors of the statistics.
pub(crate) struct Operator {
    sim: Sim,
    implementation: Implementation,
    stat_errors: StatErrors,
    /// What recounts said that they should not have.
    wrong: Vec<String>,
}

impl Operator {
    pub(crate) fn new(sim: Sim, implementation: Implementation) -> Self {
        Self { sim, implementation, stat_errors: StatErrors::default(), wrong: Vec::new() }
    }

    /// Works as long as clicks are to come.
    pub(crate) async fn run(mut self) -> anyhow::Result<Self> {
        while self.implementation.has_operator() && self.sim.with(|world| world.is_open) {
            self.sim.pause(REST_MS).await;
            if self.sim.with(|world| world.is_out()) {
                continue;
            }
            if self.strikes(Fault::Tamper) {
                self.tamper()?;
            }
            if self.strikes(Fault::Mend) {
                self.sim.with(mend)?;
            }
            if self.strikes(Fault::Redrive) {
                self.redrive().await;
            }
            if self.strikes(Fault::Recount) {
                let scope = self.scope()?;
                let measured = self.command(|wire| measure(wire, scope)).await;
                self.judge(scope, measured.as_ref());
            }
            if self.strikes(Fault::Repair) {
                // Most repairs have something to do.
                if self.sim.with(|world| world.rng.u8(..4) > 0) {
                    self.sim.with(|world| world.tally.note(Fault::Tamper));
                    self.tamper()?;
                }
                self.repair().await?;
            }
        }
        Ok(self)
    }

    /// After all clicks are counted, repairs the remaining differences, and returns the errors of
    /// all recounts.
    pub(crate) async fn finish(&mut self) -> anyhow::Result<Vec<String>> {
        if !self.implementation.has_operator() {
            return Ok(Vec::new());
        }
        let gives_up = self.gives_up();
        if gives_up {
            self.sim.with(|world| world.stream.forget(&mut world.rng));
        }
        let wire = Wire::new(self.sim.clone());
        redrive_all(wire.clone(), self.implementation, Timestamp::UNIX_EPOCH).await?;
        for _ in 0..LAST_REPAIRS_MAX {
            let measured = recounter(&wire).check(RecountScope::All, |_| {}).await?;
            self.judge(RecountScope::All, Some(&measured));
            if measured.differences.is_empty() && measured.unmarked.is_empty() {
                break;
            }
            // Where nobody wrote too much into a statistic, nothing may be too much.
            let repaired =
                repair(&wire, self.implementation, measured.clone(), !gives_up, Timestamp::UNIX_EPOCH).await?;
            self.stat_errors.repaired(RecountScope::All, &measured, &repaired.corrections);
        }
        Ok(std::mem::take(&mut self.wrong))
    }

    /// Whether the mapping gives up on batches in this history. Then the missing clicks are not
    /// known beforehand.
    pub(crate) fn gives_up(&self) -> bool {
        self.sim.with(|world| world.tally.of(Fault::GivenUp) > 0)
    }

    fn strikes(&self, fault: Fault) -> bool {
        self.sim.with(|world| world.strikes(fault))
    }

    fn judge(&mut self, scope: RecountScope, measured: Option<&Measurement>) {
        if let Some(measured) = measured.filter(|_| !self.gives_up()) {
            self.wrong.extend(self.stat_errors.judge(scope, measured));
        }
    }

    /// One process. `None` when it died or failed.
    async fn command<T, F: Future<Output = anyhow::Result<T>>>(&self, command: impl FnOnce(Wire) -> F) -> Option<T> {
        let wire = Wire::new(self.sim.clone());
        let outcome = tokio::select! {
            biased;
            () = wire.killed() => Err(anyhow::anyhow!("it is dead")),
            outcome = command(wire.clone()) => outcome,
        };
        outcome.inspect_err(|error| self.sim.with(|world| world.trace(|| format!("a command fails: {error:#}")))).ok()
    }

    async fn redrive(&self) {
        let (implementation, now) = (self.implementation, self.sim.with(World::now));
        let one = || self.command(|wire| redrive_all(wire, implementation, now));
        if self.sim.with(|world| world.rng.bool()) {
            tokio::join!(one(), one());
        } else {
            one().await;
        }
    }

    /// One repair, or two at once.
    async fn repair(&mut self) -> anyhow::Result<()> {
        let (implementation, now) = (self.implementation, self.sim.with(World::now));
        let lowers = self.sim.with(|world| world.rng.bool() && world.rate(Fault::GivenUp) == 0.0);
        let scope = self.scope()?;
        let other_scope = if self.sim.with(|world| world.rng.bool()) { scope } else { self.scope()? };
        let one = |scope| {
            self.command(move |wire| async move {
                let measured = measure(wire.clone(), scope).await?;
                let repaired = repair(&wire, implementation, measured.clone(), lowers, now).await;
                Ok((measured, repaired.ok()))
            })
        };
        if self.sim.with(|world| world.rng.bool()) {
            let outcome = one(scope).await;
            self.judge(scope, outcome.as_ref().map(|(measured, _)| measured));
            match outcome {
                Some((measured, Some(repaired))) if !repaired.corrections.is_empty() => {
                    self.stat_errors.repaired(scope, &measured, &repaired.corrections);
                }
                _ => self.stat_errors.may_be_repaired(scope, lowers),
            }
        } else {
            let (first, second) = tokio::join!(one(scope), one(other_scope));
            for scope in [scope, other_scope] {
                self.stat_errors.may_be_repaired(scope, lowers);
            }
            self.judge(scope, first.as_ref().map(|(measured, _)| measured));
            self.judge(other_scope, second.as_ref().map(|(measured, _)| measured));
        }
        Ok(())
    }

    /// Everything, or what some statistic belongs to.
    fn scope(&self) -> anyhow::Result<RecountScope> {
        self.sim.with(|world| {
            let statistics = statistics(world)?;
            let period = world.rng.choice(&statistics).map(|(period, _)| *period);
            let (everything, whole_month) = (world.rng.bool(), world.rng.bool());
            Ok(period.filter(|_| !everything).map_or(RecountScope::All, |period| scope_of(period, whole_month)))
        })
    }

    /// Writes another number into a statistic, or deletes it.
    fn tamper(&mut self) -> anyhow::Result<()> {
        let (stat_errors, sim) = (&mut self.stat_errors, &self.sim);
        sim.with(|world| {
            let statistics = statistics(world)?;
            let Some(&(period, (clicks, users))) = world.rng.choice(&statistics) else { return Ok(()) };
            let may_raise = world.rate(Fault::GivenUp) == 0.0;
            let added = match world.rng.u8(..4) {
                // A repair under way may be about to subtract: below zero, nobody could read the
                // statistic.
                0 if !stat_errors.may_be_above(period) => (-clicks, -users),
                1 if !stat_errors.may_be_above(period) => (-world.rng.i128(0..=clicks), -world.rng.i128(0..=users)),
                2 if may_raise && period != Period::Total => (0, world.rng.i128(1..9)),
                _ if may_raise => (world.rng.i128(1..9), 0),
                _ => return Ok(()),
            };
            world.trace(|| format!("{period} is tampered with by {added:?}"));
            stat_errors.tamper(period, added);
            let key = stat_key(period);
            if added == (-clicks, -users) {
                return world.table.change("DeleteItem", json!({"Key": key}));
            }
            let n = |n: i128| json!({"N": n.to_string()});
            let (expression, values) = match period {
                Period::Total => ("ADD totalClicks :c", json!({":c": n(added.0)})),
                _ => ("ADD totalClicks :c, uniqueUsers :u", json!({":c": n(added.0), ":u": n(added.1)})),
            };
            let update = json!({"Key": key, "UpdateExpression": expression, "ExpressionAttributeValues": values});
            world.table.change("UpdateItem", update)
        })
    }
}

/// Mends a click that could not be read, in its place; or deletes it.
fn mend(world: &mut World) -> anyhow::Result<()> {
    if world.mendable.is_empty() {
        return Ok(());
    }
    let index = world.rng.usize(..world.mendable.len());
    let item = world.mendable.swap_remove(index);
    world.trace(|| format!("mended: {item}"));
    if world.rng.u8(..5) == 0 {
        let key = json!({"userId": item["userId"], "createDateTime": item["createDateTime"]});
        return world.table.change("DeleteItem", json!({"Key": key}));
    }
    let text = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    world.stream.expect_mended(text("userId"), text("createDateTime"));
    world.table.put(&item)
}

/// Each statistic that there is, with its clicks and users.
fn statistics(world: &mut World) -> anyhow::Result<Vec<(Period, StatError)>> {
    let mut statistics = Vec::new();
    for item in world.table.items()? {
        let sort = item["createDateTime"]["S"].as_str().unwrap_or_default();
        let period = match item["userId"]["S"].as_str().unwrap_or_default() {
            "STAT#DAILY" => domain::calendar::parse_date(sort).ok().map(Period::Day),
            "STAT#MONTHLY" => sort.parse().ok().map(Period::Month),
            "STAT#TOTAL" => Some(Period::Total),
            _ => None,
        };
        let number = |name: &str| item[name]["N"].as_str().map_or(Ok(0), str::parse::<i128>);
        if let Some(period) = period {
            statistics.push((period, (number("totalClicks")?, number("uniqueUsers")?)));
        }
    }
    Ok(statistics)
}

fn stat_key(period: Period) -> Value {
    let (partition, sort) = match period {
        Period::Day(day) => ("STAT#DAILY", day.to_string()),
        Period::Month(month) => ("STAT#MONTHLY", month.to_string()),
        Period::Total => ("STAT#TOTAL", "METADATA".to_owned()),
    };
    json!({"userId": {"S": partition}, "createDateTime": {"S": sort}})
}

fn recounter(wire: &Wire) -> Recounter {
    Recounter::new(&wire.table(), wire.streams_client(), DateShards::new(DATE_SHARDS).unwrap_or_default())
}

/// One look. The simulated stream has a click as soon as the table has it, so one is enough.
async fn measure(wire: Wire, scope: RecountScope) -> anyhow::Result<Measurement> {
    Ok(recounter(&wire).measure(scope, |_| {}).await?)
}

/// The repair, or one of the weakened ones: they are handed the wrong measurement.
async fn repair(
    wire: &Wire,
    implementation: Implementation,
    mut measured: Measurement,
    lowers: bool,
    now: Timestamp,
) -> anyhow::Result<RepairReport> {
    match implementation {
        Implementation::UnconditionalRepair => {
            measured.repaired_to = Checkpoints::new(&wire.table()).checkpoint(&ShardCheckpoint::repair()).await?;
        }
        Implementation::RepairWithoutFirstSeen => measured.unmarked.clear(),
        _ => {}
    }
    Ok(Repairer::new(&wire.table()).repair(&measured, lowers, now, |_| {}).await?)
}

async fn redrive_all(wire: Wire, implementation: Implementation, now: Timestamp) -> anyhow::Result<()> {
    let (quarantine, redriver) = (Quarantine::new(&wire.table()), Redriver::new(&wire.table()));
    let (mut kept, mut after): (Vec<QuarantinedRecord>, Option<String>) = (Vec::new(), None);
    loop {
        let (page, next) = quarantine.list(after.as_deref()).await?;
        kept.extend(page);
        after = next;
        if after.is_none() {
            break;
        }
    }
    for kept in kept.iter().filter(|kept| kept.ending.is_none()) {
        if implementation == Implementation::NonIdempotentRedrive {
            redrive_non_idempotent(wire.client(), kept, now).await?;
        } else {
            redriver.redrive(kept, now).await?;
        }
    }
    Ok(())
}
