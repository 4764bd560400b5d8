//! The writes of a transaction besides the change of the product.

use aws_sdk_dynamodb::types::TransactWriteItem;

use super::keys::{Item, s};
use store_base::{StoreError, Table};

/// An item to put or delete, and its condition besides the product's version.
#[derive(Debug)]
pub(super) struct Write {
    item: Item,
    on: Condition,
}

#[derive(Debug)]
enum Condition {
    NothingThere,
    Always,
    State(String),
    Delete,
}

impl Write {
    /// Puts an item that must not exist yet. Stops a row of the ledger from replacing another one,
    /// and a request from taking effect twice.
    pub(super) fn new(item: Item) -> Self {
        Self { item, on: Condition::NothingThere }
    }

    /// Puts an item that may exist. Only changes of the product write it, and only one of them
    /// wins.
    pub(super) fn any(item: Item) -> Self {
        Self { item, on: Condition::Always }
    }

    /// Puts an item that must exist with this `State`. Stops an item that TTL has deleted since
    /// from coming back.
    pub(super) fn over_state(item: Item, state: &str) -> Self {
        Self { item, on: Condition::State(state.to_owned()) }
    }

    /// Deletes an item. Only changes of the product write it.
    pub(super) fn delete(key: Item) -> Self {
        Self { item: key, on: Condition::Delete }
    }

    pub(super) fn build(self, table: &Table) -> Result<TransactWriteItem, StoreError> {
        if matches!(self.on, Condition::Delete) {
            return Ok(TransactWriteItem::builder().delete(table.delete(self.item).build()?).build());
        }
        let put = table.put(self.item);
        let put = match self.on {
            Condition::NothingThere => put.condition_expression("attribute_not_exists(PK)"),
            Condition::Always | Condition::Delete => put,
            Condition::State(state) => put
                .condition_expression("#State = :state")
                .expression_attribute_names("#State", "State")
                .expression_attribute_values(":state", s(state)),
        };
        Ok(TransactWriteItem::builder().put(put.build()?).build())
    }
}
