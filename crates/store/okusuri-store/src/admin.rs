//! What administrators list: items of a type, and all logs of a day. Both are read from the sharded
//! index of types.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::UserId;
use domain::okusuri::Email;
use futures::future::try_join_all;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::keys::{
    self, INDEX_SHARDS, Item, Key, PARTITION_KEY, PROFILE, SORT_KEY, TYPE_INDEX, TYPE_PARTITION, TYPE_SORT, s,
};
use super::rows::{EmailOwner, MedicationLog, Row as _, User, read};
use super::user_export::exported;
use store_base::RowReader;
use store_base::{Direction, Page, Rows, merge};
use store_base::{StoreError, Table};

/// The types that administrators list. Each item belongs to a user, who sees the access. A row of
/// sign-in codes belongs to a mailbox, which may be nobody's.
pub const LISTED_TYPES: [&str; 10] = [
    "user",
    "session",
    "account",
    "medication_log",
    "medicine",
    "dose",
    "reminder",
    "dose_reminder",
    "notification_setting",
    "push_subscription",
];

/// Attributes with secrets, private notes or symptoms. They are not shown to administrators.
const NOT_LISTED: [&str; 4] = ["note", "flow", "symptoms", "endpoint"];

/// Where a list goes on, in each of the shards: behind this entry of the index, or at the
/// beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListPosition {
    shards: Vec<Option<IndexEntry>>,
}

/// An entry of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct IndexEntry {
    listed_by: String,
    partition: String,
    sort: String,
}

/// The listings of a table. Their requests are `Query` of the index of types, four at once,
/// `BatchGetItem` and `GetItem`.
#[derive(Debug, Clone)]
pub struct Listings {
    table: Table,
}

impl Listings {
    /// The listings of `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Items of a type, newest first, as JSON without secret or private attributes. The index is
    /// eventually consistent: an item that was just deleted is left out, and its page has fewer
    /// items.
    pub async fn of_type(
        &self,
        kind: &str,
        limit: u16,
        after: Option<&ListPosition>,
    ) -> Result<Page<Value, ListPosition>, StoreError> {
        let page = self.entries(kind, "", Direction::Desc, limit.into(), after).await?;
        let items = self.items(&page.items).await?;
        let listed = items.into_iter().map(|item| {
            let mut shown = exported(item);
            if let Some(members) = shown.as_object_mut() {
                NOT_LISTED.iter().for_each(|name| drop(members.remove(*name)));
            }
            shown
        });
        Ok(Page { items: listed.collect(), next: page.next, skipped: page.skipped })
    }

    /// The logs of a day, of all users, in the order of their ids.
    pub async fn logs_of(
        &self,
        date: Date,
        limit: u16,
        after: Option<&ListPosition>,
    ) -> Result<Page<MedicationLog, ListPosition>, StoreError> {
        let prefix = format!("{date}#");
        let page = self.entries(MedicationLog::TYPE, &prefix, Direction::Asc, limit.into(), after).await?;
        let items = self.items(&page.items).await?;
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        let items = items.into_iter().filter_map(|item| reader.read(item, read)).collect();
        Ok(Page { items, next: page.next, skipped: reader.skipped() })
    }

    /// The user with an e-mail address.
    pub async fn by_email(&self, email: &Email) -> Result<Option<User>, StoreError> {
        let Some(item) = self.item(&keys::email(email.as_str())).await? else { return Ok(None) };
        let owner: EmailOwner = read(item)?;
        let id = UserId::new(owner.user_id.as_str()).map_err(StoreError::unreadable)?;
        self.item(&Key::new(keys::user(&id), PROFILE)).await?.map(read).transpose()
    }

    async fn item(&self, key: &Key) -> Result<Option<Item>, StoreError> {
        let request = self.table.get_item(key.item());
        Ok(request.send().await?.item)
    }

    /// Entries of a type whose sorting begins with `prefix`, out of all shards.
    async fn entries(
        &self,
        kind: &str,
        prefix: &str,
        direction: Direction,
        limit: usize,
        after: Option<&ListPosition>,
    ) -> Result<Page<IndexEntry, ListPosition>, StoreError> {
        let position = |shard: u8| after.and_then(|after| after.shards.get(usize::from(shard))?.clone());
        let shards = 0..INDEX_SHARDS;
        let queries = shards.clone().map(|shard| self.shard(kind, shard, prefix, direction, limit, position(shard)));
        let queries = try_join_all(queries).await?;
        let merged = merge(queries, direction, limit, |(_, entry)| entry.listed_by.clone());
        let mut next: Vec<_> = shards.map(position).collect();
        for (shard, entry) in &merged.rows {
            next[usize::from(*shard)] = Some(entry.clone());
        }
        let next = merged.has_more.then_some(ListPosition { shards: next });
        Ok(Page { items: merged.rows.into_iter().map(|(_, entry)| entry).collect(), next, skipped: 0 })
    }

    async fn shard(
        &self,
        kind: &str,
        shard: u8,
        prefix: &str,
        direction: Direction,
        limit: usize,
        after: Option<IndexEntry>,
    ) -> Result<Rows<(u8, IndexEntry)>, StoreError> {
        let partition = keys::type_partition(kind, shard);
        let request = self.table.query().index_name(TYPE_INDEX);
        let mut request = request
            .key_condition_expression(if prefix.is_empty() {
                "TypePartition = :partition"
            } else {
                "TypePartition = :partition AND begins_with(TypeSort, :prefix)"
            })
            .expression_attribute_values(":partition", s(partition.clone()));
        if !prefix.is_empty() {
            request = request.expression_attribute_values(":prefix", s(prefix));
        }
        let start = after.map(|entry| {
            let mut start = Key::new(entry.partition, entry.sort).item();
            start.insert(TYPE_PARTITION.to_owned(), s(partition));
            start.insert(TYPE_SORT.to_owned(), s(entry.listed_by));
            start
        });
        let request = request.set_exclusive_start_key(start).limit(i32::try_from(limit).unwrap_or(i32::MAX));
        let answer = request.scan_index_forward(direction == Direction::Asc).send().await?;
        let entry = |item: &Item| {
            let [listed_by, partition, sort] = [TYPE_SORT, PARTITION_KEY, SORT_KEY].map(|name| text(item, name));
            (shard, IndexEntry { listed_by, partition, sort })
        };
        let rows = answer.items.unwrap_or_default().iter().map(entry).collect();
        Ok(Rows { rows, has_more: answer.last_evaluated_key.is_some() })
    }

    /// The items of some entries, in their order.
    async fn items(&self, entries: &[IndexEntry]) -> Result<Vec<Item>, StoreError> {
        let keys = entries.iter().map(|entry| Key::new(entry.partition.as_str(), entry.sort.as_str()).item());
        let items = self.table.batch_get(keys.collect(), false).await?.into_iter();
        let mut found: HashMap<_, _> =
            items.map(|item| ((text(&item, PARTITION_KEY), text(&item, SORT_KEY)), item)).collect();
        Ok(entries.iter().filter_map(|entry| found.remove(&(entry.partition.clone(), entry.sort.clone()))).collect())
    }
}

fn text(item: &Item, name: &str) -> String {
    item.get(name).map(AttributeValue::as_s).and_then(Result::ok).cloned().unwrap_or_default()
}
