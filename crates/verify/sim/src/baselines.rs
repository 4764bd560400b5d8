//! The handler of the design document that this suite began with, and the layer that is usually put
//! around it.
//!
//! Both get the benefit of the doubt: they add a click's count instead of one, skip what cannot be
//! read instead of failing on it for good, and are not asked for unique users, which they do not
//! know.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::AttributeValue;
use lambda_kit::stream::{StreamEvent, StreamRecord, StreamReply};
use serde_json::Value;
use store::clicks::ClickImage;

use crate::table::TABLE;

/// One instance.
pub(crate) struct Baseline {
    pub(crate) client: Client,
    /// Whether an idempotency record is written for each stream record before it is counted.
    pub(crate) is_idempotent: bool,
}

impl Baseline {
    pub(crate) async fn handle(&self, event: &str) -> anyhow::Result<Value> {
        let event: StreamEvent = serde_json::from_str(event)?;
        let shard = event.shard_id.as_deref().unwrap_or_default();
        for raw in &event.records {
            let Ok(record) = serde_json::from_str::<StreamRecord<'_, ClickImage<'_>>>(raw.get()) else { continue };
            let number = &record.change.sequence_number;
            let image = record.change.new_image.filter(|_| record.event_name == "INSERT");
            let (Some(image), Ok(place)) = (image, number.parse()) else { continue };
            let Ok(Some(click)) = image.click(place) else { continue };
            if self.is_idempotent && !self.record_first_delivery(&format!("IDEMPOTENCY#{shard}#{number}")).await? {
                continue;
            }
            let (day, clicks) = (click.date.to_string(), click.count);
            self.add("STAT#DAILY", &day, &format!("DATE#{day}"), "STAT#DAILY", clicks).await?;
            self.add("STAT#MONTHLY", &day[..7], &format!("MONTH#{}", &day[..7]), "STAT#MONTHLY", clicks).await?;
            self.add("STAT#TOTAL", "METADATA", "STAT#TOTAL", "METADATA", clicks).await?;
        }
        Ok(serde_json::to_value(StreamReply::new(&event, None))?)
    }

    /// Whether this is the first time that the record is seen.
    async fn record_first_delivery(&self, id: &str) -> anyhow::Result<bool> {
        let s = |text: &str| AttributeValue::S(text.to_owned());
        let put =
            self.client.put_item().table_name(TABLE).item("userId", s(id)).item("createDateTime", s("idempotency"));
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
        let update = self.client.update_item().table_name(TABLE);
        let update = update.key("userId", s(partition)).key("createDateTime", s(sort));
        let update = update.update_expression("SET dateKey = :dateKey, recordSort = :recordSort ADD totalClicks :n");
        let update = update.expression_attribute_values(":dateKey", s(date_key));
        let update = update.expression_attribute_values(":recordSort", s(record_sort));
        update.expression_attribute_values(":n", AttributeValue::N(n.to_string())).send().await?;
        Ok(())
    }
}
