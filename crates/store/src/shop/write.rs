//! What a transaction does beside changing the product.

use aws_sdk_dynamodb::types::TransactWriteItem;

use super::keys::{Item, s};
use crate::{StoreError, Table};

/// An item to be put or deleted, and what it depends on beyond the product's version.
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
    /// Where there is nothing yet. Stops a row of the ledger from being written over another, and a request from taking effect twice.
    pub(super) fn new(item: Item) -> Self {
        Self { item, on: Condition::NothingThere }
    }

    /// Over whatever is there: only changes of the product write it, and of those one wins.
    pub(super) fn any(item: Item) -> Self {
        Self { item, on: Condition::Always }
    }

    /// Over an item that is there and says of itself that its `State` is this. Stops what TTL took away meanwhile from coming back.
    pub(super) fn over_state(item: Item, state: &str) -> Self {
        Self { item, on: Condition::State(state.to_owned()) }
    }

    /// Deletes what is at a key, whatever it is: only changes of the product write it.
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
