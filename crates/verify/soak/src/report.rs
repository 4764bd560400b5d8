//! The report of a soak.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::check::Check;
use crate::world::Tally;

/// The report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// What the traffic and the faults came out of.
    pub seed: u64,
    /// How long there was traffic.
    pub seconds: u64,
    /// The systems, and what became of the requests to them. Of games: those that were played to
    /// their end, and those that were given up.
    pub systems: BTreeMap<&'static str, Tally>,
    /// The injected faults, by kind: lower bounds.
    pub faults: BTreeMap<String, u64>,
    /// How often the stack was killed and started again.
    pub stack_kills: u64,
    /// How long the streams took to come to rest, milliseconds.
    pub drained_in_ms: u64,
    /// The promises.
    pub checks: Vec<Check>,
}

impl Report {
    /// Whether every promise was kept.
    pub fn holds(&self) -> bool {
        self.checks.iter().all(Check::holds)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} seconds of traffic, seed {}", self.seconds, self.seed)?;
        for (system, tally) in &self.systems {
            let Tally { answered, refused, unanswered, repeated, reads } = tally;
            write!(f, "  {system:<8} {answered:>7} answered, {refused} refused, {unanswered} never answered")?;
            writeln!(f, ", {repeated} sent again, {reads} reads")?;
        }
        let faults: Vec<_> = self.faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        writeln!(f, "faults: {}", faults.join(", "))?;
        writeln!(f, "the stack was killed {} times", self.stack_kills)?;
        writeln!(f, "the streams came to rest after {} ms", self.drained_in_ms)?;
        for check in &self.checks {
            let Check { promise, compared, mistakes, first_mistakes } = check;
            let verdict = if check.holds() { "kept  " } else { "BROKEN" };
            writeln!(f, "{verdict} {promise} ({compared} compared, {mistakes} wrong)")?;
            for line in first_mistakes {
                writeln!(f, "         {line}")?;
            }
        }
        Ok(())
    }
}
