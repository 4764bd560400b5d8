//! A check of a part of the items.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use futures::{StreamExt, TryStreamExt, stream};
use jiff::Timestamp;
use store_base::Table;

use super::differences::{Differences, KEYS_PER_READ, differing, read_again};
use super::records::ItemRecord;
use super::{Comparison, Counts, ItemReader};
use crate::Failure;
use crate::item::{Attributes, Key};
use crate::mapping::Target;
use crate::pace::Pace;
use crate::run::Run;
use crate::terminal::{Progress, progress_bar};
use crate::transform::Items;

/// A part of all items, in percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample(f64);

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
        let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0);
        percent.map(Self).ok_or_else(|| "must be more than 0% and at most 100%, such as 1% or 0.1%".to_owned())
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl Sample {
    /// Whether the item with this key belongs to the sample: the same items in each check.
    fn has(self, key: u128) -> bool {
        // The last bits, because the first ones choose the files and parts.
        let share = f64::from((key & 0xffff_ffff) as u32) / f64::from(u32::MAX);
        share <= self.0 / 100.0
    }
}

/// Reads the sample's items from the table, by their keys, and compares them.
pub(super) async fn check(
    run: &Run,
    items: &Items,
    table: &Table,
    (sample, parallel): (Sample, u8),
    pace: &Pace,
    differences: &mut Differences,
) -> Result<Counts, Failure> {
    let expected = (items.count() as f64 * sample.0 / 100.0).round() as u64;
    let compare =
        Compare { table, target: &items.target, parallel: parallel.into(), pace, bar: progress_bar(expected, "items") };
    let (mut counts, mut piece) = (Counts::default(), Vec::new());
    let mut reader = ItemReader::new(run, items);
    while let Some(item) = reader.next()? {
        if Key::of(&item, &items.target).is_some_and(|key| sample.has(key.hash())) {
            piece.push(item);
        }
        if piece.len() == KEYS_PER_READ * compare.parallel {
            compare.piece(&std::mem::take(&mut piece), &mut counts, differences).await?;
        }
    }
    compare.piece(&piece, &mut counts, differences).await?;
    compare.bar.finish_and_clear();
    Ok(counts)
}

struct Compare<'c> {
    table: &'c Table,
    target: &'c Target,
    parallel: usize,
    pace: &'c Pace,
    bar: Progress,
}

impl Compare<'_> {
    /// Compares some items with those of the table.
    async fn piece(
        &self,
        items: &[Attributes],
        counts: &mut Counts,
        differences: &mut Differences,
    ) -> Result<(), Failure> {
        let reads = stream::iter(items.chunks(KEYS_PER_READ)).map(|expected| async move {
            self.pace.take(1).await;
            read_again(self.table, self.target, expected).await
        });
        // In the order of the items.
        let found: Vec<_> = reads.buffered(self.parallel).try_concat().await?;
        self.bar.inc(items.len() as u64);
        let now = Timestamp::now().as_second();
        for (item, found) in items.iter().zip(found) {
            let expected = ItemRecord::new(item, self.target);
            match found {
                None if expected.expires_at <= now => counts.expired += 1,
                None => differences.add("missing", expected.name, BTreeSet::new())?,
                Some(found) => match Comparison::of(Some(&expected), &ItemRecord::new(&found, self.target)) {
                    Comparison::Changed => differences.add("changed", expected.name, differing(item, &found))?,
                    comparison => counts.count(comparison),
                },
            }
        }
        Ok(())
    }
}
