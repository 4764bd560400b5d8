//! Writes that several families of access patterns share.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, DeleteRequest, Put, TransactWriteItem, Update, WriteRequest,
};
use tokio::time::sleep;

use super::keys::{Item, Key, PARTITION_KEY, SORT_KEY, TYPE_SORT, s};
use super::update::{Write, refused, write};
use crate::StoreError;

/// How often a transaction is sent that met another one on its way.
const ATTEMPTS_MAX: u32 = 5;

/// Waits between those grow from this, in milliseconds, and are random.
const WAIT_MS: u64 = 20;

/// What `BatchWriteItem` takes at most
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html)).
const BATCH_MAX: usize = 25;

/// Pages of 1 MB that are read into memory: far more than what a user has of one kind.
const PAGES_MAX: usize = 50;

/// Values for a condition or an update, by their name without the colon.
pub(super) type Values = Vec<(&'static str, AttributeValue)>;

/// Actions that are written together or not at all.
#[derive(Debug, Clone)]
pub(super) struct Transaction<'a> {
    table: &'a str,
    actions: Vec<TransactWriteItem>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(table: &'a str) -> Self {
        Self { table, actions: Vec::new() }
    }

    /// Puts an item where there is none.
    pub(super) fn put_new(mut self, item: Item) -> Result<Self, StoreError> {
        let put = Put::builder().table_name(self.table).set_item(Some(item));
        let put = put.condition_expression("attribute_not_exists(PK)").build().map_err(refused)?;
        self.actions.push(TransactWriteItem::builder().put(put).build());
        Ok(self)
    }

    /// Deletes an item on a condition.
    pub(super) fn delete(mut self, key: &Key, condition: &str, values: Values) -> Result<Self, StoreError> {
        let delete = Delete::builder().table_name(self.table).set_key(Some(key.item()));
        let delete = delete.condition_expression(condition).set_expression_attribute_values(named(values));
        self.actions.push(TransactWriteItem::builder().delete(delete.build().map_err(refused)?).build());
        Ok(self)
    }

    /// Deletes an item, whether it is there or not.
    pub(super) fn forget(mut self, key: &Key) -> Result<Self, StoreError> {
        let delete = Delete::builder().table_name(self.table).set_key(Some(key.item())).build().map_err(refused)?;
        self.actions.push(TransactWriteItem::builder().delete(delete).build());
        Ok(self)
    }

    /// Changes attributes of an item on a condition. `#Name` in the update stands for the attribute `Name`, where that is a word of DynamoDB's own.
    pub(super) fn update(
        mut self,
        key: &Key,
        update: &str,
        condition: &str,
        values: Values,
    ) -> Result<Self, StoreError> {
        let change = Update::builder().table_name(self.table).set_key(Some(key.item())).update_expression(update);
        let change = change.condition_expression(condition).set_expression_attribute_values(named(values));
        let change = change.set_expression_attribute_names(names(update));
        self.actions.push(TransactWriteItem::builder().update(change.build().map_err(refused)?).build());
        Ok(self)
    }

    /// Sets all attributes of a row but its creation, over what is there or not. Attributes that the row does not know stay.
    pub(super) fn set(mut self, item: Item) -> Result<Self, StoreError> {
        let Set { key, update, names, values } = Set::new(item);
        let change = Update::builder().table_name(self.table).set_key(Some(key)).update_expression(update);
        let change = change.set_expression_attribute_names(Some(names.into_iter().collect()));
        let change = change.set_expression_attribute_values(Some(values.into_iter().collect())).build();
        self.actions.push(TransactWriteItem::builder().update(change.map_err(refused)?).build());
        Ok(self)
    }

    /// Writes nothing, and insists that an item is as it should be.
    pub(super) fn check(mut self, key: &Key, condition: &str, values: Values) -> Result<Self, StoreError> {
        let check = ConditionCheck::builder().table_name(self.table).set_key(Some(key.item()));
        let check = check.condition_expression(condition).set_expression_attribute_values(named(values));
        self.actions.push(TransactWriteItem::builder().condition_check(check.build().map_err(refused)?).build());
        Ok(self)
    }

    /// Writes all of it: `None`; or nothing, and then this is the first action whose condition did not hold. A transaction that met another one
    /// was cancelled whole, and is sent again.
    pub(super) async fn write(self, client: &Client) -> Result<Option<usize>, StoreError> {
        let mut attempt = 1;
        loop {
            match write(client, self.actions.clone()).await? {
                Write::Done => return Ok(None),
                Write::Refused(action) => return Ok(Some(action)),
                Write::Conflict if attempt < ATTEMPTS_MAX => {
                    // Full jitter: those that met once are unlikely to meet again.
                    sleep(Duration::from_millis(fastrand::u64(..=WAIT_MS << attempt))).await;
                    attempt += 1;
                }
                Write::Conflict => return Err(StoreError::Busy("TransactionConflict".to_owned())),
            }
        }
    }
}

/// An update that sets all attributes of an item but its key, and lets its creation be what it was.
#[derive(Debug)]
pub(super) struct Set {
    pub(super) key: Item,
    pub(super) update: String,
    pub(super) names: BTreeMap<String, String>,
    pub(super) values: BTreeMap<String, AttributeValue>,
}

impl Set {
    pub(super) fn new(item: Item) -> Self {
        let is_key = |name: &str| name == PARTITION_KEY || name == SORT_KEY;
        let (key, attributes): (Item, Item) = item.into_iter().partition(|(name, _)| is_key(name));
        // In the order of their names, so that the same change is the same request.
        let attributes: BTreeMap<_, _> = attributes.into_iter().collect();
        let set = |(index, name): (usize, &String)| {
            // When an item was made, it was made once.
            match name.as_str() {
                "CreatedAt" | TYPE_SORT => format!("#n{index} = if_not_exists(#n{index}, :v{index})"),
                _ => format!("#n{index} = :v{index}"),
            }
        };
        let sets = attributes.keys().enumerate().map(set);
        let update = format!("SET {}", sets.collect::<Vec<_>>().join(", "));
        let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
        for (index, (name, value)) in attributes.into_iter().enumerate() {
            names.insert(format!("#n{index}"), name);
            values.insert(format!(":v{index}"), value);
        }
        Self { key, update, names, values }
    }
}

fn named(values: Values) -> Option<Item> {
    // DynamoDB refuses a map of values that is empty.
    (!values.is_empty()).then(|| values.into_iter().map(|(name, value)| (format!(":{name}"), value)).collect())
}

/// The names behind the placeholders of an expression.
fn names(expression: &str) -> Option<HashMap<String, String>> {
    let words = expression.split(|char: char| char != '#' && !char.is_ascii_alphanumeric());
    let names: HashMap<_, _> =
        words.filter_map(|word| Some((word.to_owned(), word.strip_prefix('#')?.to_owned()))).collect();
    (!names.is_empty()).then_some(names)
}

/// All items of a partition whose sort keys begin with `prefix`, as of their last writes.
pub(super) async fn query(
    client: &Client,
    table: &str,
    partition: &str,
    prefix: &str,
) -> Result<Vec<Item>, StoreError> {
    let mut items = Vec::new();
    let mut start = None;
    for _ in 0..PAGES_MAX {
        let request = client.query().table_name(table).consistent_read(true).set_exclusive_start_key(start);
        let request = request.key_condition_expression("PK = :partition AND begins_with(SK, :prefix)");
        let request = request.expression_attribute_values(":partition", s(partition));
        let page = request.expression_attribute_values(":prefix", s(prefix)).send().await?;
        items.extend(page.items.unwrap_or_default());
        start = page.last_evaluated_key;
        if start.is_none() {
            return Ok(items);
        }
    }
    Err(StoreError::Refused(format!("{partition} {prefix} has more than {PAGES_MAX} pages")))
}

/// Deletes items, whether they are there or not: 25 in a request, and what DynamoDB leaves out again.
pub(super) async fn delete_all(client: &Client, table: &str, keys: &[Key]) -> Result<(), StoreError> {
    for keys in keys.chunks(BATCH_MAX) {
        let delete = |key: &Key| {
            let delete = DeleteRequest::builder().set_key(Some(key.item())).build().map_err(refused)?;
            Ok(WriteRequest::builder().delete_request(delete).build())
        };
        let mut left: Vec<_> = keys.iter().map(delete).collect::<Result<_, StoreError>>()?;
        let mut attempt = 0;
        while !left.is_empty() {
            if attempt == ATTEMPTS_MAX {
                return Err(StoreError::Busy(format!("{} items were left undeleted", left.len())));
            }
            if attempt > 0 {
                sleep(Duration::from_millis(fastrand::u64(..=WAIT_MS << attempt))).await;
            }
            attempt += 1;
            let answer = client.batch_write_item().request_items(table, left).send().await?;
            left = answer.unprocessed_items.and_then(|mut tables| tables.remove(table)).unwrap_or_default();
        }
    }
    Ok(())
}
