//! Minimums and maximums. DynamoDB has no such update in a transaction, so each is a conditional
//! update before the commit. A replay that writes one again changes nothing.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::additions::ItemKey;
use crate::amount::Amount;
use crate::chunk::Chunk;
use crate::contribution::StatKey;
use crate::declaration::Rollup;
use crate::distinct::REQUESTS_MAX;
use crate::error::StoreError;
use crate::error::unless_condition_failed;
use crate::table::Table;

/// How many extremes an instance caches.
const CACHED_MAX: usize = 50_000;

/// Extremes that an instance has written. The table's are the same or further out, so a value that
/// does not pass them needs no request.
#[derive(Debug, Default)]
pub(crate) struct Extremes {
    cache: HashMap<(StatKey, usize), i64>,
}

impl Extremes {
    pub(crate) async fn write<T>(
        &mut self,
        table: &Table,
        rollup: &Rollup<T>,
        chunk: &Chunk,
    ) -> Result<(), StoreError> {
        let mut open = Vec::new();
        for (key, delta) in &chunk.stats {
            for (&measure, &value) in &delta.extremes {
                let Some((name, of)) = rollup.measures.get(measure) else { continue };
                let is_minimum = of.is_first();
                let place = (key.clone(), measure);
                let passes = |known: &i64| if is_minimum { value < *known } else { value > *known };
                if self.cache.get(&place).is_none_or(passes) {
                    let amount = Amount { units: value.into(), scale: of.scale };
                    open.push((place, name.as_str(), is_minimum, value, amount));
                }
            }
        }
        let written: Vec<_> = stream::iter(open)
            .map(|(place, name, is_minimum, value, amount)| async move {
                if let Some(stat) = rollup.stat(&place.0) {
                    write(table, (stat.key, stat.set), name, is_minimum, amount).await?;
                }
                Ok::<_, StoreError>((place, value))
            })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;
        if self.cache.len() + written.len() > CACHED_MAX {
            self.cache.clear();
        }
        self.cache.extend(written);
        Ok(())
    }
}

/// Replaces a minimum or maximum unless the table's is further out.
pub(crate) async fn write(
    table: &Table,
    (key, set): (ItemKey, BTreeMap<String, String>),
    name: &str,
    is_minimum: bool,
    value: Amount,
) -> Result<(), StoreError> {
    let mut request = table.update_item(table.key(key.0, key.1));
    let mut sets = vec!["#m = :m".to_owned()];
    for (index, (attribute, text)) in set.into_iter().enumerate() {
        sets.push(format!("#s{index} = :s{index}"));
        request = request.expression_attribute_names(format!("#s{index}"), attribute);
        request = request.expression_attribute_values(format!(":s{index}"), AttributeValue::S(text));
    }
    let further = if is_minimum { ">" } else { "<" };
    let request = request
        .update_expression(format!("SET {}", sets.join(", ")))
        .condition_expression(format!("attribute_not_exists(#m) OR #m {further} :m"))
        .expression_attribute_names("#m", name)
        .expression_attribute_values(":m", AttributeValue::N(value.to_string()));
    unless_condition_failed(request.send().await).map(drop)
}
