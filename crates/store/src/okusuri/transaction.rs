//! Transactions of Okusuri's table: several items are written together or not at all.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, Put, TransactWriteItem, Update};
use domain::UserId;
use tokio::time::sleep;

use super::keys::{self, Key, PROFILE};
use super::rows::{Row, item};
use super::set::{Set, Values, named, names};
use super::sign_ins::ALIVE;
use crate::StoreError;
use crate::error::canceled;

/// How often a transaction is sent that met another one on its way.
const ATTEMPTS_MAX: u32 = 5;

/// Waits between those grow from this, in milliseconds, and are random.
const WAIT_MS: u64 = 20;

/// Why something of a user was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is no such user, or all that is the user's is being deleted.
    #[error("there is no such user")]
    NoUser,
    /// Others were faster, each time. Nothing was written.
    #[error("others changed the same each time")]
    Conflict,
    /// Anything else; what is not [`StoreError::Refused`] may have been written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All of it is written.
    Done,
    /// Nothing is: the condition of the action with this number, from 0 on, did not hold.
    Refused(usize),
    /// Nothing is: another transaction is being written at this very moment.
    Conflict,
}

/// Actions that are written together or not at all.
#[derive(Debug, Clone)]
pub(super) struct Transaction<'a> {
    table: &'a str,
    actions: Vec<TransactWriteItem>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(table: &'a str) -> Self {
        Self { table, actions: Vec::new() }
    }

    /// Of what is a user's: the first action insists that the user is there.
    pub(super) fn of_user(table: &'a str, user: &UserId) -> Result<Self, StoreError> {
        // Stops something from being written behind the back of who deletes everything of this user at the same time.
        Self::new(table).check(&Key::new(keys::user(user), PROFILE), ALIVE, Vec::new())
    }

    /// Puts a row where there is none.
    pub(super) fn put_new<R: Row>(mut self, row: &R) -> Result<Self, StoreError> {
        let put = Put::builder().table_name(self.table).set_item(Some(item(row)?));
        let put = put.condition_expression("attribute_not_exists(PK)").build()?;
        self.actions.push(TransactWriteItem::builder().put(put).build());
        Ok(self)
    }

    /// Deletes an item on a condition.
    pub(super) fn delete(mut self, key: &Key, condition: &str, values: Values) -> Result<Self, StoreError> {
        let delete = Delete::builder().table_name(self.table).set_key(Some(key.item()));
        let delete = delete.condition_expression(condition).set_expression_attribute_values(named(values));
        self.actions.push(TransactWriteItem::builder().delete(delete.build()?).build());
        Ok(self)
    }

    /// Deletes an item, whether it is there or not.
    pub(super) fn forget(mut self, key: &Key) -> Result<Self, StoreError> {
        let delete = Delete::builder().table_name(self.table).set_key(Some(key.item())).build()?;
        self.actions.push(TransactWriteItem::builder().delete(delete).build());
        Ok(self)
    }

    /// Changes attributes of an item on a condition. `#Name` in the update stands for the attribute `Name`, where that is a word of DynamoDB's own.
    pub(super) fn update(
        mut self,
        key: &Key,
        update: &str,
        condition: &str,
        values: Values,
    ) -> Result<Self, StoreError> {
        let change = Update::builder().table_name(self.table).set_key(Some(key.item())).update_expression(update);
        let change = change.condition_expression(condition).set_expression_attribute_values(named(values));
        let change = change.set_expression_attribute_names(names(update)).build()?;
        self.actions.push(TransactWriteItem::builder().update(change).build());
        Ok(self)
    }

    /// Makes an item what a row says, whether it is there or not.
    pub(super) fn set<R: Row>(self, row: &R) -> Result<Self, StoreError> {
        self.change(Set::new(row)?)
    }

    /// The same on a condition.
    pub(super) fn change(mut self, set: Set) -> Result<Self, StoreError> {
        self.actions.push(TransactWriteItem::builder().update(set.action(self.table)?).build());
        Ok(self)
    }

    /// Writes nothing, and insists that an item is as it should be.
    pub(super) fn check(mut self, key: &Key, condition: &str, values: Values) -> Result<Self, StoreError> {
        let check = ConditionCheck::builder().table_name(self.table).set_key(Some(key.item()));
        let check = check.condition_expression(condition).set_expression_attribute_values(named(values));
        self.actions.push(TransactWriteItem::builder().condition_check(check.build()?).build());
        Ok(self)
    }

    /// Sends it, once.
    pub(super) async fn send(self, client: &Client) -> Result<Outcome, StoreError> {
        let sent = client.transact_write_items().set_transact_items(Some(self.actions)).send().await;
        let Err(error) = sent else { return Ok(Outcome::Done) };
        let Some(TransactWriteItemsError::TransactionCanceledException(why)) = error.as_service_error() else {
            return Err(error.into());
        };
        match canceled(why) {
            Ok(()) => {
                let mut codes = why.cancellation_reasons().iter().map(|reason| reason.code());
                Ok(Outcome::Refused(codes.position(|code| code == Some("ConditionalCheckFailed")).unwrap_or(0)))
            }
            Err(StoreError::Busy(codes)) if codes.contains("TransactionConflict") => Ok(Outcome::Conflict),
            Err(error) => Err(error),
        }
    }

    /// Writes all of it: `None`; or nothing, and then this is the first action whose condition did not hold. A transaction that met another one
    /// was cancelled whole, and is sent again.
    pub(super) async fn write(self, client: &Client) -> Result<Option<usize>, StoreError> {
        let mut attempt = 1;
        loop {
            match self.clone().send(client).await? {
                Outcome::Done => return Ok(None),
                Outcome::Refused(action) => return Ok(Some(action)),
                Outcome::Conflict if attempt < ATTEMPTS_MAX => {
                    // Full jitter: those that met once are unlikely to meet again.
                    sleep(Duration::from_millis(fastrand::u64(..=WAIT_MS << attempt))).await;
                    attempt += 1;
                }
                Outcome::Conflict => return Err(StoreError::Busy("TransactionConflict".to_owned())),
            }
        }
    }

    /// The same of a transaction [`of_user`](Self::of_user): whether the other actions are written, or the condition of one of them did not hold.
    pub(super) async fn write_of_user(self, client: &Client) -> Result<bool, WriteError> {
        match self.write(client).await? {
            None => Ok(true),
            Some(0) => Err(WriteError::NoUser),
            Some(_) => Ok(false),
        }
    }
}
