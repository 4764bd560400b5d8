//! The keys of items, which may have any type.

use aws_sdk_dynamodb::types::{AttributeValue, KeyType, TableDescription};

use super::refusal::RecountRefusal;
use crate::additions::ItemKey;
use crate::table::{Item, Table};

/// The names of the keys of a table of items.
#[derive(Debug, Clone)]
pub(super) struct KeyNames {
    partition: String,
    sort: Option<String>,
}

impl KeyNames {
    /// Those of the table. Refuses a table that has other keys than were declared.
    pub(super) fn of(items: &Table, described: &TableDescription) -> Result<Self, RecountRefusal> {
        let [partition_key, sort_key] = items.key_names();
        let name = |of: KeyType| {
            described.key_schema().iter().find(|key| *key.key_type() == of).map(|key| key.attribute_name().to_owned())
        };
        let sort = name(KeyType::Range);
        let is_declared = sort_key.is_empty() || sort.as_ref().is_none_or(|sort| sort == sort_key);
        let partition = name(KeyType::Hash).filter(|partition| partition == partition_key && is_declared);
        partition.map(|partition| Self { partition, sort }).ok_or_else(|| RecountRefusal::OtherKeys {
            table: items.name().to_owned(),
            partition_key: partition_key.to_owned(),
            sort_key: sort_key.to_owned(),
        })
    }

    /// What tells an item of the table from the others.
    pub(super) fn identity(&self, item: &Item) -> Option<ItemKey> {
        let sort = self.sort.as_ref().map_or(Some(String::new()), |sort| text(item.get(sort)?));
        Some((text(item.get(&self.partition)?)?, sort?))
    }
}

/// What tells an item from the others, by its keys alone.
pub(crate) fn identity(keys: &Item, partition_key: &str) -> Option<ItemKey> {
    let mut others = keys.iter().filter(|(name, _)| *name != partition_key);
    let sort = others.next().map_or(Some(String::new()), |(_, sort)| text(sort));
    Some((text(keys.get(partition_key)?)?, sort.filter(|_| others.next().is_none())?))
}

/// The value of a key. The keys of one table have the same types, so the values of two items never
/// have one text. DynamoDB writes a number in one form only.
fn text(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => Some(text.clone()),
        AttributeValue::B(bytes) => {
            Some(bytes.as_ref().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
        }
        _ => None,
    }
}
