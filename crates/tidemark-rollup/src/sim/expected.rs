//! The numbers that plain code expects beside the declaration.

use std::any::Any;
use std::rc::Rc;

use super::error::SimError;
use super::items::Items;
use super::oracle::Numbers;
use crate::amount::Amount;
use crate::declaration::Policy;

/// A number that plain code expects in a statistic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    partition: String,
    sort: String,
    attribute: String,
    number: String,
}

impl Expected {
    /// The number of an attribute of the statistic with these keys, or an extreme of a rollup that
    /// takes values back, by its name. A decimal may be a text: `"19.99"`.
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
    found: &Numbers,
    items: &Items,
    policies: [Policy; 3],
    expect: &Expect,
) -> Result<Vec<String>, SimError> {
    let expected = expect(&items.existing(policies))?;
    let mut wrong = Vec::new();
    for Expected { partition, sort, attribute, number } in expected {
        let key = (partition, sort, attribute);
        let found = found.get(&key).map_or("0", String::as_str);
        let amount = |text: &str| text.parse::<Amount>().map_err(|_| SimError::new(format!("{text} is not a number")));
        let (right, found) = (amount(&number)?, amount(found)?);
        if right.plus(Amount { units: -found.units, scale: found.scale }).units != 0 {
            let (partition, sort, attribute) = key;
            wrong.push(format!("{partition} {sort}: {attribute} is {found}, but plain code expects {right}"));
        }
    }
    Ok(wrong)
}
