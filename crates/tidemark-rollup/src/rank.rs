//! Reads the numbers that a rollup keeps as ranks: the first or the last value of a statistic that
//! items still have.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::amount::Amount;
use crate::contribution::StatKey;
use crate::declaration::{CheckedGroup, Rollup};
use crate::distinct::{REQUESTS_MAX, ranks_key};
use crate::error::StoreError;
use crate::read::Stat;
use crate::table::Table;

/// How many ranks the first request reads. Those that were given up stay for three days.
const RANKS_MIN: i32 = 10;

/// The most requests for one number. At a megabyte each, they read millions of ranks.
const PAGES_MAX: usize = 1_000;

/// Sets the ranked numbers of statistics that have values.
pub(crate) async fn fill<T>(
    rollup: &Rollup<T>,
    table: &Table,
    group: &CheckedGroup<T>,
    stats: &mut [Stat],
) -> Result<(), StoreError> {
    let index = rollup.groups.iter().position(|of| of.group.name == group.group.name).unwrap_or_default();
    let ranked = group.measures.iter().filter(|of| rollup.measures.get(**of).is_some_and(|(_, of)| of.is_ranked));
    for &measure in ranked {
        let Some((name, of)) = rollup.measures.get(measure) else { continue };
        let has_values = |stat: &Stat| of.attributes(name).iter().any(|of| stat.number(of).is_ok_and(|of| of > 0));
        let keys = stats.iter().enumerate().filter(|(_, stat)| has_values(stat));
        let keys = keys.map(|(at, stat)| (at, StatKey { group: index, values: stat.values.clone() }));
        let found: Vec<_> = stream::iter(keys.collect::<Vec<_>>())
            .map(|(at, key)| async move { Ok::<_, StoreError>((at, number(rollup, table, &key, measure).await?)) })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;
        for (at, number) in found {
            stats[at].numbers.insert(name.clone(), number);
        }
    }
    Ok(())
}

/// The first or the last rank of a statistic that an item still has.
async fn number<T>(
    rollup: &Rollup<T>,
    table: &Table,
    key: &StatKey,
    measure: usize,
) -> Result<Option<Amount>, StoreError> {
    let Some((name, of)) = rollup.measures.get(measure) else { return Ok(None) };
    let Some((partition, _)) = ranks_key(rollup, key, name, "") else { return Ok(None) };
    let group = rollup.groups.get(key.group).map_or_else(String::new, |group| group.group.name.clone());
    let [partition_key, _] = table.key_names();
    let mut request = table
        .query()
        .consistent_read(true)
        .scan_index_forward(of.is_first())
        .key_condition_expression("#pk = :pk")
        .filter_expression(if rollup.retracts() { "#held.#entry > :none" } else { "attribute_exists(#entry)" })
        .expression_attribute_names("#pk", partition_key)
        .expression_attribute_names("#entry", format!("{group}:"))
        .expression_attribute_values(":pk", AttributeValue::S(partition.clone()))
        .limit(RANKS_MIN);
    if rollup.retracts() {
        let none = AttributeValue::N("0".to_owned());
        request = request.expression_attribute_names("#held", "held").expression_attribute_values(":none", none);
    }
    for _ in 0..PAGES_MAX {
        let page = request.clone().send().await?;
        if let Some(item) = page.items().first() {
            let rank = table.key_of(item).and_then(|(_, rank)| of.ranked(&rank));
            let wrong = || StoreError::Unreadable(format!("a rank of {partition} is not one"));
            return Ok(Some(rank.ok_or_else(wrong)?));
        }
        let Some(start) = page.last_evaluated_key else { return Ok(None) };
        request = request.set_exclusive_start_key(Some(start)).set_limit(None);
    }
    Err(StoreError::Busy(format!("{partition} has more than {PAGES_MAX} pages of values that are gone")))
}
