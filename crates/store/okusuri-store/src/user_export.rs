//! The data of a user, and its export as JSON.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::UserId;
use serde_json::Value;

use super::keys::{self, Item, Key, PARTITION_KEY, SORT_KEY, TTL, TYPE_PARTITION, TYPE_SORT, s};
use store_base::Page;
use store_base::{StoreError, Table};

/// Attributes that an export leaves out: those that only the table needs, and secrets.
const NOT_EXPORTED: [&str; 15] = [
    PARTITION_KEY,
    SORT_KEY,
    TTL,
    TYPE_PARTITION,
    TYPE_SORT,
    keys::DUE_PARTITION,
    "TokenHash",
    "AccessToken",
    "RefreshToken",
    "IdToken",
    "Auth",
    "P256dh",
    "SessionsFrom",
    "SignInGrantsAdded",
    "Version",
];

/// All items of a user: their export, and their deletion in `user_deletion.rs`.
#[derive(Debug, Clone)]
pub struct UserData {
    pub(super) table: Table,
}

/// A part of a user's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserDataKind {
    /// The logs of the days.
    Logs,
    /// The doses.
    Doses,
}

impl UserDataKind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Logs => keys::MEDICATION_PREFIX,
            Self::Doses => keys::DOSE_PREFIX,
        }
    }
}

impl UserData {
    /// The users' data in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// A page of a user's items, of one kind or all, as JSON with attribute names in camel case.
    /// The position is a sort key. Bytes are base64.
    pub async fn page(
        &self,
        user_id: &UserId,
        kind: Option<UserDataKind>,
        after: Option<&str>,
        limit: u16,
    ) -> Result<Page<Value, String>, StoreError> {
        let start = after.map(|sort| Key::new(keys::user(user_id), sort).item());
        let (items, next) = self.some(user_id, kind, start, i32::from(limit)).await?;
        let next = next.and_then(|key| key.get(SORT_KEY)?.as_s().ok().cloned());
        Ok(Page { items: items.into_iter().map(exported).collect(), next, skipped: 0 })
    }

    /// Some of a user's items, and the key to continue from.
    pub(super) async fn some(
        &self,
        user_id: &UserId,
        kind: Option<UserDataKind>,
        start: Option<Item>,
        limit: i32,
    ) -> Result<(Vec<Item>, Option<Item>), StoreError> {
        let request = self.table.query().consistent_read(true).limit(limit);
        let request = request.set_exclusive_start_key(start);
        let request = request.expression_attribute_values(":user", s(keys::user(user_id)));
        let request = match kind {
            None => request.key_condition_expression("PK = :user"),
            Some(kind) => request
                .key_condition_expression("PK = :user AND begins_with(SK, :kind)")
                .expression_attribute_values(":kind", s(kind.prefix())),
        };
        let page = request.send().await?;
        Ok((page.items.unwrap_or_default(), page.last_evaluated_key))
    }
}

/// An item as the user exports it.
pub(super) fn exported(item: Item) -> Value {
    let attributes: BTreeMap<_, _> = item.into_iter().collect();
    let kept = attributes.into_iter().filter(|(name, _)| !NOT_EXPORTED.contains(&name.as_str()));
    Value::Object(kept.map(|(name, value)| (camel_case(&name), json(value))).collect())
}

fn camel_case(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn json(value: AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => text.into(),
        AttributeValue::N(number) => serde_json::from_str(&number).unwrap_or_else(|_| number.into()),
        AttributeValue::Bool(value) => value.into(),
        AttributeValue::B(bytes) => STANDARD.encode(bytes).into(),
        AttributeValue::L(values) => values.into_iter().map(json).collect(),
        AttributeValue::M(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, json(value))).collect())
        }
        AttributeValue::Ss(texts) => texts.into(),
        AttributeValue::Ns(numbers) => numbers.into_iter().map(|number| json(AttributeValue::N(number))).collect(),
        AttributeValue::Bs(values) => values.into_iter().map(|bytes| json(AttributeValue::B(bytes))).collect(),
        _ => Value::Null,
    }
}
