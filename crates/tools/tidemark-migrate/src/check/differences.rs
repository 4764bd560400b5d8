//! The differences that a check finds: counted, written to a file, and the first of them kept for
//! the report.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::Failure;
use crate::run::{LineWriter, Run};

/// The name of the file with each difference.
pub(super) const DIFFERENCES: &str = "differences.jsonl";

/// The number of differences that the report names.
const NAMED_MAX: usize = 100;

/// A difference, for the file and the report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Difference {
    pub(super) kind: String,
    pub(super) item: String,
}

/// The differences found so far.
pub(super) struct Differences {
    lines: LineWriter,
    pub(super) counts: BTreeMap<String, u64>,
    pub(super) named: Vec<Difference>,
}

impl Differences {
    pub(super) fn create(run: &Run) -> Result<Self, Failure> {
        let counts = ["missing", "changed", "extra"].map(|kind| (kind.to_owned(), 0)).into();
        Ok(Self { lines: LineWriter::create(run.path(DIFFERENCES))?, counts, named: Vec::new() })
    }

    pub(super) fn add(&mut self, kind: &str, item: String) -> Result<(), Failure> {
        let difference = Difference { kind: kind.to_owned(), item };
        *self.counts.entry(kind.to_owned()).or_default() += 1;
        self.lines.write_json(&difference)?;
        if self.named.len() < NAMED_MAX {
            self.named.push(difference);
        }
        Ok(())
    }

    pub(super) fn all(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(super) fn finish(mut self) -> Result<(BTreeMap<String, u64>, Vec<Difference>), Failure> {
        self.lines.finish()?;
        self.named.sort();
        Ok((self.counts, self.named))
    }
}
