//! Reading and deleting many items of a partition.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{DeleteRequest, WriteRequest};
use tokio::time::sleep;

use super::keys::{Item, Key, s};
use crate::StoreError;

/// How often DynamoDB is asked to delete what it left out of a batch.
const ATTEMPTS_MAX: u32 = 5;

/// Waits between those grow from this, in milliseconds, and are random.
const WAIT_MS: u64 = 20;

/// What `BatchWriteItem` takes at most
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html)).
const BATCH_MAX: usize = 25;

/// Pages of 1 MB that are read into memory: far more than what a user has of one kind.
const PAGES_MAX: usize = 50;

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
            let delete = DeleteRequest::builder().set_key(Some(key.item())).build()?;
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
