//! An item, and its form in a file.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use serde_dynamo::AttributeValue as Spelling;
use sha2::{Digest, Sha256};

use crate::mapping::{OnConflict, Target, value};
use crate::reject::{Reason, Reject};

/// The attribute with the version of the row from which an item was made: the time of the row's
/// last change in microseconds since 1970. Items that the application created have none.
pub const VERSION: &str = "MigratedVersion";

/// The attribute with the migrated value of the mapping's `updated_at`: while both are equal, no
/// other writer has changed the item.
pub const AS_OF: &str = "MigratedUpdatedAt";

/// The attribute with the id of the run that wrote the item. A rollback removes only the items of
/// its own run.
pub const RUN: &str = "MigratedBy";

/// [The most bytes of an
/// item](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items),
/// including attribute names.
pub const ITEM_BYTES_MAX: usize = 400 * 1024;

/// The attributes of an item.
pub type Attributes = HashMap<String, AttributeValue>;

/// The place of an item: the values of its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Key {
    /// The partition key.
    pub partition: String,
    /// The sort key.
    pub sort: String,
}

impl Key {
    /// The key of an item; `None` if it has none.
    pub fn of(item: &Attributes, target: &Target) -> Option<Self> {
        let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
        Some(Self { partition: text(&target.partition)?, sort: text(&target.sort)? })
    }

    /// The key as a request wants it.
    pub fn attributes(&self, target: &Target) -> Attributes {
        let text = |text: &String| AttributeValue::S(text.clone());
        [(target.partition.clone(), text(&self.partition)), (target.sort.clone(), text(&self.sort))].into()
    }

    /// The hash of the key, to save memory.
    pub fn hash(&self) -> u128 {
        hash(&[self.partition.as_bytes(), b"\0", self.sort.as_bytes()])
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.partition, self.sort)
    }
}

/// An item that a row becomes.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Where it lies.
    pub key: Key,
    /// Its type.
    pub kind: String,
    /// The value of [`VERSION`].
    pub version: i64,
    /// All attributes, including those of the key and of the migration.
    pub attributes: Attributes,
    /// Of two items with one key, the one with the greater rank is migrated.
    pub rank: Vec<u8>,
    /// What happens if another item with the same key has a greater rank.
    pub on_conflict: OnConflict,
    /// Whether no other owner has an item with this key.
    pub is_own: bool,
    /// The keys that the row needs, of those that other owners may have, too. If one of them
    /// belongs to another owner, the row has no items.
    pub needs: Vec<Key>,
}

impl Item {
    /// The item's line in its file.
    pub(crate) fn line(&self) -> String {
        dynamo_json(&self.attributes)
    }

    pub(crate) fn bytes(&self) -> usize {
        bytes(&self.attributes)
    }

    /// Whether this item has the best claim to its key.
    pub(crate) fn is_holder(&self, holders: &Holders) -> bool {
        holders.get(&self.key).is_none_or(|rank| *rank == self.rank)
    }

    /// The rejection of a row or an item whose key another one has.
    pub(crate) fn taken(&self, reason: &Reason) -> Reject {
        Reject::because(reason.clone(), format!("another row has {}", self.key))
    }
}

/// The rank of the best claim to each key. A rank belongs to one row only.
pub(crate) type Holders = HashMap<Key, Vec<u8>>;

pub(crate) fn holders<'i>(items: impl Iterator<Item = &'i Item>) -> Holders {
    let mut holders = Holders::new();
    for item in items {
        let holder = holders.entry(item.key.clone()).or_insert_with(|| item.rank.clone());
        if *holder < item.rank {
            holder.clone_from(&item.rank);
        }
    }
    holders
}

/// The first item whose key another row has, of those whose row is rejected for it; and the reason.
pub(crate) fn first_lost(items: &[Item], is_lost: impl Fn(&Item) -> bool) -> Option<(&Item, &Reason)> {
    items.iter().find_map(|item| match &item.on_conflict {
        OnConflict::RejectRow(reason) if is_lost(item) => Some((item, reason)),
        _ => None,
    })
}

/// A text of an item; empty if it has none.
pub(crate) fn text<'i>(item: &'i Attributes, name: &str) -> &'i str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

/// An item in DynamoDB's JSON.
pub fn dynamo_json(item: &Attributes) -> String {
    let spelled: BTreeMap<_, _> = item.iter().map(|(name, value)| (name, spell(value))).collect();
    // Maps with text keys are always valid JSON.
    serde_json::to_string(&spelled).unwrap_or_default()
}

/// The attributes of a line.
pub(crate) fn read_line(line: &str) -> Result<Attributes, serde_json::Error> {
    let spelled: BTreeMap<String, Spelling> = serde_json::from_str(line)?;
    Ok(spelled.into_iter().map(|(name, value)| (name, value.into())).collect())
}

/// The hash of an item's content: equal for equal attributes, independent of the spelling of
/// numbers and the order of sets.
pub(crate) fn item_hash(attributes: &Attributes) -> u128 {
    let spelled: BTreeMap<_, _> = attributes.iter().map(|(name, value)| (name, spell(value))).collect();
    hash(&[serde_json::to_string(&spelled).unwrap_or_default().as_bytes()])
}

pub(crate) fn hash(parts: &[&[u8]]) -> u128 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    u128::from_be_bytes(bytes)
}

/// The JSON of a value. Sets and maps are sorted and numbers have one spelling, because DynamoDB
/// does not keep the given one.
fn spell(value: &AttributeValue) -> serde_json::Value {
    use serde_json::{Value, json};
    let number = |number: &String| value::number(number).unwrap_or_else(|| number.clone());
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(text) => json!({ "N": number(text) }),
        AttributeValue::Bool(truth) => json!({ "BOOL": truth }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(spell).collect::<Vec<_>>() }),
        AttributeValue::M(map) => {
            // `serde_json`'s own maps are sorted.
            let map: serde_json::Map<_, _> = map.iter().map(|(name, value)| (name.clone(), spell(value))).collect();
            json!({ "M": map })
        }
        AttributeValue::Ss(texts) => json!({ "SS": sorted(texts.clone()) }),
        AttributeValue::Ns(numbers) => json!({ "NS": sorted(numbers.iter().map(number).collect()) }),
        AttributeValue::B(bytes) => serde_json::to_value(Spelling::B(bytes.as_ref().to_vec())).unwrap_or(Value::Null),
        AttributeValue::Bs(all) => {
            let mut all: Vec<_> = all.iter().map(|bytes| bytes.as_ref().to_vec()).collect();
            all.sort();
            serde_json::to_value(Spelling::Bs(all)).unwrap_or(Value::Null)
        }
        _ => json!({ "NULL": true }),
    }
}

/// The size of an item, rounded up.
pub(crate) fn bytes(item: &Attributes) -> usize {
    item.iter().map(|(name, value)| name.len() + size(value)).sum()
}

/// The size of a value [as DynamoDB counts
/// it](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html),
/// rounded up.
fn size(value: &AttributeValue) -> usize {
    let number = |number: &String| number.len() / 2 + 2;
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(text) => number(text),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::L(list) => 3 + list.iter().map(|value| 1 + size(value)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.iter().map(|(name, value)| 1 + name.len() + size(value)).sum::<usize>(),
        AttributeValue::Ss(texts) => texts.iter().map(String::len).sum(),
        AttributeValue::Ns(numbers) => numbers.iter().map(number).sum(),
        _ => 1,
    }
}
