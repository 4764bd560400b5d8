//! The result of histories, and what became of the items that they wrote.

use serde_json::Value;

use super::faults::Tally;
use super::items::Items;
use crate::aggregator::Aggregator;
use crate::contribution::Change;

/// With so many items, one at least must count.
const ITEMS_MIN: u64 = 20;

/// The result of some histories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The number of histories.
    pub seeds: u64,
    /// The changes of items: inserted, modified, deleted, expired.
    pub changes: u64,
    /// The faults.
    pub faults: Tally,
    /// The items that were written and count in a statistic.
    pub counted: u64,
    /// The items that were written and cannot be read.
    pub quarantined: u64,
    /// The items that were written and change no statistic.
    pub ignored: u64,
    /// An item that was taken for one of the crate's own.
    pub(super) own: Option<String>,
    /// Why an item cannot be read.
    pub(super) why: Option<String>,
    /// How many histories have a wrong number.
    pub wrong_seeds: u64,
    /// One line for each wrong number, with its seed; and a line if no item counts, or if items are
    /// taken for statistics.
    pub miscounts: Vec<String>,
    /// The events, if the simulation was [traced](super::Simulation::traced).
    pub trace: Vec<String>,
}

impl Outcome {
    /// Adds the result of other histories.
    pub fn add(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.changes += other.changes;
        self.faults.add(&other.faults);
        self.counted += other.counted;
        self.quarantined += other.quarantined;
        self.ignored += other.ignored;
        self.own = self.own.take().or(other.own);
        self.why = self.why.take().or(other.why);
        self.wrong_seeds += other.wrong_seeds;
        self.miscounts.extend(other.miscounts);
        self.trace.extend(other.trace);
    }

    /// Why a test of these histories shows nothing, or not all.
    pub(crate) fn shortcomings(&self) -> Vec<String> {
        let (counted, quarantined, ignored) = (self.counted, self.quarantined, self.ignored);
        let own = self.own.iter().map(|key| {
            format!("items are taken for statistics and ignored, such as {key}: put a fixed text into the group's key")
        });
        let none = (counted == 0 && quarantined + ignored >= ITEMS_MIN).then(|| {
            let why = self.why.as_ref().map_or_else(String::new, |why| format!("; the first reason is {why}"));
            format!("no item counts: {quarantined} are quarantined and {ignored} ignored{why}")
        });
        own.chain(none).collect()
    }
}

/// Adds to the outcome what became of the items that were written.
pub(crate) fn sort<T>(outcome: &mut Outcome, aggregator: &Aggregator<T>, keys: &[String; 2], items: &Items) {
    for image in items.written() {
        let text = |name: &String| image[name]["S"].as_str();
        let key = text(&keys[0]).zip(text(&keys[1]));
        if let Some((partition, sort)) = key.filter(|(partition, sort)| aggregator.rollup().owns(partition, sort)) {
            outcome.own.get_or_insert_with(|| format!("{partition} {sort}"));
            outcome.ignored += 1;
            continue;
        }
        match read(aggregator, image) {
            Ok(true) => outcome.counted += 1,
            Ok(false) => outcome.ignored += 1,
            Err(why) => {
                outcome.why.get_or_insert(why);
                outcome.quarantined += 1;
            }
        }
    }
}

/// Whether an item counts in a statistic.
fn read<T>(aggregator: &Aggregator<T>, image: &Value) -> Result<bool, String> {
    let image = serde_json::value::RawValue::from_string(image.to_string()).map_err(|error| error.to_string())?;
    let item = aggregator.read(&image).map_err(|why| format!("{}: {}", why.code, why.message))?;
    Ok(item.is_some_and(|item| !aggregator.rollup().contributions(&Change::Insert(item)).is_empty()))
}
