//! Which side may write for a user, and the version of the user's change log: the rules of the
//! cutover, without a database.
//!
//! Each user has an *ownership record* on either side: two numbers. `version` counts the user's
//! changes, `epoch` says which side may make them. PostgreSQL may write while its own ownership has
//! an even epoch, DynamoDB while its own has an odd one. A move closes the one ownership by raising
//! its epoch by one, tells the other side the rest of the log, and opens the ownership there by
//! raising that to the same epoch. So
//!
//! - the two epochs are never more than one apart, and the higher one belongs to the side that
//!   wrote last;
//! - at no moment do both sides allow a write, after any crash, and with any number of movers of
//!   the same user;
//! - each version is made by one side, in one order, and told to the other once.

use std::fmt;

use serde::Serialize;

/// One of the two databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Where everybody is before the cutover.
    Postgres,
    /// Where everybody is after it.
    Dynamo,
}

impl Side {
    /// The other one.
    pub fn other(self) -> Self {
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

/// The state of a user on one side. A user without an ownership item has the ownership of zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ownership {
    /// Even: PostgreSQL owns the user; odd: DynamoDB does.
    pub epoch: u32,
    /// How many changes of the user this side has, its own and those that it was told.
    pub version: u64,
}

impl Ownership {
    /// Whether that side, whose ownership this is, may make changes.
    pub fn is_open(self, side: Side) -> bool {
        side.has(self.epoch)
    }
}

/// Both of a user's ownerships, read one after the other: either may be out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ownerships {
    /// PostgreSQL's.
    pub postgres: Ownership,
    /// DynamoDB's.
    pub dynamo: Ownership,
}

/// The next step to move a user to a side. Each is at most one conditional write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveStep {
    /// Raise the side's epoch from this one by one: it writes no more.
    Close {
        /// The side that writes now.
        side: Side,
        /// The epoch that must still be there.
        epoch: u32,
    },
    /// No side may write. Replicate the missing changes to this side.
    Replicate {
        /// The side that is behind.
        to: Side,
    },
    /// Raise the side's epoch from `epoch - 1` to `epoch`: it may write.
    Open {
        /// The side that takes over.
        side: Side,
        /// The epoch of the side that was closed.
        epoch: u32,
        /// The version of the side that was closed; the other one must have it.
        version: u64,
    },
    /// The user is where they should be.
    Done,
}

impl Ownerships {
    fn of(self, side: Side) -> Ownership {
        match side {
            Side::Postgres => self.postgres,
            Side::Dynamo => self.dynamo,
        }
    }

    /// The side that wrote last, and so has everything: the open one, or during a move the one that
    /// was closed.
    pub fn leader(self) -> Side {
        let epoch = self.postgres.epoch.max(self.dynamo.epoch);
        if self.postgres.epoch == self.dynamo.epoch {
            if Side::Postgres.has(epoch) { Side::Postgres } else { Side::Dynamo }
        } else if self.postgres.epoch == epoch {
            Side::Postgres
        } else {
            Side::Dynamo
        }
    }

    /// The next step next_step `goal`. A move that was begun is finished first, whichever way it
    /// goes.
    pub fn next_step(self, goal: Side) -> MoveStep {
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

/// Which of a hundred parts a user is in: with `percent` at 30, the users of the parts 0 to 29 go
/// over.
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

    /// A way in which the protocol could have been built wrong.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Mutation {
        None,
        /// A writer uses the ownership that it has read.
        NoFence,
        /// Who writes tells the other side, and nobody notes that it is to be told.
        NoOutbox,
        /// A change is applied whatever the version.
        NoVersion,
        /// An ownership is opened although changes are on their way.
        NoWaiting,
    }

    /// One database, as far as one user goes.
    #[derive(Clone, Debug, Default)]
    struct Store {
        ownership: Ownership,
        log: Vec<u32>,
        outbox: BTreeMap<u64, u32>,
    }

    /// Somebody in the midst of something. A kill drops it.
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

        /// One atomic step of an actor. Returns its next state, if there is one.
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
                        // An earlier one is missing: from the beginning, or somebody else.
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

        /// The first change that a side lacks.
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

    /// A random history of one user: writers, tellers and movers both ways, killed now and then.
    /// Whether all is well in the end.
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
        // Everybody is dead. One mover brings the user to a side, and one teller on each side
        // empties the outbox.
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
    fn whoever_dies_when_both_sides_end_with_the_same_log_and_every_answered_change() {
        for seed in 0..20_000 {
            history(seed, Mutation::None).unwrap_or_else(|why| panic!("history {seed}: {why}"));
        }
    }

    #[test]
    fn each_part_of_the_protocol_is_needed() {
        for mutation in [Mutation::NoFence, Mutation::NoOutbox, Mutation::NoVersion, Mutation::NoWaiting] {
            let found = (0..20_000).find(|seed| history(*seed, mutation).is_err());
            assert!(found.is_some(), "{mutation:?} was never found");
        }
    }

    #[test]
    fn users_spread_over_the_parts_and_stay_in_theirs() {
        let mut parts = [0_u32; 100];
        for user in 0..20_000 {
            parts[usize::from(bucket(&format!("user-{user}")))] += 1;
        }
        assert!(parts.iter().all(|users| (120..=280).contains(users)), "{parts:?}");
        assert_eq!(bucket("aB3dE5"), bucket("aB3dE5"));
    }
}
