//! A migrated item, and its form in a file.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use serde_dynamo::AttributeValue as Spelling;
use sha2::{Digest, Sha256};
use store::okusuri::rows::Row;

use super::{Reason, Reject};

/// The attribute with the version of the row from which an item was made: the time of the row's
/// last change in microseconds since 1970. Items that the application created have none.
pub const VERSION: &str = "MigratedVersion";

/// The attribute with the migrated value of `UpdatedAt`: while both are equal, no other writer has
/// changed the item.
pub const AS_OF: &str = "MigratedUpdatedAt";

/// The attribute with the id of the run that wrote the item. A rollback removes only the items of
/// its own run.
pub const RUN: &str = "MigratedBy";

/// The size of [`RUN`] and its value.
const RUN_BYTES: usize = RUN.len() + 16;

/// [The most bytes of an
/// item](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items),
/// including attribute names.
pub const ITEM_BYTES_MAX: usize = 400 * 1024;

/// Of two items with one key, the one with the greater rank is migrated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank(pub i64, pub i64);

/// What happens if another item with the same key has a greater rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// The whole row is rejected.
    Row(Reason),
    /// Only this item is left out, and reported.
    Item(Reason),
    /// Nothing is reported, because both items mean the same.
    Merged,
}

/// A migrated item.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// `PK`
    pub partition: String,
    /// `SK`
    pub sort: String,
    /// `Type`
    pub kind: &'static str,
    /// The value of [`VERSION`].
    pub version: i64,
    /// All attributes, including those of the key and of the migration.
    pub attributes: HashMap<String, AttributeValue>,
    pub(crate) rank: Rank,
    pub(crate) on_conflict: OnConflict,
}

impl Item {
    /// The item of a stored row whose source row was last changed `at`.
    pub(super) fn new<R: Row>(row: &R, at: Timestamp) -> Result<Self, Reject> {
        let version = at.as_microsecond();
        let key = row.key();
        // Rows of texts, numbers and times always become items; a row fails only if it is too
        // large.
        let mut attributes =
            store::okusuri::item(row).map_err(|error| Reject::because(Reason::InvalidId, error.to_string()))?;
        if let Some(updated_at) = attributes.get("UpdatedAt").cloned() {
            attributes.insert(AS_OF.to_owned(), updated_at);
        }
        attributes.insert(VERSION.to_owned(), AttributeValue::N(version.to_string()));
        let bytes: usize = attributes.iter().map(|(name, value)| name.len() + size(value)).sum();
        let bytes = bytes + RUN_BYTES;
        if bytes > ITEM_BYTES_MAX {
            return Err(Reject::because(Reason::TooLarge, format!("{} of {bytes} bytes", R::TYPE)));
        }
        let (rank, on_conflict) = (Rank(version, 0), OnConflict::Row(Reason::Duplicate));
        Ok(Self { partition: key.partition, sort: key.sort, kind: R::TYPE, version, attributes, rank, on_conflict })
    }

    pub(super) fn ranked(self, rank: Rank, on_conflict: OnConflict) -> Self {
        Self { rank, on_conflict, ..self }
    }

    /// The item as a part of a run.
    pub(super) fn of_run(mut self, run: &str) -> Self {
        self.attributes.insert(RUN.to_owned(), AttributeValue::S(run.to_owned()));
        self
    }

    /// The item's line in its file.
    pub(crate) fn line(&self) -> String {
        let spelled: BTreeMap<_, _> = self.attributes.iter().map(|(name, value)| (name, spell(value))).collect();
        // Maps with text keys are always valid JSON.
        serde_json::to_string(&spelled).unwrap_or_default()
    }
}

/// The attributes of a line.
pub(crate) fn read_line(line: &str) -> Result<HashMap<String, AttributeValue>, serde_json::Error> {
    let spelled: BTreeMap<String, Spelling> = serde_json::from_str(line)?;
    Ok(spelled.into_iter().map(|(name, value)| (name, unspell(value))).collect())
}

/// The partition and sort key of an item; empty if it has none.
pub(crate) fn key_of(attributes: &HashMap<String, AttributeValue>) -> (&str, &str) {
    let text = |name| attributes.get(name).and_then(|value: &AttributeValue| value.as_s().ok());
    (text("PK").map_or("", String::as_str), text("SK").map_or("", String::as_str))
}

/// The hash of a key, to save memory.
pub(crate) fn key_hash(partition: &str, sort: &str) -> u128 {
    hash(&[partition.as_bytes(), b"\0", sort.as_bytes()])
}

/// The hash of an item's content: equal for equal attributes, independent of the spelling of
/// numbers and the order of sets.
pub(crate) fn item_hash(attributes: &HashMap<String, AttributeValue>) -> u128 {
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

/// The JSON of a value; sets and maps are sorted, because they have no order of their own.
fn spell(value: &AttributeValue) -> serde_json::Value {
    use serde_json::{Value, json};
    let sorted = |texts: &[String]| {
        let mut texts = texts.to_vec();
        texts.sort();
        texts
    };
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::Bool(truth) => json!({ "BOOL": truth }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(spell).collect::<Vec<_>>() }),
        AttributeValue::M(map) => {
            // `serde_json`'s own maps are sorted.
            let map: serde_json::Map<_, _> = map.iter().map(|(name, value)| (name.clone(), spell(value))).collect();
            json!({ "M": map })
        }
        AttributeValue::Ss(texts) => json!({ "SS": sorted(texts) }),
        AttributeValue::Ns(numbers) => json!({ "NS": sorted(numbers) }),
        AttributeValue::B(bytes) => serde_json::to_value(Spelling::B(bytes.as_ref().to_vec())).unwrap_or(Value::Null),
        AttributeValue::Bs(all) => {
            let mut all: Vec<_> = all.iter().map(|bytes| bytes.as_ref().to_vec()).collect();
            all.sort();
            serde_json::to_value(Spelling::Bs(all)).unwrap_or(Value::Null)
        }
        _ => json!({ "NULL": true }),
    }
}

fn unspell(value: Spelling) -> AttributeValue {
    value.into()
}

/// The size of a value [as DynamoDB counts
/// it](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html),
/// rounded up.
fn size(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => number.len() / 2 + 2,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::L(list) => 3 + list.iter().map(|value| 1 + size(value)).sum::<usize>(),
        AttributeValue::M(map) => 3 + map.iter().map(|(name, value)| 1 + name.len() + size(value)).sum::<usize>(),
        _ => 1,
    }
}
