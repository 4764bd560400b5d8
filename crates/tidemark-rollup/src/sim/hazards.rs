//! What a history may have beside the usual faults: a stranger's table, and his mistakes.

use std::time::Duration;

use tokio::time::sleep;

use super::items::Items;
use super::mapping::Mapping;
use super::operator::recounter;
use super::wire::Wire;
use super::world::{Sim, World};
use super::{Factory, SimError, Weakness};
use crate::recount::{Lowering, Scope};

/// After how long at most a new version of the function comes.
const DEPLOYED_AFTER_MS: std::ops::Range<u64> = 1..20_000;

/// How long the operator waits between two recounts.
const RECOUNT_PAUSE: Duration = Duration::from_secs(7);

/// The probability that a shard is followed by another before a record, where shards grow.
pub(crate) const ROLLS: f64 = 0.7;

/// A hazard of a history. Each is met by a rule, which [`Hazard::rule`] leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hazard {
    /// A new version of the function has another declaration: see
    /// [`Simulation::redeployed`](super::Simulation::redeployed).
    ChangedDeclaration,
    /// An operator recounts and repairs with a client of another region.
    OtherRegion,
    /// The number of shards grows with each record.
    GrowingShards,
    /// The stream of a replica in another region delivers the same changes.
    TwoStreams,
}

impl Hazard {
    /// Every hazard.
    pub const ALL: &[Self] = &[Self::ChangedDeclaration, Self::OtherRegion, Self::GrowingShards, Self::TwoStreams];

    /// The rule that keeps the statistics exact.
    pub fn rule(self) -> Weakness {
        match self {
            Self::ChangedDeclaration => Weakness::AnyDeclaration,
            Self::OtherRegion => Weakness::AnyRegion,
            Self::GrowingShards => Weakness::UncheckedFold,
            Self::TwoStreams => Weakness::AnyTable,
        }
    }
}

/// Deploys another version of the function at some moment.
pub(crate) async fn redeploy(sim: Sim) {
    sim.pause(DEPLOYED_AFTER_MS).await;
    sim.with(|world| {
        world.trace(|| "a new version is deployed".to_owned());
        world.deployed += 1;
    });
}

/// Recounts and repairs until each record is delivered: a repair lets the new version count.
pub(crate) async fn accept<T: Clone + 'static>(sim: Sim, factory: Factory<T>) {
    while !sim.with(|world| world.is_drained) {
        sleep(RECOUNT_PAUSE).await;
        if sim.with(|world| world.deployed) == 0 {
            continue;
        }
        let (wire, now) = (Wire::new(sim.clone()), sim.with(World::now));
        let outcome = tokio::select! {
            biased;
            () = wire.killed() => "it is dead".to_owned(),
            outcome = repair(&factory, &wire, now) => outcome,
        };
        sim.with(|world| world.trace(|| format!("a recount of the new version: {outcome}")));
    }
}

/// Recounts, and repairs all differences if the declaration is new.
async fn repair<T: Clone>(factory: &Factory<T>, wire: &Wire, now: jiff::Timestamp) -> String {
    let aggregator = factory(wire.table());
    let recounter = recounter(&aggregator, wire);
    let measured = match recounter.check(&Scope::All, |_| {}).await {
        Ok(measured) => measured,
        Err(error) => return error.to_string(),
    };
    if !measured.is_new_declaration() {
        return "the declaration is known".to_owned();
    }
    let lowering = Lowering::UpTo(measured.too_high());
    match recounter.repair(&measured, lowering, now, |_| {}).await {
        Ok(report) => format!("accepted: {}", report.accepted),
        Err(error) => error.to_string(),
    }
}

/// Recounts in another region, and repairs what that finds wrong.
pub(crate) async fn recount_abroad<T: Clone>(sim: &Sim, factory: &Factory<T>) {
    let (wire, now) = (Wire::abroad(sim.clone()), sim.with(World::now));
    let aggregator = factory(wire.table());
    let recounter = recounter(&aggregator, &wire);
    let Ok(measured) = recounter.check(&Scope::All, |_| {}).await else { return };
    // A failed repair has changed nothing, or a part.
    let _ = recounter.repair(&measured, Lowering::UpTo(measured.too_high()), now, |_| {}).await;
}

/// Delivers everything once more from the stream of a replica.
pub(crate) async fn deliver_replica(sim: &Sim, mapping: &Mapping, items: &Items) -> Result<(), SimError> {
    // The first stream that is counted is that of the table.
    let is_counted = |world: &mut World| world.table.items().map(|items| items.len() as u64 > 0);
    if items.changes > 0 && sim.with(is_counted)? {
        mapping.replica().deliver_all().await?;
    }
    Ok(())
}

/// The ARN of a stream in the region of the replica.
pub(crate) fn abroad(text: &str) -> String {
    text.replace("arn:aws:dynamodb:us-east-1:", "arn:aws:dynamodb:eu-central-1:")
}
