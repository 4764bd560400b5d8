//! Explains the cost of counting, with items of the table as samples.

use std::io::Write;

use aws_sdk_dynamodb::types::KeyType;
use serde_json::json;

use super::{CliError, Outcome, OutputOptions};
use crate::aggregator::Aggregator;
use crate::contribution::Change;
use crate::error::StoreError;
use crate::explain::Index;
use crate::layout::Layout;
use crate::table::Table;

/// The most items that are sampled, and the most pages of a megabyte that are read for them.
const SAMPLES_MAX: usize = 1_000;
const PAGES_MAX: usize = 100;

/// The sizes of batches that are explained. A full batch of Lambda's default is the second last.
const BATCHES: [usize; 4] = [1, 10, 100, 1_000];

pub(super) async fn explain<T: Clone>(
    aggregator: &Aggregator<T>,
    items: &Table,
    output: OutputOptions,
    out: &mut impl Write,
) -> Result<Outcome, CliError> {
    let samples = samples(aggregator, items).await?;
    if samples.is_empty() {
        return Err(CliError::NoItems);
    }
    let (indexes, key_names) = (indexes(aggregator.table()).await?, aggregator.table().key_names());
    for (name, layout) in [("sums", Layout::Sums), ("buffers", Layout::Buffers)] {
        for batch in BATCHES {
            let batches = samples.chunks(batch).map(|items| items.iter().cloned().map(Change::Insert).collect());
            let cost = aggregator.rollup().explain(layout, key_names, &indexes, batches);
            let (writes, reads) = (cost.writes_per_record(), cost.reads_per_record());
            if output.json {
                let line = json!({"layout": name, "batch": batch, "items": samples.len(), "writeUnits": writes, "readUnits": reads});
                writeln!(out, "{line}")?;
            } else {
                writeln!(out, "{name:<7}  batches of {batch:>4}  {cost}")?;
            }
            if batch >= samples.len() {
                break;
            }
        }
    }
    Ok(Outcome::Success)
}

/// Items of the table that count.
async fn samples<T>(aggregator: &Aggregator<T>, items: &Table) -> Result<Vec<T>, StoreError> {
    let (mut samples, mut start) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let scan = items.client().scan().table_name(items.name()).set_exclusive_start_key(start);
        let page = scan.send().await?;
        for item in page.items.unwrap_or_default() {
            let is_own = items.key_of(&item).is_some_and(|(pk, sk)| aggregator.rollup().owns(&pk, &sk));
            // An item that cannot be read is in quarantine.
            if !is_own && let Ok(Some(item)) = aggregator.read_item(item) {
                samples.push(item);
            }
        }
        start = page.last_evaluated_key;
        if start.is_none() || samples.len() >= SAMPLES_MAX {
            break;
        }
    }
    samples.truncate(SAMPLES_MAX);
    Ok(samples)
}

/// The indexes of the statistics' table.
async fn indexes(table: &Table) -> Result<Vec<Index>, StoreError> {
    let described = table.client().describe_table().table_name(table.name()).send().await?.table;
    let described = described.and_then(|table| table.global_secondary_indexes).unwrap_or_default();
    let index = described.into_iter().map(|index| {
        let name = |of: KeyType| {
            let key = index.key_schema().iter().find(|key| *key.key_type() == of);
            key.map(|key| key.attribute_name().to_owned()).unwrap_or_default()
        };
        Index { partition_key: name(KeyType::Hash), sort_key: name(KeyType::Range) }
    });
    Ok(index.collect())
}
