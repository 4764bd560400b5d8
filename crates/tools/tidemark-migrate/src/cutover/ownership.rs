//! The rules of the cutover, without a database: which side may write for a user, and how far the
//! user's log has been replicated.
//!
//! Each user has an *ownership record* on each side with two numbers. `version` counts the user's
//! changes; `epoch` says which side may make them. PostgreSQL may write while its own record has an
//! even epoch, DynamoDB while its own record has an odd one. A move has three steps: it closes one
//! side by increasing its epoch by one, replicates the rest of the log to the other side, and opens
//! the other side by increasing its epoch to the same value. So
//!
//! - the two epochs are never more than one apart, and the higher one belongs to the side that
//!   wrote last;
//! - at no moment do both sides allow a write, even if processes die at any step, or several move
//!   the same user in both directions;
//! - each version is made by one side, in one order, and replicated to the other side once.

use std::fmt;

use serde::Serialize;

/// One of the two databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The owner of all users before the cutover.
    Postgres,
    /// The owner of all users after the cutover.
    Dynamo,
}

impl Side {
    /// The other side.
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Postgres => Self::Dynamo,
            Self::Dynamo => Self::Postgres,
        }
    }

    /// Whether this side owns the user in that epoch.
    fn has(self, epoch: u32) -> bool {
        epoch.is_multiple_of(2) == (self == Self::Postgres)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Postgres => "PostgreSQL",
            Self::Dynamo => "DynamoDB",
        })
    }
}

/// The state of a user on one side. A user without a record has a record of zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ownership {
    /// Even: PostgreSQL owns the user; odd: DynamoDB does.
    pub(crate) epoch: u32,
    /// The number of the user's changes that this side has, its own and the replicated ones.
    pub(crate) version: u64,
}

impl Ownership {
    /// Whether `side`, whose record this is, may make changes.
    pub(crate) fn is_open(self, side: Side) -> bool {
        side.has(self.epoch)
    }
}

/// Both ownership records of a user. They are read one after the other, so each may be outdated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ownerships {
    /// PostgreSQL's.
    pub(crate) postgres: Ownership,
    /// DynamoDB's.
    pub(crate) dynamo: Ownership,
}

/// The next step of moving a user to a side. Each step is one conditional write, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveStep {
    /// Increase the side's epoch by one: the side stops writing.
    Close {
        side: Side,
        /// The epoch that the record must still have.
        epoch: u32,
    },
    /// Neither side may write. Replicate the missing changes to this side.
    Replicate { to: Side },
    /// Increase the side's epoch from `epoch - 1` to `epoch`: the side may write.
    Open {
        side: Side,
        /// The epoch of the closed side.
        epoch: u32,
        /// The version of the closed side, which the other side must have.
        version: u64,
    },
    /// The user is on the right side.
    Done,
}

impl Ownerships {
    pub(super) fn of(self, side: Side) -> Ownership {
        match side {
            Side::Postgres => self.postgres,
            Side::Dynamo => self.dynamo,
        }
    }

    /// The side that wrote last, and so has all changes: the open side, or during a move the closed
    /// one.
    pub(crate) fn leader(self) -> Side {
        let epoch = self.postgres.epoch.max(self.dynamo.epoch);
        if self.postgres.epoch == self.dynamo.epoch {
            if Side::Postgres.has(epoch) { Side::Postgres } else { Side::Dynamo }
        } else if self.postgres.epoch == epoch {
            Side::Postgres
        } else {
            Side::Dynamo
        }
    }

    /// The next step towards `goal`. A move that was started is finished first, in either
    /// direction.
    pub(crate) fn next_step(self, goal: Side) -> MoveStep {
        let leader = self.leader();
        let (ahead, behind) = (self.of(leader), self.of(leader.other()));
        if ahead.epoch == behind.epoch {
            if leader == goal { MoveStep::Done } else { MoveStep::Close { side: leader, epoch: ahead.epoch } }
        } else if ahead.version == behind.version {
            MoveStep::Open { side: leader.other(), epoch: ahead.epoch, version: ahead.version }
        } else {
            MoveStep::Replicate { to: leader.other() }
        }
    }
}

/// Which of a hundred buckets a user is in: with `percent` at 30, the users of the buckets 0 to 29
/// are moved.
pub fn bucket(user: &str) -> u8 {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(user.as_bytes());
    let number = digest.iter().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    u8::try_from(number % 100).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A way in which the protocol could be wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Mutation {
        None,
        /// A writer relies on the ownership record that it has read.
        NoFence,
        /// Only the writer replicates its change; no outbox records it.
        NoOutbox,
        /// A change is applied without comparing versions.
        NoVersion,
        /// An ownership is opened although changes are not replicated yet.
        NoWaiting,
    }

    /// One database, as far as one user is concerned.
    #[derive(Clone, Debug, Default)]
    struct Store {
        ownership: Ownership,
        log: Vec<u32>,
        outbox: BTreeMap<u64, u32>,
    }

    /// A process in the middle of its work. A kill drops it.
    #[derive(Clone, Debug)]
    enum Actor {
        Writer { change: u32, looked: Option<(Side, Ownership)> },
        Teller { from: Side, seen: Vec<(u64, u32)>, applied: bool },
        Mover { goal: Side, postgres: Option<Ownership>, dynamo: Option<Ownership>, steps_left: u32 },
    }

    struct World {
        mutation: Mutation,
        postgres: Store,
        dynamo: Store,
        answered: Vec<u32>,
    }

    impl World {
        fn store(&mut self, side: Side) -> &mut Store {
            match side {
                Side::Postgres => &mut self.postgres,
                Side::Dynamo => &mut self.dynamo,
            }
        }

        /// One atomic step of an actor; returns the actor's next state, if it continues.
        fn step(&mut self, actor: Actor, random: &mut fastrand::Rng) -> Option<Actor> {
            match actor {
                Actor::Writer { change, looked: None } => {
                    let side = if random.bool() { Side::Postgres } else { Side::Dynamo };
                    let ownership = self.store(side).ownership;
                    Some(Actor::Writer { change, looked: ownership.is_open(side).then_some((side, ownership)) })
                }
                Actor::Writer { change, looked: Some((side, ownership)) } => {
                    let mutation = self.mutation;
                    let store = self.store(side);
                    if store.ownership != ownership && mutation != Mutation::NoFence {
                        return Some(Actor::Writer { change, looked: None });
                    }
                    store.ownership.version += 1;
                    store.log.push(change);
                    let version = store.ownership.version;
                    if mutation != Mutation::NoOutbox {
                        store.outbox.insert(version, change);
                    }
                    self.answered.push(change);
                    Some(Actor::Teller { from: side, seen: vec![(version, change)], applied: false })
                }
                Actor::Teller { from, seen, .. } if seen.is_empty() => {
                    let seen: Vec<_> = self.store(from).outbox.clone().into_iter().collect();
                    (!seen.is_empty()).then_some(Actor::Teller { from, seen, applied: false })
                }
                Actor::Teller { from, seen, applied: false } => {
                    let (version, change) = seen[0];
                    let ordered = self.mutation != Mutation::NoVersion;
                    let to = self.store(from.other());
                    if to.ownership.version + 1 == version || !ordered {
                        to.ownership.version = version.max(to.ownership.version);
                        to.log.push(change);
                    } else if to.ownership.version < version {
                        // An earlier change is missing: start again, or leave it to another
                        // process.
                        return random.bool().then_some(Actor::Teller { from, seen: Vec::new(), applied: false });
                    }
                    Some(Actor::Teller { from, seen, applied: true })
                }
                Actor::Teller { from, mut seen, applied: true } => {
                    let (version, _) = seen.remove(0);
                    self.store(from).outbox.remove(&version);
                    (!seen.is_empty()).then_some(Actor::Teller { from, seen, applied: false })
                }
                Actor::Mover { goal, postgres: None, steps_left, .. } => {
                    Some(Actor::Mover { goal, postgres: Some(self.postgres.ownership), dynamo: None, steps_left })
                }
                Actor::Mover { goal, postgres, dynamo: None, steps_left } => {
                    Some(Actor::Mover { goal, postgres, dynamo: Some(self.dynamo.ownership), steps_left })
                }
                Actor::Mover { goal, postgres: Some(postgres), dynamo: Some(dynamo), steps_left } => {
                    match (Ownerships { postgres, dynamo }).next_step(goal) {
                        MoveStep::Done => return None,
                        MoveStep::Close { side, epoch } => {
                            let ownership = &mut self.store(side).ownership;
                            if ownership.epoch == epoch {
                                ownership.epoch += 1;
                            }
                        }
                        MoveStep::Replicate { to } => self.replicate(to),
                        MoveStep::Open { side, epoch, version } => self.open(side, epoch, version),
                    }
                    let again =
                        Actor::Mover { goal, postgres: None, dynamo: None, steps_left: steps_left.checked_sub(1)? };
                    Some(again)
                }
            }
        }

        /// Replicates the first change that a side lacks.
        fn replicate(&mut self, to: Side) {
            if self.mutation == Mutation::NoWaiting {
                let version = self.store(to.other()).ownership.version;
                let epoch = self.store(to.other()).ownership.epoch;
                self.store(to).ownership.version = version;
                return self.open(to, epoch, version);
            }
            let next = self.store(to).ownership.version + 1;
            if let Some(change) = self.store(to.other()).outbox.get(&next).copied() {
                let store = self.store(to);
                store.ownership.version = next;
                store.log.push(change);
            }
        }

        fn open(&mut self, side: Side, epoch: u32, version: u64) {
            let ownership = &mut self.store(side).ownership;
            if ownership.epoch + 1 == epoch && ownership.version == version {
                ownership.epoch = epoch;
            }
        }

        fn is_safe(&self) -> bool {
            let both = self.postgres.ownership.is_open(Side::Postgres) && self.dynamo.ownership.is_open(Side::Dynamo);
            !both && self.postgres.ownership.epoch.abs_diff(self.dynamo.ownership.epoch) <= 1
        }
    }

    /// A random history of one user: writers, replicators and movers in both directions, some of
    /// them killed. Checks the final state.
    fn history(seed: u64, mutation: Mutation) -> Result<(), String> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = World { mutation, postgres: Store::default(), dynamo: Store::default(), answered: Vec::new() };
        let mut actors = Vec::new();
        let mut changes = 0;
        for _ in 0..random.u32(20..200) {
            match random.u32(0..10) {
                0 | 1 => {
                    changes += 1;
                    actors.push(Actor::Writer { change: changes, looked: None });
                }
                2 => {
                    let goal = if random.bool() { Side::Postgres } else { Side::Dynamo };
                    actors.push(Actor::Mover { goal, postgres: None, dynamo: None, steps_left: 20 });
                }
                3 => {
                    let from = if random.bool() { Side::Postgres } else { Side::Dynamo };
                    actors.push(Actor::Teller { from, seen: Vec::new(), applied: false });
                }
                4 if !actors.is_empty() => drop(actors.swap_remove(random.usize(0..actors.len()))),
                _ if !actors.is_empty() => {
                    let actor = actors.swap_remove(random.usize(0..actors.len()));
                    actors.extend(world.step(actor, &mut random));
                }
                _ => {}
            }
            if !world.is_safe() {
                return Err("both sides may write".to_owned());
            }
        }
        // All actors are killed. One mover moves the user to a side, and both outboxes are
        // replicated.
        let goal = if random.bool() { Side::Postgres } else { Side::Dynamo };
        let mut actor = Some(Actor::Mover { goal, postgres: None, dynamo: None, steps_left: 500 });
        while let Some(now) = actor {
            actor = world.step(now, &mut random);
        }
        for to in [Side::Postgres, Side::Dynamo] {
            for _ in 0..changes {
                world.replicate(to);
            }
        }
        if !world.store(goal).ownership.is_open(goal) || world.store(goal.other()).ownership.is_open(goal.other()) {
            return Err("the user did not arrive".to_owned());
        }
        if world.postgres.log != world.dynamo.log {
            return Err(format!("PostgreSQL has {:?}, DynamoDB {:?}", world.postgres.log, world.dynamo.log));
        }
        let mut made = world.postgres.log.clone();
        made.sort_unstable();
        world.answered.sort_unstable();
        if made == world.answered {
            Ok(())
        } else {
            Err(format!("{:?} were answered, {made:?} are there", world.answered))
        }
    }

    #[test]
    fn ownership_protocol_loses_no_answered_change_despite_kills() {
        for seed in 0..20_000 {
            history(seed, Mutation::None).unwrap_or_else(|why| panic!("history {seed}: {why}"));
        }
    }

    #[test]
    fn each_part_of_the_protocol_is_necessary() {
        for mutation in [Mutation::NoFence, Mutation::NoOutbox, Mutation::NoVersion, Mutation::NoWaiting] {
            let found = (0..20_000).find(|seed| history(*seed, mutation).is_err());
            assert!(found.is_some(), "{mutation:?} was never found");
        }
    }

    #[test]
    fn users_are_spread_over_the_buckets_and_stay_in_theirs() {
        let mut buckets = [0_u32; 100];
        for user in 0..20_000 {
            buckets[usize::from(bucket(&format!("user-{user}")))] += 1;
        }
        assert!(buckets.iter().all(|users| (120..=280).contains(users)), "{buckets:?}");
        assert_eq!(bucket("aB3dE5"), bucket("aB3dE5"));
    }
}
