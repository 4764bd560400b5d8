//! The kinds of faults, their rates in one history, and their counts.

use std::collections::BTreeMap;
use std::fmt;

/// Declares the faults with the names under which they are counted, and the highest probability of
/// each.
macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $rate_max:literal;)*) => {
        /// A kind of fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Fault { $($(#[$doc])* $name),* }

        impl Fault {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            fn rate_max(self) -> f64 {
                match self { $(Self::$name => $rate_max),* }
            }
        }
    };
}

faults! {
    /// The instance ends before it sends a request.
    CrashBefore = "crash before a request", 0.03;
    /// The instance ends after a request was applied, before it gets the reply.
    CrashAfter = "crash after a request", 0.03;
    /// The request is lost.
    Refused = "lost request", 0.08;
    /// The request is applied, but its reply is lost.
    LostReply = "lost reply", 0.08;
    /// The caller gives up; the request is applied seconds later.
    Late = "late request", 0.05;
    /// For up to a minute and a half, all requests are lost. It often begins after a transaction.
    Outage = "outage", 0.3;
    /// A 500 before the request is applied.
    ServerError = "server error", 0.08;
    /// DynamoDB throttles the request.
    Throttled = "throttling", 0.08;
    /// A transaction is canceled because another one holds one of its items.
    Conflict = "transaction conflict", 0.2;
    /// A batched read misses recent writes.
    StaleRead = "stale read", 0.2;
    /// A batch that was counted is delivered again, with other boundaries.
    Duplicate = "duplicate batch", 0.15;
    /// A batch begins with records that were counted before.
    Stale = "stale batch", 0.15;
    /// A second invocation for the same records runs at the same time.
    Overlap = "second invocation at once", 0.15;
    /// An invocation has no time left for any retry.
    NoTime = "invocation without time", 0.9;
    /// A shard splits in two.
    Split = "shard split", 0.02;
    /// A shard is followed by another.
    Roll = "shard roll", 0.03;
    /// A record that cannot be read.
    Garbage = "unreadable record", 0.03;
    /// The clock jumps, by seconds or by weeks.
    ClockStep = "clock step", 0.05;
    /// A tumbling window ends.
    WindowEnd = "end of a window", 0.5;
    /// The mapping gives up on a batch that failed. Its records are never counted.
    GivenUp = "batch given up", 0.5;
    /// A client writes a wrong number into a statistic, or deletes the record of a value.
    Tamper = "statistic tampered", 0.9;
    /// A client mends an item that cannot be read, or deletes it.
    Mend = "item mended", 0.4;
    /// An operator redrives the quarantine, or two do at once.
    Redrive = "redrive", 0.9;
    /// An operator recounts.
    Recount = "recount", 0.9;
    /// An operator repairs the statistics, or two do at once.
    Repair = "repair", 0.9;
    /// A failed batch is cut in two; counted, and set in the mapping.
    Bisect = "bisect", 0.0;
    /// The function reports the record from which a batch must be delivered again; counted only.
    PartialFailure = "partial failure", 0.0;
    /// The invocation runs over its time and is ended; counted only.
    Timeout = "timeout", 0.0;
}

/// The probability of each fault in one history.
#[derive(Debug, Clone, Default)]
pub(crate) struct FaultRates(BTreeMap<Fault, f64>);

impl FaultRates {
    /// One history in sixteen has no faults. In the others, each kind is possible or not, with a
    /// random rate.
    pub(crate) fn draw(rng: &mut fastrand::Rng) -> Self {
        if rng.u8(..16) == 0 {
            return Self::default();
        }
        let kinds = Fault::ALL.iter().filter_map(|fault| {
            let (is_on, share) = (rng.bool(), rng.f64());
            is_on.then(|| (*fault, fault.rate_max() * share))
        });
        Self(kinds.collect())
    }

    /// The probability of a fault, each time that it is possible.
    pub(crate) fn rate(&self, fault: Fault) -> f64 {
        self.0.get(&fault).copied().unwrap_or_default()
    }
}

/// How often each fault occurred.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<Fault, u64>);

impl Tally {
    pub(crate) fn note(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }

    /// Adds the faults of another history.
    pub fn add(&mut self, other: &Self) {
        for (fault, count) in &other.0 {
            *self.0.entry(*fault).or_default() += count;
        }
    }

    /// The faults of one kind.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0.get(&fault).copied().unwrap_or_default()
    }

    /// The faults of all kinds.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

/// `bisect 3, lost reply 5`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (fault, count)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {count}", fault.name())?;
        }
        Ok(())
    }
}
