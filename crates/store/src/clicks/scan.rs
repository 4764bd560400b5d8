//! Reading a whole partition, page by page, with the read units that it costs.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::ReturnConsumedCapacity;

use super::keys::{Item, s};
use crate::{StoreError, Table};

/// The most requests of one query or scan. At a megabyte each, they read a terabyte.
pub(super) const PAGES_MAX: usize = 1_000_000;

/// A query of one partition, of the table or of an index.
pub(super) fn partition(table: &Table, partition_key: &str, partition: &str) -> QueryFluentBuilder {
    table
        .query()
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .key_condition_expression("#pk = :pk")
        .expression_attribute_names("#pk", partition_key)
        .expression_attribute_values(":pk", s(partition))
}

/// The same query, for the sort keys between two, both included.
pub(super) fn sorted_between(query: QueryFluentBuilder, sort_key: &str, from: &str, to: &str) -> QueryFluentBuilder {
    query
        .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
        .expression_attribute_names("#sk", sort_key)
        .expression_attribute_values(":from", s(from))
        .expression_attribute_values(":to", s(to))
}

/// Calls `take` with each page of a query and its read units.
pub(super) async fn pages(query: QueryFluentBuilder, mut take: impl FnMut(&[Item], f64)) -> Result<(), StoreError> {
    let mut start = None;
    for _ in 0..PAGES_MAX {
        let page = query.clone().set_exclusive_start_key(start).send().await?;
        let units = page.consumed_capacity().and_then(|capacity| capacity.capacity_units()).unwrap_or_default();
        take(page.items(), units);
        start = page.last_evaluated_key;
        if start.is_none() {
            return Ok(());
        }
    }
    Err(StoreError::unreadable("a partition has too many pages"))
}
