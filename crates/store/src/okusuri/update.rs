//! Transactions in a user's partition, and updates that leave alone what they do not know.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use aws_sdk_dynamodb::types::{ConditionCheck, TransactWriteItem, Update};
use domain::UserId;

use super::keys::{self, Item, Key, PARTITION_KEY, PROFILE, SORT_KEY};
use crate::StoreError;
use crate::error::canceled;

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
pub(super) enum Write {
    /// All of it is written.
    Done,
    /// Nothing is: the condition of the action with this number, from 0 on, did not hold.
    Refused(usize),
    /// Nothing is: another transaction is being written at this very moment.
    Conflict,
}

/// Writes all of it or nothing.
pub(super) async fn write(client: &Client, actions: Vec<TransactWriteItem>) -> Result<Write, StoreError> {
    let sent = client.transact_write_items().set_transact_items(Some(actions)).send().await;
    let Err(error) = sent else { return Ok(Write::Done) };
    let Some(TransactWriteItemsError::TransactionCanceledException(why)) = error.as_service_error() else {
        return Err(error.into());
    };
    match canceled(why) {
        Ok(()) => {
            let mut codes = why.cancellation_reasons().iter().map(|reason| reason.code());
            Ok(Write::Refused(codes.position(|code| code == Some("ConditionalCheckFailed")).unwrap_or(0)))
        }
        Err(StoreError::Busy(codes)) if codes.contains("TransactionConflict") => Ok(Write::Conflict),
        Err(error) => Err(error),
    }
}

/// Insists that the user is there: the first action of each transaction.
pub(super) fn user_is_there(table: &str, user: &UserId) -> Result<TransactWriteItem, StoreError> {
    let check = ConditionCheck::builder().table_name(table);
    let check = check.set_key(Some(Key::new(keys::user(user), PROFILE).item()));
    // Stops something from being written behind the back of who deletes everything of this user at the same time.
    let check = check.condition_expression("attribute_exists(PK) AND attribute_not_exists(Deleting)");
    Ok(TransactWriteItem::builder().condition_check(check.build().map_err(refused)?).build())
}

/// Makes an item what `after` says: sets its attributes, and removes those of `optional` that it does not have. All others stay.
pub(super) fn update(table: &str, after: Item, optional: &[&str]) -> UpdateBuilder {
    // In the order of their names, so that the same change is the same request.
    let after: BTreeMap<_, _> = after.into_iter().collect();
    let removed = optional.iter().filter(|name| !after.contains_key(**name));
    let mut update = Update::builder().table_name(table);
    let mut removes = Vec::new();
    for (index, name) in removed.enumerate() {
        removes.push(format!("#r{index}"));
        update = update.expression_attribute_names(format!("#r{index}"), *name);
    }
    let mut sets = Vec::new();
    for (index, (name, value)) in after.into_iter().enumerate() {
        if [PARTITION_KEY, SORT_KEY].contains(&name.as_str()) {
            update = update.key(name, value);
            continue;
        }
        sets.push(format!("#n{index} = :v{index}"));
        update = update
            .expression_attribute_names(format!("#n{index}"), name)
            .expression_attribute_values(format!(":v{index}"), value);
    }
    let mut expression = format!("SET {}", sets.join(", "));
    if !removes.is_empty() {
        expression.push_str(&format!(" REMOVE {}", removes.join(", ")));
    }
    update.update_expression(expression)
}

/// A request that cannot be built.
pub(super) fn refused(error: BuildError) -> StoreError {
    StoreError::Refused(error.to_string())
}
