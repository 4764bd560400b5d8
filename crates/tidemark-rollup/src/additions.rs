//! What a commit adds to the statistics, by their keys.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use serde::{Deserialize, Serialize};

use crate::amount::{Amount, AmountError};
use crate::chunk::Chunk;
use crate::contribution::{Part, StatKey};
use crate::declaration::Rollup;
use crate::distinct::DistinctChanges;
use crate::error::StoreError;
use crate::table::Table;

/// The largest buffer, bytes. A larger one would cost more than the statistics.
const BUFFER_BYTES_MAX: usize = 16 * 1024;

/// The partition key and the sort key of an item.
pub(crate) type ItemKey = (String, String);

/// The amounts to add to each statistic. It has its keys and all of its attributes, so it stays
/// valid when the declaration changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Row>", into = "Vec<Row>")]
pub(crate) struct Additions(pub(crate) BTreeMap<ItemKey, Addition>);

/// The additions to one statistic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Addition {
    /// Attributes with the same value in each commit.
    pub(crate) set: BTreeMap<String, String>,
    pub(crate) add: BTreeMap<String, Amount>,
}

impl Additions {
    /// What a chunk adds, with the changes of its distinct counts.
    pub(crate) fn of<T>(rollup: &Rollup<T>, chunk: &Chunk, distinct: &DistinctChanges) -> Self {
        let mut additions = Self::default();
        for (key, delta) in &chunk.stats {
            for (&(measure, part), &units) in &delta.sums {
                additions.add(rollup, key, measure, part, units);
            }
        }
        additions.count(rollup, distinct);
        additions
    }

    /// Adds the changes of distinct counts.
    pub(crate) fn count<T>(&mut self, rollup: &Rollup<T>, distinct: &DistinctChanges) {
        for ((key, measure), change) in distinct {
            self.add(rollup, key, *measure, Part::Sum, i128::from(*change));
        }
    }

    fn add<T>(&mut self, rollup: &Rollup<T>, key: &StatKey, measure: usize, part: Part, units: i128) {
        let attribute = rollup.attribute(measure, part).filter(|_| units != 0);
        let (Some((attribute, scale)), Some(stat)) = (attribute, rollup.stat(key)) else { return };
        self.put(stat.key, stat.set, attribute, Amount { units, scale });
    }

    /// Adds to one attribute of a statistic.
    pub(crate) fn put(&mut self, key: ItemKey, set: BTreeMap<String, String>, attribute: String, amount: Amount) {
        let addition = self.0.entry(key).or_default();
        addition.set = set;
        addition.plus(attribute, amount);
    }

    /// Both together.
    pub(crate) fn plus(mut self, other: Self) -> Self {
        for (key, new) in other.0 {
            let addition = self.0.entry(key).or_default();
            addition.set = new.set;
            for (attribute, amount) in new.add {
                addition.plus(attribute, amount);
            }
        }
        self.0.retain(|_, addition| !addition.add.is_empty());
        self
    }

    /// Whether a checkpoint can keep it: each commit pays for the whole item.
    pub(crate) fn fits_buffer(&self) -> bool {
        serde_json::to_string(self).is_ok_and(|text| text.len() <= BUFFER_BYTES_MAX)
    }

    /// The actions of a transaction that adds all of it.
    pub(crate) fn actions(&self, table: &Table) -> Result<Vec<TransactWriteItem>, StoreError> {
        let action = |((partition, sort), addition): (&ItemKey, &Addition)| {
            let mut update = table.update(table.key(partition, sort));
            let (mut sets, mut adds) = (Vec::new(), Vec::new());
            for (index, (attribute, value)) in addition.set.iter().enumerate() {
                sets.push(format!("#s{index} = :s{index}"));
                update = update.expression_attribute_names(format!("#s{index}"), attribute);
                update = update.expression_attribute_values(format!(":s{index}"), AttributeValue::S(value.clone()));
            }
            for (index, (attribute, amount)) in addition.add.iter().enumerate() {
                adds.push(format!("#a{index} :a{index}"));
                update = update.expression_attribute_names(format!("#a{index}"), attribute);
                update =
                    update.expression_attribute_values(format!(":a{index}"), AttributeValue::N(amount.to_string()));
            }
            let clause = |verb, parts: Vec<String>| (!parts.is_empty()).then(|| format!("{verb} {}", parts.join(", ")));
            let clauses: Vec<_> = [clause("SET", sets), clause("ADD", adds)].into_iter().flatten().collect();
            Ok(TransactWriteItem::builder().update(update.update_expression(clauses.join(" ")).build()?).build())
        };
        self.0.iter().map(action).collect()
    }
}

impl Addition {
    fn plus(&mut self, attribute: String, amount: Amount) {
        let sum = self.add.get(&attribute).map_or(amount, |before| before.plus(amount));
        if sum.units == 0 {
            self.add.remove(&attribute);
        } else {
            self.add.insert(attribute, sum);
        }
    }
}

/// One statistic as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Row(String, String, BTreeMap<String, String>, BTreeMap<String, AmountText>);

/// A decimal as text: JSON's numbers are not exact in all readers.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct AmountText(Amount);

impl From<Vec<Row>> for Additions {
    fn from(rows: Vec<Row>) -> Self {
        let addition = |Row(partition, sort, set, add)| {
            let add = add.into_iter().map(|(attribute, amount): (_, AmountText)| (attribute, amount.0)).collect();
            ((partition, sort), Addition { set, add })
        };
        Self(rows.into_iter().map(addition).collect())
    }
}

impl From<Additions> for Vec<Row> {
    fn from(additions: Additions) -> Self {
        let row = |((partition, sort), addition): (ItemKey, Addition)| {
            let add = addition.add.into_iter().map(|(attribute, amount)| (attribute, AmountText(amount))).collect();
            Row(partition, sort, addition.set, add)
        };
        additions.0.into_iter().map(row).collect()
    }
}

impl TryFrom<String> for AmountText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self).map_err(|AmountError| "not a decimal")
    }
}

impl From<AmountText> for String {
    fn from(amount: AmountText) -> Self {
        amount.0.to_string()
    }
}
