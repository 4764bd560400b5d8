//! Who may write for a user, and how far their log has come: the rules of the shift, without a database.
//!
//! Each user has a *seat* on either side: two numbers. `version` counts the user's changes, `turn` says whose turn it is to make them.
//! PostgreSQL may write while its own seat has an even turn, DynamoDB while its own has an odd one. A move closes the one seat by
//! raising its turn by one, tells the other side the rest of the log, and opens the seat there by raising that to the same turn. So
//!
//! - the two turns are never more than one apart, and the higher one belongs to the side that wrote last;
//! - at no moment do both sides allow a write, whoever dies when, and however many move the same user to and fro;
//! - each version is made by one side, in one order, and told to the other once.

use std::fmt;

use serde::Serialize;

/// One of the two databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Where everybody is before the shift.
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

    /// Whether writes are this side's in that turn.
    fn has(self, turn: u32) -> bool {
        turn.is_multiple_of(2) == (self == Self::Postgres)
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

/// What one side knows of a user. A user without a seat has the seat of zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// Even: PostgreSQL's turn; odd: DynamoDB's.
    pub turn: u32,
    /// How many changes of the user this side has, its own and those that it was told.
    pub version: u64,
}

impl Seat {
    /// Whether that side, whose seat this is, may make changes.
    pub fn is_open(self, side: Side) -> bool {
        side.has(self.turn)
    }
}

/// Both of a user's seats, read one after the other: either may be out of date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seats {
    /// PostgreSQL's.
    pub postgres: Seat,
    /// DynamoDB's.
    pub dynamo: Seat,
}

/// What is to be done next to bring a user to a side. Each is one conditional write, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Raise the side's turn from this one by one: it writes no more.
    Close {
        /// The side that writes now.
        side: Side,
        /// The turn that must still be there.
        turn: u32,
    },
    /// Nobody may write. Tell this side what it lacks.
    Deliver {
        /// The side that is behind.
        to: Side,
    },
    /// Raise the side's turn from `turn - 1` to `turn`: it may write.
    Open {
        /// The side that takes over.
        side: Side,
        /// The turn of the side that was closed.
        turn: u32,
        /// The version of the side that was closed; the other one must have it.
        version: u64,
    },
    /// The user is where they should be.
    Done,
}

impl Seats {
    fn of(self, side: Side) -> Seat {
        match side {
            Side::Postgres => self.postgres,
            Side::Dynamo => self.dynamo,
        }
    }

    /// The side that wrote last, and so has everything: the open one, or between two turns the one that was closed.
    pub fn leader(self) -> Side {
        let turn = self.postgres.turn.max(self.dynamo.turn);
        if self.postgres.turn == self.dynamo.turn {
            if Side::Postgres.has(turn) { Side::Postgres } else { Side::Dynamo }
        } else if self.postgres.turn == turn {
            Side::Postgres
        } else {
            Side::Dynamo
        }
    }

    /// The next step towards `goal`. A turn that somebody has begun is ended first, whichever way it goes.
    pub fn towards(self, goal: Side) -> Step {
        let leader = self.leader();
        let (ahead, behind) = (self.of(leader), self.of(leader.other()));
        if ahead.turn == behind.turn {
            if leader == goal { Step::Done } else { Step::Close { side: leader, turn: ahead.turn } }
        } else if ahead.version == behind.version {
            Step::Open { side: leader.other(), turn: ahead.turn, version: ahead.version }
        } else {
            Step::Deliver { to: leader.other() }
        }
    }
}

/// Which of a hundred parts a user is in: with `percent` at 30, the users of the parts 0 to 29 go over.
pub fn part(user: &str) -> u8 {
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
        /// A writer believes what it has read of the seat.
        NoFence,
        /// Who writes tells the other side, and nobody notes that it is to be told.
        NoOutbox,
        /// A change is applied whatever the version.
        NoVersion,
        /// A seat is opened although changes are on their way.
        NoWaiting,
    }

    /// One database, as far as one user goes.
    #[derive(Clone, Debug, Default)]
    struct Store {
        seat: Seat,
        log: Vec<u32>,
        outbox: BTreeMap<u64, u32>,
    }

    /// Somebody in the midst of something. A kill drops it.
    #[derive(Clone, Debug)]
    enum Actor {
        Writer { change: u32, looked: Option<(Side, Seat)> },
        Teller { from: Side, seen: Vec<(u64, u32)>, applied: bool },
        Mover { goal: Side, postgres: Option<Seat>, dynamo: Option<Seat>, steps_left: u32 },
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

        /// One atomic step of an actor; what it is next, if anything.
        fn step(&mut self, actor: Actor, random: &mut fastrand::Rng) -> Option<Actor> {
            match actor {
                Actor::Writer { change, looked: None } => {
                    let side = if random.bool() { Side::Postgres } else { Side::Dynamo };
                    let seat = self.store(side).seat;
                    Some(Actor::Writer { change, looked: seat.is_open(side).then_some((side, seat)) })
                }
                Actor::Writer { change, looked: Some((side, seat)) } => {
                    let mutation = self.mutation;
                    let store = self.store(side);
                    if store.seat != seat && mutation != Mutation::NoFence {
                        return Some(Actor::Writer { change, looked: None });
                    }
                    store.seat.version += 1;
                    store.log.push(change);
                    let version = store.seat.version;
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
                    if to.seat.version + 1 == version || !ordered {
                        to.seat.version = version.max(to.seat.version);
                        to.log.push(change);
                    } else if to.seat.version < version {
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
                    Some(Actor::Mover { goal, postgres: Some(self.postgres.seat), dynamo: None, steps_left })
                }
                Actor::Mover { goal, postgres, dynamo: None, steps_left } => {
                    Some(Actor::Mover { goal, postgres, dynamo: Some(self.dynamo.seat), steps_left })
                }
                Actor::Mover { goal, postgres: Some(postgres), dynamo: Some(dynamo), steps_left } => {
                    match (Seats { postgres, dynamo }).towards(goal) {
                        Step::Done => return None,
                        Step::Close { side, turn } => {
                            let seat = &mut self.store(side).seat;
                            if seat.turn == turn {
                                seat.turn += 1;
                            }
                        }
                        Step::Deliver { to } => self.deliver(to),
                        Step::Open { side, turn, version } => self.open(side, turn, version),
                    }
                    let again =
                        Actor::Mover { goal, postgres: None, dynamo: None, steps_left: steps_left.checked_sub(1)? };
                    Some(again)
                }
            }
        }

        /// The first change that a side lacks.
        fn deliver(&mut self, to: Side) {
            if self.mutation == Mutation::NoWaiting {
                let version = self.store(to.other()).seat.version;
                let turn = self.store(to.other()).seat.turn;
                self.store(to).seat.version = version;
                return self.open(to, turn, version);
            }
            let next = self.store(to).seat.version + 1;
            if let Some(change) = self.store(to.other()).outbox.get(&next).copied() {
                let store = self.store(to);
                store.seat.version = next;
                store.log.push(change);
            }
        }

        fn open(&mut self, side: Side, turn: u32, version: u64) {
            let seat = &mut self.store(side).seat;
            if seat.turn + 1 == turn && seat.version == version {
                seat.turn = turn;
            }
        }

        fn is_safe(&self) -> bool {
            let both = self.postgres.seat.is_open(Side::Postgres) && self.dynamo.seat.is_open(Side::Dynamo);
            !both && self.postgres.seat.turn.abs_diff(self.dynamo.seat.turn) <= 1
        }
    }

    /// A random history of one user: writers, tellers and movers both ways, killed now and then. Whether all is well in the end.
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
        // Everybody is dead. One mover brings the user to a side, and one teller on each side empties the outbox.
        let goal = if random.bool() { Side::Postgres } else { Side::Dynamo };
        let mut actor = Some(Actor::Mover { goal, postgres: None, dynamo: None, steps_left: 500 });
        while let Some(now) = actor {
            actor = world.step(now, &mut random);
        }
        for to in [Side::Postgres, Side::Dynamo] {
            for _ in 0..changes {
                world.deliver(to);
            }
        }
        if !world.store(goal).seat.is_open(goal) || world.store(goal.other()).seat.is_open(goal.other()) {
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
            parts[usize::from(part(&format!("user-{user}")))] += 1;
        }
        assert!(parts.iter().all(|users| (120..=280).contains(users)), "{parts:?}");
        assert_eq!(part("aB3dE5"), part("aB3dE5"));
    }
}
