//! The handler of the design document that this suite began with, and the layer that is usually put
//! around it.
//!
//! Both get the benefit of the doubt: they add a click's count instead of one, skip what cannot be
//! read instead of failing on it for good, and are not asked for unique users, which they do not
//! know.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use clicks_store::CountedClick;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// One instance of the usual handler.
#[derive(Debug)]
pub struct Baseline {
    client: Client,
    table: String,
    /// Whether an idempotency record is written for each stream record before it is counted.
    is_idempotent: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event<'a> {
    #[serde(rename = "Records", borrow)]
    records: Vec<&'a RawValue>,
    shard_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    event_name: String,
    #[serde(borrow)]
    dynamodb: Change<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Change<'a> {
    sequence_number: String,
    #[serde(borrow)]
    new_image: Option<&'a RawValue>,
}

impl Baseline {
    /// An instance that counts into `table`, alone or behind an idempotency layer.
    pub fn new(client: Client, table: impl Into<String>, is_idempotent: bool) -> Self {
        Self { client, table: table.into(), is_idempotent }
    }

    /// Counts a batch. `read` reads the image of a click.
    ///
    /// # Errors
    /// When a request fails: some clicks of the batch are then counted.
    pub async fn handle(
        &self,
        event: &RawValue,
        read: impl Fn(&RawValue) -> Option<CountedClick>,
    ) -> anyhow::Result<Value> {
        let event: Event<'_> = serde_json::from_str(event.get())?;
        for raw in &event.records {
            let Ok(record) = serde_json::from_str::<Record<'_>>(raw.get()) else { continue };
            let image = record.dynamodb.new_image.filter(|_| record.event_name == "INSERT");
            let Some(click) = image.and_then(&read) else { continue };
            let id = format!("IDEMPOTENCY#{}#{}", event.shard_id, record.dynamodb.sequence_number);
            if self.is_idempotent && !self.record_first_delivery(&id).await? {
                continue;
            }
            let (day, clicks) = (click.date.to_string(), click.count);
            self.add("STAT#DAILY", &day, &format!("DATE#{day}"), "STAT#DAILY", clicks).await?;
            self.add("STAT#MONTHLY", &day[..7], &format!("MONTH#{}", &day[..7]), "STAT#MONTHLY", clicks).await?;
            self.add("STAT#TOTAL", "METADATA", "STAT#TOTAL", "METADATA", clicks).await?;
        }
        Ok(json!({"batchItemFailures": [], "state": {}}))
    }

    /// Whether the record was never seen before.
    async fn record_first_delivery(&self, id: &str) -> anyhow::Result<bool> {
        let s = |text: &str| AttributeValue::S(text.to_owned());
        let put = self.client.put_item().table_name(&self.table);
        let put = put.item("userId", s(id)).item("createDateTime", s("idempotency"));
        match put.condition_expression("attribute_not_exists(userId)").send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(false),
                _ => Err(error.into()),
            },
        }
    }

    async fn add(&self, partition: &str, sort: &str, date_key: &str, record_sort: &str, n: u32) -> anyhow::Result<()> {
        let s = |text: &str| AttributeValue::S(text.to_owned());
        let update = self.client.update_item().table_name(&self.table);
        let update = update.key("userId", s(partition)).key("createDateTime", s(sort));
        let update = update.update_expression("SET dateKey = :dateKey, recordSort = :recordSort ADD totalClicks :n");
        let update = update.expression_attribute_values(":dateKey", s(date_key));
        let update = update.expression_attribute_values(":recordSort", s(record_sort));
        update.expression_attribute_values(":n", AttributeValue::N(n.to_string())).send().await?;
        Ok(())
    }
}
