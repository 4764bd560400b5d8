//! What a test of a declaration says beside the declaration: which items counted at all, and the
//! numbers that plain code expects.

use std::any::Any;
use std::rc::Rc;

use serde_json::Value;

use super::items::Items;
use super::world::World;
use super::{Outcome, SimError};
use crate::aggregator::Aggregator;
use crate::amount::Amount;
use crate::contribution::Change;
use crate::declaration::Policy;

/// With so many items, one at least must count.
const ITEMS_MIN: u64 = 20;

/// A number that plain code expects in a statistic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    partition: String,
    sort: String,
    attribute: String,
    number: String,
}

impl Expected {
    /// The number of an attribute of the statistic with these keys. A decimal may be a text:
    /// `"19.99"`.
    pub fn new(
        partition: impl Into<String>,
        sort: impl Into<String>,
        attribute: impl Into<String>,
        number: impl ToString,
    ) -> Self {
        Self { partition: partition.into(), sort: sort.into(), attribute: attribute.into(), number: number.to_string() }
    }
}

/// Gives the expected numbers for the items that a history ends with, as they were generated.
pub(crate) type Expect = Rc<dyn Fn(&[Rc<dyn Any>]) -> Result<Vec<Expected>, SimError>>;

/// Plain code that gives the numbers for items of the generator's type.
pub(crate) fn expect<I: 'static>(numbers: impl Fn(&[&I]) -> Vec<Expected> + 'static) -> Expect {
    Rc::new(move |items| {
        let items = items.iter().map(|item| item.downcast_ref::<I>());
        let items: Option<Vec<&I>> = items.collect();
        Ok(numbers(&items.ok_or_else(|| SimError::new("expect() takes other items than the generator gives"))?))
    })
}

/// Compares the table with the numbers that plain code expects. Returns a line for each difference.
pub(crate) fn compare(
    world: &mut World,
    items: &Items,
    policies: [Policy; 3],
    expect: &Expect,
) -> Result<Vec<String>, SimError> {
    let expected = expect(&items.existing(policies))?;
    let stored = world.table.items()?;
    let mut wrong = Vec::new();
    for Expected { partition, sort, attribute, number } in expected {
        let key = (partition, sort);
        let item = stored.iter().find(|item| world.table.key_of(item) == key);
        let found = item.and_then(|item| item[&attribute]["N"].as_str()).unwrap_or("0");
        let amount = |text: &str| text.parse::<Amount>().map_err(|_| SimError::new(format!("{text} is not a number")));
        let (right, found) = (amount(&number)?, amount(found)?);
        if right.plus(Amount { units: -found.units, scale: found.scale }).units != 0 {
            let (partition, sort) = key;
            wrong.push(format!("{partition} {sort}: {attribute} is {found}, but plain code expects {right}"));
        }
    }
    Ok(wrong)
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

impl Outcome {
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
