//! The table that holds the statistics, and the requests to it.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes, TransactWriteItem, Update};
#[cfg(feature = "recount")]
use aws_sdk_dynamodb::types::{Get, TransactGetItem};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use crate::error::StoreError;

pub(crate) type Item = HashMap<String, AttributeValue>;

/// The name of the TTL attribute of a table without [`Table::ttl_attribute`].
pub const TTL_ATTRIBUTE: &str = "expiresAt";

/// The most keys of one `BatchGetItem`
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html)).
pub(crate) const BATCH_GET_MAX: usize = 100;

/// The most pages of 1 MB that one list reads into memory.
const PAGES_MAX: usize = 1_000;

/// The table of the statistics: the table whose stream is read, or another one. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Table {
    client: Client,
    name: String,
    partition_key: String,
    sort_key: String,
    ttl_attribute: String,
}

impl Table {
    /// The table `name` with the names of its partition key and its sort key. Both are strings in a
    /// table of statistics. Items may have keys of any type, or no sort key; their statistics then
    /// are in a table of their own.
    pub fn new(
        client: Client,
        name: impl Into<String>,
        partition_key: impl Into<String>,
        sort_key: impl Into<String>,
    ) -> Self {
        let (partition_key, sort_key) = (partition_key.into(), sort_key.into());
        Self { client, name: name.into(), partition_key, sort_key, ttl_attribute: TTL_ATTRIBUTE.to_owned() }
    }

    /// A table of items, for a recount or a redrive: its keys may have any type, and its sort key, if
    /// it has one, any name. It cannot have statistics.
    #[cfg(feature = "recount")]
    pub fn of_items(client: Client, name: impl Into<String>, partition_key: impl Into<String>) -> Self {
        Self::new(client, name, partition_key, "")
    }

    /// The name of the table's TTL attribute, [`TTL_ATTRIBUTE`] without it. The crate writes the
    /// time after which one of its items is not needed into it, in epoch seconds. With another
    /// name, DynamoDB never deletes these items.
    pub fn ttl_attribute(self, name: impl Into<String>) -> Self {
        Self { ttl_attribute: name.into(), ..self }
    }

    pub(crate) fn key(&self, partition: impl Into<String>, sort: impl Into<String>) -> Item {
        let partition = (self.partition_key.clone(), AttributeValue::S(partition.into()));
        [partition, (self.sort_key.clone(), AttributeValue::S(sort.into()))].into()
    }

    /// The names of the partition key and the sort key.
    pub(crate) fn key_names(&self) -> [&str; 2] {
        [&self.partition_key, &self.sort_key]
    }

    /// The name of the TTL attribute.
    pub(crate) fn ttl_name(&self) -> &str {
        &self.ttl_attribute
    }

    /// The partition key and the sort key of an item.
    pub(crate) fn key_of(&self, item: &Item) -> Option<(String, String)> {
        let text = |name: &str| item.get(name)?.as_s().ok().cloned();
        Some((text(&self.partition_key)?, text(&self.sort_key)?))
    }

    /// A strongly consistent `GetItem`.
    pub(crate) async fn get(&self, key: Item) -> Result<Option<Item>, StoreError> {
        let request = self.client.get_item().table_name(&self.name).set_key(Some(key)).consistent_read(true);
        match request.send().await {
            Ok(answer) => Ok(answer.item),
            // Each batch begins with such a read, so nothing is counted then.
            Err(error) if error.code() == Some("ValidationException") => Err(StoreError::Refused(format!(
                "{}; statistics need a table with the string keys `{}` and `{}`, which may be another table than that of \
                 the items",
                StoreError::from(error),
                self.partition_key,
                self.sort_key
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads items by key, in no particular order.
    pub(crate) async fn batch_get(&self, mut keys: Vec<Item>, is_consistent: bool) -> Result<Vec<Item>, StoreError> {
        let mut items = Vec::with_capacity(keys.len());
        let mut retry = Retry::new();
        while !keys.is_empty() {
            let later = keys.split_off(keys.len().min(BATCH_GET_MAX));
            let wanted = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(is_consistent).build()?;
            let answer = self.client.batch_get_item().request_items(&self.name, wanted).send().await?;
            items.extend(answer.responses.and_then(|mut tables| tables.remove(&self.name)).unwrap_or_default());
            let left = answer.unprocessed_keys.and_then(|mut tables| tables.remove(&self.name));
            keys = left.map(|left| left.keys).unwrap_or_default();
            if !keys.is_empty() && !retry.wait().await {
                return Err(StoreError::Busy(format!("{} keys stayed unprocessed", keys.len())));
            }
            keys.extend(later);
        }
        Ok(items)
    }

    /// The items of a partition, read strongly consistently; with `with`, only those that have this
    /// attribute.
    pub(crate) async fn partition(&self, partition: &str, with: Option<&str>) -> Result<Vec<Item>, StoreError> {
        let mut items = Vec::new();
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let mut request =
                self.client.query().table_name(&self.name).set_exclusive_start_key(start).consistent_read(true);
            request =
                request.key_condition_expression("#pk = :pk").expression_attribute_names("#pk", &self.partition_key);
            request = request.expression_attribute_values(":pk", AttributeValue::S(partition.to_owned()));
            if let Some(with) = with {
                request =
                    request.filter_expression("attribute_exists(#with)").expression_attribute_names("#with", with);
            }
            let page = request.send().await?;
            items.extend(page.items.unwrap_or_default());
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(items);
            }
        }
        Err(StoreError::Refused(format!("{partition} has more than {PAGES_MAX} pages")))
    }

    /// The first page of a partition, without the items that have an attribute.
    pub(crate) async fn page(&self, partition: &str, without: &str) -> Result<Vec<Item>, StoreError> {
        let page = self.query().consistent_read(true).key_condition_expression("#pk = :pk");
        let page = page.expression_attribute_names("#pk", &self.partition_key);
        let page = page.expression_attribute_values(":pk", AttributeValue::S(partition.to_owned()));
        let page = page.filter_expression("attribute_not_exists(#without)");
        Ok(page.expression_attribute_names("#without", without).send().await?.items.unwrap_or_default())
    }

    /// Reads up to 100 items in one transaction, in the order of their keys.
    #[cfg(feature = "recount")]
    pub(crate) async fn transact_get(&self, keys: Vec<Item>) -> Result<Vec<Option<Item>>, StoreError> {
        let gets = keys.into_iter().map(|key| {
            let get = Get::builder().table_name(&self.name).set_key(Some(key)).build()?;
            Ok(TransactGetItem::builder().get(get).build())
        });
        let gets = gets.collect::<Result<_, StoreError>>()?;
        match self.client.transact_get_items().set_transact_items(Some(gets)).send().await {
            Ok(answer) => Ok(answer.responses.unwrap_or_default().into_iter().map(|response| response.item).collect()),
            Err(error) if error.code() == Some("TransactionCanceledException") => {
                Err(StoreError::Busy("another transaction holds an item".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The client, for requests that are not about items of this table.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The table's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn query(&self) -> QueryFluentBuilder {
        self.client.query().table_name(&self.name)
    }

    pub(crate) fn update_item(&self, key: Item) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(&self.name).set_key(Some(key))
    }

    /// An update in a transaction.
    pub(crate) fn update(&self, key: Item) -> UpdateBuilder {
        Update::builder().table_name(&self.name).set_key(Some(key))
    }

    /// `PutItem`.
    pub(crate) async fn delete(&self, key: Item) -> Result<(), StoreError> {
        self.client.delete_item().table_name(&self.name).set_key(Some(key)).send().await?;
        Ok(())
    }

    pub(crate) fn put_item(&self, item: Item) -> PutItemFluentBuilder {
        self.client.put_item().table_name(&self.name).set_item(Some(item))
    }

    /// Writes all actions or none; `false` when a condition did not hold.
    pub(crate) async fn transact(&self, actions: Vec<TransactWriteItem>) -> Result<bool, StoreError> {
        let Err(error) = self.client.transact_write_items().set_transact_items(Some(actions)).send().await else {
            return Ok(true);
        };
        let Some(TransactWriteItemsError::TransactionCanceledException(why)) = error.as_service_error() else {
            return Err(error.into());
        };
        let codes: Vec<_> = why.cancellation_reasons().iter().filter_map(|reason| reason.code()).collect();
        if codes.contains(&"ConditionalCheckFailed") {
            return Ok(false);
        }
        let busy: Vec<_> = codes.into_iter().filter(|code| StoreError::is_busy(code)).collect();
        Err(match busy.as_slice() {
            [] => StoreError::Refused(why.message().unwrap_or("canceled").to_owned()),
            _ => StoreError::Busy(busy.join(", ")),
        })
    }
}

/// The waits of work that no client waits for, such as a stream consumer's or an operator's tool:
/// 14 retries, which together wait for one to two minutes. The deadline of an invocation ends them
/// earlier.
pub fn patient_backoff() -> ExponentialBuilder {
    let waits = ExponentialBuilder::new().with_jitter().with_min_delay(Duration::from_millis(50));
    waits.with_max_delay(Duration::from_secs(10)).with_max_times(14)
}

/// [`patient_backoff`] as a loop.
pub(crate) struct Retry(ExponentialBackoff);

impl Retry {
    pub(crate) fn new() -> Self {
        Self(patient_backoff().build())
    }

    /// Waits before the next try; `false` when there have been enough.
    pub(crate) async fn wait(&mut self) -> bool {
        let Some(wait) = self.0.next() else { return false };
        tokio::time::sleep(wait).await;
        true
    }
}
