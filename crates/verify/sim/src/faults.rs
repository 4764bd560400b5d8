//! The kinds of faults, their rates in one history, and their counts.

use std::collections::BTreeMap;
use std::fmt;

/// Declares the faults with the names under which they are counted, and how likely each may at most
/// be.
macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $rate_max:literal;)*) => {
        /// A kind of fault.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The instance dies instead of sending a request.
    CrashBefore = "crash before a request", 0.03;
    /// The instance dies when a request has been applied, before it sees the reply.
    CrashAfter = "crash after a request", 0.03;
    /// The request does not get there.
    Refused = "lost request", 0.08;
    /// The request is applied and the reply does not get back.
    LostReply = "lost reply", 0.08;
    /// The caller gives up; the request is applied a good while later.
    Late = "late request", 0.05;
    /// For up to a minute and a half, no request gets there; it likes to begin after a transaction.
    Outage = "outage", 0.3;
    /// A 500 before the request is applied.
    ServerError = "server error", 0.08;
    /// DynamoDB asks for patience.
    Throttled = "throttling", 0.08;
    /// A transaction is canceled because another holds one of its items.
    Conflict = "transaction conflict", 0.2;
    /// A batched read leaves keys unprocessed, or misses a recent write.
    StaleRead = "stale read", 0.2;
    /// A batch that was counted comes again, with other boundaries: its success was not noted.
    Duplicate = "duplicate batch", 0.15;
    /// A batch begins before the place that had been reached.
    Stale = "stale batch", 0.15;
    /// A second invocation for the same stretch of a shard runs at the same time.
    Overlap = "second invocation at once", 0.15;
    /// An invocation has no time left for any retry.
    NoTime = "invocation without time", 0.9;
    /// A shard splits in two.
    Split = "shard split", 0.02;
    /// A shard is followed by another.
    Roll = "shard roll", 0.03;
    /// A click that cannot be read is put into the table.
    Poison = "poison click", 0.1;
    /// A record that is not even a record.
    Garbage = "poison record", 0.03;
    /// The clock jumps, by seconds or by weeks.
    ClockStep = "clock step", 0.05;
    /// A mapping gives up on a batch that failed: nobody counts it any more, once the stream has
    /// forgotten it.
    GivenUp = "batch given up", 0.5;
    /// Somebody writes a statistic, or deletes it.
    Tamper = "statistic tampered", 0.9;
    /// An operator mends a click that could not be read, or deletes it.
    Mend = "click mended", 0.9;
    /// An operator recounts.
    Recount = "recount", 0.9;
    /// An operator repairs the statistics, or two do at once.
    Repair = "repair", 0.9;
    /// An operator redrives the quarantine, or two do at once.
    Redrive = "redrive", 0.9;
    /// A failed batch is cut in two; counted, a mapping's setting.
    Bisect = "bisect", 0.0;
    /// The function says from which record on a batch has to come again; counted, never caused.
    PartialFailure = "partial failure", 0.0;
    /// The invocation runs over its time and is killed; counted, never caused.
    Timeout = "timeout", 0.0;
}

/// How likely each fault is in one history.
#[derive(Debug, Clone, Default)]
pub(crate) struct FaultRates(BTreeMap<Fault, f64>);

impl FaultRates {
    /// One history in sixteen is calm; in the others each kind is in the air or not, more or less.
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

    /// The probability of a fault, each time that it could strike.
    pub(crate) fn rate(&self, fault: Fault) -> f64 {
        self.0.get(&fault).copied().unwrap_or_default()
    }
}

/// How often each fault struck.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<Fault, u64>);

impl Tally {
    /// One more.
    pub(crate) fn note(&mut self, fault: Fault) {
        *self.0.entry(fault).or_default() += 1;
    }

    /// Those of another history too.
    pub fn add(&mut self, other: &Self) {
        for (fault, count) in &other.0 {
            *self.0.entry(*fault).or_default() += count;
        }
    }

    /// Of one kind.
    pub fn of(&self, fault: Fault) -> u64 {
        self.0.get(&fault).copied().unwrap_or_default()
    }

    /// Of all kinds.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }
}

impl fmt::Display for Tally {
    /// `bisect 3, lost reply 5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (fault, count)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{} {count}", fault.name())?;
        }
        Ok(())
    }
}
