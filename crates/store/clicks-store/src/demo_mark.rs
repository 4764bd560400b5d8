//! The item that says since when the demo is there: `LAYOUT#CLICKS` / `demo`.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use store_base::{Item, StoreError, Table, s, unless_condition_failed};

use super::keys::{LAYOUT, PARTITION_KEY, key};

const SORT: &str = "demo";
const AT: &str = "at";
const STATE: &str = "state";

/// How far the demo is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoState {
    /// Some of it may be missing.
    Adding,
    /// All of it was added.
    Added,
    /// Some of it may be gone.
    Removing,
}

/// The demo of a table. Its requests are `GetItem`, `PutItem` and `DeleteItem`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoMark {
    /// When it was first added, to the second. Everything of it derives from this time.
    pub at: Timestamp,
    /// How far it is.
    pub state: DemoState,
}

impl DemoMark {
    /// The mark; `None` if there is no demo.
    pub async fn read(table: &Table) -> Result<Option<Self>, StoreError> {
        let found = table.get_item(key(LAYOUT, SORT)).consistent_read(true).send().await?;
        found.item.map(Self::of).transpose()
    }

    /// Begins a demo, unless one has begun, and returns the one that has.
    pub async fn begin(table: &Table, at: Timestamp) -> Result<Self, StoreError> {
        let mark = Self { at, state: DemoState::Adding };
        // Stops two commands at the same time from adding two demos.
        let put = table.put_item(mark.item()).condition_expression("attribute_not_exists(#key)");
        unless_condition_failed(put.expression_attribute_names("#key", PARTITION_KEY).send().await)?;
        Self::read(table).await?.ok_or_else(|| StoreError::unreadable("the demo was removed meanwhile"))
    }

    /// Stores another state.
    pub async fn set(self, table: &Table, state: DemoState) -> Result<(), StoreError> {
        table.put_item(Self { state, ..self }.item()).send().await?;
        Ok(())
    }

    /// Deletes the mark, when everything else is gone.
    pub async fn delete(table: &Table) -> Result<(), StoreError> {
        table.delete_item(key(LAYOUT, SORT)).send().await?;
        Ok(())
    }

    fn item(self) -> Item {
        let state = match self.state {
            DemoState::Adding => "adding",
            DemoState::Added => "added",
            DemoState::Removing => "removing",
        };
        let mut item = key(LAYOUT, SORT);
        item.extend([(AT.to_owned(), s(self.at.to_string())), (STATE.to_owned(), s(state))]);
        item
    }

    fn of(item: Item) -> Result<Self, StoreError> {
        let text = |name| item.get(name).and_then(|value: &AttributeValue| value.as_s().ok());
        let at = text(AT).and_then(|at| at.parse().ok());
        let state = text(STATE).and_then(|state| match state.as_str() {
            "adding" => Some(DemoState::Adding),
            "added" => Some(DemoState::Added),
            "removing" => Some(DemoState::Removing),
            _ => None,
        });
        let mark = at.zip(state).map(|(at, state)| Self { at, state });
        mark.ok_or_else(|| StoreError::unreadable("the mark of the demo cannot be read"))
    }
}
