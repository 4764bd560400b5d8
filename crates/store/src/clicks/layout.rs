//! Over how many index partitions days have been spread, at the most.
//!
//! `LAYOUT#CLICKS` / `dateShards` keeps that number. A day's clicks stay in the partitions that they were written to, so somebody who has fewer
//! partitions now still has to look into all of them.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;

use super::keys::{DateShards, LAYOUT, key, n};
use crate::StoreError;

const SORT: &str = "dateShards";
const SHARDS: &str = "shards";

impl DateShards {
    /// The most that days were ever spread over in `table`, and at least these. For readers. Its request is `GetItem`.
    pub async fn with_earlier(self, client: &Client, table: &str) -> Result<Self, StoreError> {
        let request = client.get_item().table_name(table).set_key(Some(key(LAYOUT, SORT))).consistent_read(true);
        let Some(item) = request.send().await?.item else { return Ok(self) };
        let shards = item.get(SHARDS).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok());
        let earlier = shards.and_then(Self::new);
        let earlier = earlier.ok_or_else(|| StoreError::unreadable(format!("{LAYOUT} {SORT}: no number of shards")))?;
        Ok(self.max(earlier))
    }

    /// Remembers that days are spread over these from now on. For writers, before the first click. Its requests are `GetItem`, and `PutItem`
    /// where the number has grown.
    pub async fn remember(self, client: &Client, table: &str) -> Result<(), StoreError> {
        if Self::default().with_earlier(client, table).await? >= self {
            return Ok(());
        }
        let mut item = key(LAYOUT, SORT);
        item.insert(SHARDS.to_owned(), n(self.get()));
        let put = client.put_item().table_name(table).set_item(Some(item));
        // Stops an instance that begins at the same time, with a smaller number, from taking a larger one back.
        let put = put.condition_expression("attribute_not_exists(#shards) OR #shards < :shards");
        let put =
            put.expression_attribute_names("#shards", SHARDS).expression_attribute_values(":shards", n(self.get()));
        match put.send().await {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(error.into()),
            },
        }
    }
}
