//! The differences that a check finds: counted, written to a file, and the first of them kept for
//! the report.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;
use store_base::Table;

use super::ItemReader;
use crate::item::{Attributes, Key};
use crate::mapping::Target;
use crate::run::{LineWriter, Run};
use crate::transform::Items;
use crate::{Failure, FailureKind};

/// The name of the file with each difference.
pub(super) const DIFFERENCES: &str = "differences.jsonl";

/// The number of differences that the report names.
const NAMED_MAX: usize = 100;

/// The number of changed items that are read again to find out which attributes differ.
pub(super) const READ_AGAIN_MAX: usize = 10_000;

/// The most keys of a
/// [BatchGetItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html).
const KEYS_PER_READ: usize = 100;

/// A difference, for the file and the report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Difference {
    pub(super) kind: String,
    pub(super) item: String,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) attributes: BTreeSet<String>,
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

    pub(super) fn add(&mut self, kind: &str, item: String, attributes: BTreeSet<String>) -> Result<(), Failure> {
        let difference = Difference { kind: kind.to_owned(), item, attributes };
        *self.counts.entry(kind.to_owned()).or_default() += 1;
        self.lines
            .write(&serde_json::to_string(&difference).map_err(|error| FailureKind::RunFolder.because(error))?)?;
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

    /// Names the attributes of the changed items that differ.
    pub(super) async fn add_changed(
        &mut self,
        (run, items): (&Run, &Items),
        table: &Table,
        changed: &HashSet<u128>,
    ) -> Result<(), Failure> {
        if changed.is_empty() {
            return Ok(());
        }
        let mut piece = Vec::new();
        let mut reader = ItemReader::new(run, items);
        while let Some(item) = reader.next()? {
            if Key::of(&item, &items.target).is_some_and(|key| changed.contains(&key.hash())) {
                piece.push(item);
            }
            if piece.len() == KEYS_PER_READ {
                self.add_attributes(&std::mem::take(&mut piece), table, &items.target).await?;
            }
        }
        self.add_attributes(&piece, table, &items.target).await
    }

    async fn add_attributes(&mut self, items: &[Attributes], table: &Table, target: &Target) -> Result<(), Failure> {
        for (expected, found) in items.iter().zip(read_again(table, target, items).await?) {
            let name = Key::of(expected, target).map(|key| key.to_string()).unwrap_or_default();
            self.add("changed", name, differing(expected, &found.unwrap_or_default()))?;
        }
        Ok(())
    }
}

/// The names of the attributes that differ.
fn differing(expected: &Attributes, found: &Attributes) -> BTreeSet<String> {
    let names = expected.keys().chain(found.keys());
    names.filter(|name| expected.get(*name) != found.get(*name)).cloned().collect()
}

/// The table's items with the keys of at most 100 items.
async fn read_again(table: &Table, target: &Target, items: &[Attributes]) -> Result<Vec<Option<Attributes>>, Failure> {
    let keys: Vec<_> = items.iter().filter_map(|item| Key::of(item, target)).collect();
    let found = table.batch_get(keys.iter().map(|key| key.attributes(target)).collect(), true).await?;
    let mut found: HashMap<_, _> = found.into_iter().filter_map(|item| Some((Key::of(&item, target)?, item))).collect();
    Ok(keys.iter().map(|key| found.remove(key)).collect())
}
