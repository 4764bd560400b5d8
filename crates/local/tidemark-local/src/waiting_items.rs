//! Counts the items in the tables that wait for a person. The template defines them
//! (`Metadata.Waiting`). They are counted on request: metrics would only show how many arrived, not
//! how many are left.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, Select};
use serde_json::{Value, json};

use crate::stack::{Table, Waiting};

/// Maximum number of requests for one count; each reads up to 1 MB.
const PAGES_MAX: usize = 20;

/// Counts the waiting items.
#[derive(Debug)]
pub struct WaitingItems {
    client: Client,
    of: Vec<(String, Waiting)>,
}

impl WaitingItems {
    /// The waiting items of these tables.
    pub fn new(client: Client, tables: &[Table]) -> Self {
        let of = tables.iter().filter_map(|table| Some((table.name.clone(), table.waiting.clone()?)));
        Self { client, of: of.collect() }
    }

    /// The counts: `{"table", "name", "count", "command"}`. A table that cannot be read, for
    /// example before it is created, is left out.
    pub async fn count(&self) -> Vec<Value> {
        let mut counted = Vec::with_capacity(self.of.len());
        for (table, waiting) in &self.of {
            match self.count_one(table, waiting).await {
                Ok(count) => counted.push(json!({
                    "table": table, "name": waiting.name, "count": count, "command": waiting.command,
                })),
                Err(error) => tracing::debug!(table, error, "the waiting items cannot be counted"),
            }
        }
        counted
    }

    async fn count_one(&self, table: &str, waiting: &Waiting) -> Result<i64, String> {
        let query = self.client.query().table_name(table).select(Select::Count).consistent_read(true);
        let query = query
            .key_condition_expression("#pk = :pk")
            .filter_expression("attribute_not_exists(#until)")
            .expression_attribute_names("#pk", &waiting.partition_key)
            .expression_attribute_names("#until", &waiting.until)
            .expression_attribute_values(":pk", AttributeValue::S(waiting.partition.clone()));
        let (mut count, mut start) = (0, None);
        for _ in 0..PAGES_MAX {
            let page = query.clone().set_exclusive_start_key(start).send().await.map_err(|error| error.to_string())?;
            count += i64::from(page.count());
            start = page.last_evaluated_key;
            if start.is_none() {
                break;
            }
        }
        Ok(count)
    }
}
