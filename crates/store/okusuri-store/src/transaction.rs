//! Transactions of Okusuri's table: several items are written together or not at all.

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::UserId;

use super::keys::{self, Key, PROFILE};
use super::rows::{Row, item};
use super::sign_ins::ALIVE;
use super::upsert::{Upsert, Values, named, names};
use store_base::Retry;
use store_base::{StoreError, Table, TransactionOutcome};

/// Why something of a user was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is no such user, or all that is the user's is being deleted.
    #[error("there is no such user")]
    NoUser,
    /// Others were faster, each time. Nothing was written.
    #[error("others changed the same each time")]
    Conflict,
    /// Any other error. Unless it is [`StoreError::Refused`], the write may have taken effect.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Actions that are written together or not at all.
#[derive(Debug, Clone)]
pub(super) struct Transaction<'a> {
    table: &'a Table,
    actions: Vec<TransactWriteItem>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(table: &'a Table) -> Self {
        Self { table, actions: Vec::new() }
    }

    /// A transaction of a user's items. Its first action checks that the user exists.
    pub(super) fn of_user(table: &'a Table, user: &UserId) -> Result<Self, StoreError> {
        // Stops something from being written behind the back of who deletes everything of this user
        // at the same time.
        Self::new(table).check(&Key::new(keys::user(user), PROFILE), ALIVE, Vec::new())
    }

    /// Puts a row where there is none.
    pub(super) fn put_new<R: Row>(mut self, row: &R) -> Result<Self, StoreError> {
        let put = self.table.put(item(row)?);
        let put = put.condition_expression("attribute_not_exists(PK)").build()?;
        self.actions.push(TransactWriteItem::builder().put(put).build());
        Ok(self)
    }

    /// Deletes an item on a condition.
    pub(super) fn delete(mut self, key: &Key, condition: &str, values: Values) -> Result<Self, StoreError> {
        let delete = self.table.delete(key.item());
        let delete = delete.condition_expression(condition).set_expression_attribute_values(named(values));
        self.actions.push(TransactWriteItem::builder().delete(delete.build()?).build());
        Ok(self)
    }

    /// Deletes an item, whether it is there or not.
    pub(super) fn forget(mut self, key: &Key) -> Result<Self, StoreError> {
        let delete = self.table.delete(key.item()).build()?;
        self.actions.push(TransactWriteItem::builder().delete(delete).build());
        Ok(self)
    }

    /// Changes attributes of an item on a condition. `#Name` in the update stands for the attribute
    /// `Name`, where that is a word of DynamoDB's own.
    pub(super) fn update(
        mut self,
        key: &Key,
        update: &str,
        condition: &str,
        values: Values,
    ) -> Result<Self, StoreError> {
        let change = self.table.update(key.item()).update_expression(update);
        let change = change.condition_expression(condition).set_expression_attribute_values(named(values));
        let change = change.set_expression_attribute_names(names(update)).build()?;
        self.actions.push(TransactWriteItem::builder().update(change).build());
        Ok(self)
    }

    /// Makes an item what a row says, whether it is there or not.
    pub(super) fn set<R: Row>(self, row: &R) -> Result<Self, StoreError> {
        self.change(Upsert::new(row)?)
    }

    /// The same on a condition.
    pub(super) fn change(mut self, set: Upsert) -> Result<Self, StoreError> {
        self.actions.push(TransactWriteItem::builder().update(set.action(self.table)?).build());
        Ok(self)
    }

    /// Writes nothing, and insists that an item is as it should be.
    pub(super) fn check(mut self, key: &Key, condition: &str, values: Values) -> Result<Self, StoreError> {
        let check = self.table.condition_check(key.item());
        let check = check.condition_expression(condition).set_expression_attribute_values(named(values));
        self.actions.push(TransactWriteItem::builder().condition_check(check.build()?).build());
        Ok(self)
    }

    /// Sends it, once.
    pub(super) async fn send(self) -> Result<TransactionOutcome, StoreError> {
        self.table.transact(self.actions).await
    }

    /// Writes all of it (`None`) or nothing, and then this is the first action whose condition did
    /// not hold. A conflict with another transaction is retried.
    pub(super) async fn write(self) -> Result<Option<usize>, StoreError> {
        let mut retry = Retry::new();
        loop {
            match self.clone().send().await? {
                TransactionOutcome::Written => return Ok(None),
                TransactionOutcome::ConditionFailed { action, .. } => return Ok(Some(action)),
                TransactionOutcome::Conflict if retry.wait().await => {}
                TransactionOutcome::Conflict => return Err(StoreError::conflict()),
            }
        }
    }

    /// The same of a transaction [`of_user`](Self::of_user): whether the other actions are written,
    /// or the condition of one of them did not hold.
    pub(super) async fn write_of_user(self) -> Result<bool, WriteError> {
        match self.write().await? {
            None => Ok(true),
            Some(0) => Err(WriteError::NoUser),
            Some(_) => Ok(false),
        }
    }

    /// The same, sent once: `false` also for a conflict with another transaction.
    pub(super) async fn try_of_user(self) -> Result<bool, WriteError> {
        match self.send().await? {
            TransactionOutcome::Written => Ok(true),
            TransactionOutcome::ConditionFailed { action: 0, .. } => Err(WriteError::NoUser),
            TransactionOutcome::ConditionFailed { .. } | TransactionOutcome::Conflict => Ok(false),
        }
    }
}
