//! The requests to one table. All of them use the same retry policy and the same mapping of errors.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::delete_item::builders::DeleteItemFluentBuilder;
use aws_sdk_dynamodb::operation::get_item::builders::GetItemFluentBuilder;
use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::builders::{ConditionCheckBuilder, DeleteBuilder, PutBuilder, UpdateBuilder};
use aws_sdk_dynamodb::types::{
    ConditionCheck, Delete, DeleteRequest, KeysAndAttributes, Put, ReturnConsumedCapacity, TransactWriteItem, Update,
    WriteRequest,
};

use crate::StoreError;
use crate::canceled::canceled;
use crate::item::{Item, s};
use crate::retry::Retry;

/// The most requests of one `BatchWriteItem`
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html)).
pub const BATCH_WRITE_MAX: usize = 25;

/// The most keys of one `BatchGetItem`
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html)).
pub const BATCH_GET_MAX: usize = 100;

/// The most pages of 1 MB that one list reads into memory. A user has far fewer of each kind.
const PAGES_MAX: usize = 50;

/// A table, and the client for it. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Table {
    client: Client,
    name: String,
}

/// The result of a transaction that DynamoDB answered.
#[derive(Debug, Clone, PartialEq)]
pub enum TransactionOutcome {
    /// All actions were written.
    Written,
    /// Nothing was written, because a condition did not hold.
    ConditionFailed {
        /// The index of the first action whose condition did not hold.
        action: usize,
        /// The item that failed the condition, if that action asks for it.
        item: Option<Item>,
    },
    /// Nothing was written, because another transaction holds one of the items.
    Conflict,
}

impl Table {
    /// The table of this name.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        Self { client, name: name.into() }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The client, for requests that are not about items of this table.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// `GetItem`. It is eventually consistent unless the caller changes it.
    pub fn get_item(&self, key: Item) -> GetItemFluentBuilder {
        self.client.get_item().table_name(&self.name).set_key(Some(key))
    }

    /// `PutItem`.
    pub fn put_item(&self, item: Item) -> PutItemFluentBuilder {
        self.client.put_item().table_name(&self.name).set_item(Some(item))
    }

    /// `UpdateItem`.
    pub fn update_item(&self, key: Item) -> UpdateItemFluentBuilder {
        self.client.update_item().table_name(&self.name).set_key(Some(key))
    }

    /// `DeleteItem`.
    pub fn delete_item(&self, key: Item) -> DeleteItemFluentBuilder {
        self.client.delete_item().table_name(&self.name).set_key(Some(key))
    }

    /// `Query`, of the table or of one of its indexes.
    pub fn query(&self) -> QueryFluentBuilder {
        self.client.query().table_name(&self.name)
    }

    /// `Query` of a partition between two sort keys, both included. `names` are the key attributes
    /// of the table.
    pub fn query_between(
        &self,
        names: [&str; 2],
        partition: impl Into<String>,
        from: impl Into<String>,
        to: impl Into<String>,
    ) -> QueryFluentBuilder {
        self.query()
            .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
            .expression_attribute_names("#pk", names[0])
            .expression_attribute_names("#sk", names[1])
            .expression_attribute_values(":pk", s(partition))
            .expression_attribute_values(":from", s(from))
            .expression_attribute_values(":to", s(to))
    }

    /// All items of a partition whose sort keys begin with `prefix`, read strongly consistently.
    /// `names` are the key attributes of the table.
    pub async fn query_prefix(&self, names: [&str; 2], partition: &str, prefix: &str) -> Result<Vec<Item>, StoreError> {
        let request = self.query().key_condition_expression("#pk = :pk AND begins_with(#sk, :prefix)");
        let request = request.expression_attribute_names("#sk", names[1]);
        let request = request.expression_attribute_values(":prefix", s(prefix));
        self.all_pages(request, names[0], partition).await
    }

    /// All items of a partition, read strongly consistently. `name` is the table's partition key.
    pub async fn query_partition(&self, name: &str, partition: &str) -> Result<Vec<Item>, StoreError> {
        self.all_pages(self.query().key_condition_expression("#pk = :pk"), name, partition).await
    }

    /// The sort keys of a partition, read strongly consistently. `names` are those of the table's keys.
    pub async fn sort_keys(&self, names: [&str; 2], partition: &str) -> Result<Vec<String>, StoreError> {
        let items = self.query_partition(names[0], partition).await?;
        let sort = |item: Item| item.get(names[1]).and_then(|sort| sort.as_s().ok()).cloned();
        Ok(items.into_iter().filter_map(sort).collect())
    }

    async fn all_pages(&self, query: QueryFluentBuilder, name: &str, partition: &str) -> Result<Vec<Item>, StoreError> {
        let query = query.consistent_read(true).expression_attribute_names("#pk", name);
        let query = query.expression_attribute_values(":pk", s(partition));
        let mut items = Vec::new();
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let page = query.clone().set_exclusive_start_key(start).send().await?;
            items.extend(page.items.unwrap_or_default());
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(items);
            }
        }
        Err(StoreError::Refused(format!("{partition} has more than {PAGES_MAX} pages")))
    }

    /// `Scan`.
    pub fn scan(&self) -> ScanFluentBuilder {
        self.client.scan().table_name(&self.name)
    }

    /// Opens the connection with the smallest possible read, so that the first request does not
    /// wait for the handshake.
    pub async fn connect(&self, key: Item) -> Result<(), StoreError> {
        self.get_item(key).send().await?;
        Ok(())
    }

    /// A put in a transaction.
    pub fn put(&self, item: Item) -> PutBuilder {
        Put::builder().table_name(&self.name).set_item(Some(item))
    }

    /// An update in a transaction.
    pub fn update(&self, key: Item) -> UpdateBuilder {
        Update::builder().table_name(&self.name).set_key(Some(key))
    }

    /// A delete in a transaction.
    pub fn delete(&self, key: Item) -> DeleteBuilder {
        Delete::builder().table_name(&self.name).set_key(Some(key))
    }

    /// A condition check in a transaction.
    pub fn condition_check(&self, key: Item) -> ConditionCheckBuilder {
        ConditionCheck::builder().table_name(&self.name).set_key(Some(key))
    }

    /// Reads items by key, 100 in a request, in no particular order. Unprocessed keys are read
    /// again.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when some keys stay unprocessed.
    pub async fn batch_get(&self, keys: Vec<Item>, is_consistent: bool) -> Result<Vec<Item>, StoreError> {
        Ok(self.batch_get_metered(keys, is_consistent, ReturnConsumedCapacity::None).await?.0)
    }

    /// Like [`Self::batch_get`], and returns the consumed read units if `capacity` asks for them.
    pub async fn batch_get_metered(
        &self,
        mut keys: Vec<Item>,
        is_consistent: bool,
        capacity: ReturnConsumedCapacity,
    ) -> Result<(Vec<Item>, f64), StoreError> {
        let (mut items, mut read_units) = (Vec::with_capacity(keys.len()), 0.0);
        let mut retry = Retry::new();
        while !keys.is_empty() {
            let later = keys.split_off(keys.len().min(BATCH_GET_MAX));
            let wanted = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(is_consistent).build()?;
            let request = self.client.batch_get_item().request_items(&self.name, wanted);
            let answer = request.return_consumed_capacity(capacity.clone()).send().await?;
            read_units += answer.consumed_capacity().iter().filter_map(|used| used.capacity_units()).sum::<f64>();
            items.extend(answer.responses.and_then(|mut tables| tables.remove(&self.name)).unwrap_or_default());
            let left = answer.unprocessed_keys.and_then(|mut tables| tables.remove(&self.name));
            keys = left.map(|left| left.keys).unwrap_or_default();
            if !keys.is_empty() && !retry.wait().await {
                return Err(StoreError::Busy(format!("{} keys stayed unprocessed", keys.len())));
            }
            keys.extend(later);
        }
        Ok((items, read_units))
    }

    /// Puts and deletes without conditions, 25 in a request. Unprocessed requests are sent again.
    ///
    /// # Errors
    /// [`StoreError::Busy`] when some requests stay unprocessed.
    pub async fn batch_write(&self, mut requests: Vec<WriteRequest>) -> Result<(), StoreError> {
        let mut retry = Retry::new();
        while !requests.is_empty() {
            let later = requests.split_off(requests.len().min(BATCH_WRITE_MAX));
            let answer = self.client.batch_write_item().request_items(&self.name, requests).send().await?;
            requests = answer.unprocessed_items.and_then(|mut tables| tables.remove(&self.name)).unwrap_or_default();
            if !requests.is_empty() && !retry.wait().await {
                return Err(StoreError::Busy(format!("{} writes stayed unprocessed", requests.len())));
            }
            requests.extend(later);
        }
        Ok(())
    }

    /// Deletes items. An item that does not exist is no error.
    pub async fn batch_delete(&self, keys: impl IntoIterator<Item = Item>) -> Result<(), StoreError> {
        let delete = |key| {
            let delete = DeleteRequest::builder().set_key(Some(key)).build()?;
            Ok(WriteRequest::builder().delete_request(delete).build())
        };
        self.batch_write(keys.into_iter().map(delete).collect::<Result<_, StoreError>>()?).await
    }

    /// Writes all actions or none, in one attempt. The caller decides what to do after a failed
    /// condition or a conflict.
    pub async fn transact(&self, actions: Vec<TransactWriteItem>) -> Result<TransactionOutcome, StoreError> {
        let Err(error) = self.client.transact_write_items().set_transact_items(Some(actions)).send().await else {
            return Ok(TransactionOutcome::Written);
        };
        match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(why)) => canceled(why),
            _ => Err(error.into()),
        }
    }
}
