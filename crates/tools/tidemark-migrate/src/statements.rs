//! Batches of statements, each with a condition of its own. A put or delete of BatchWriteItem has none,
//! and costs as much.

use aws_sdk_dynamodb::types::{
    AttributeValue, BatchStatementErrorCodeEnum, BatchStatementRequest, ReturnValuesOnConditionCheckFailure,
};
use store_base::{StoreError, Table};

use crate::item::Attributes;

/// [The most statements of a
/// batch](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html).
pub(crate) const STATEMENTS_MAX: usize = 25;

/// The result of a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Executed {
    Done,
    /// The condition is not met, by this item or by none. An INSERT has no item here.
    Refused(Option<Attributes>),
    /// There was no capacity.
    Throttled,
    /// Another transaction holds the item, or DynamoDB failed. Nobody knows whether it was done.
    Unknown,
}

/// A statement.
pub(crate) fn statement(text: String, parameters: Vec<AttributeValue>) -> Result<BatchStatementRequest, StoreError> {
    let statement = BatchStatementRequest::builder()
        .statement(text)
        .set_parameters(Some(parameters))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    statement.build().map_err(|error| StoreError::Refused(error.to_string()))
}

/// Executes a batch, and returns the result of each statement.
pub(crate) async fn execute(
    table: &Table,
    statements: Vec<BatchStatementRequest>,
) -> Result<Vec<Executed>, StoreError> {
    let count = statements.len();
    let answer = table.client().batch_execute_statement().set_statements(Some(statements)).send().await?;
    let answers = answer.responses.unwrap_or_default();
    if answers.len() != count {
        return Err(StoreError::Unavailable(format!("{count} statements have {} answers", answers.len())));
    }
    let executed = answers.into_iter().map(|answer| {
        let Some(error) = answer.error else { return Ok(Executed::Done) };
        match error.code {
            Some(
                BatchStatementErrorCodeEnum::ProvisionedThroughputExceeded
                | BatchStatementErrorCodeEnum::RequestLimitExceeded
                | BatchStatementErrorCodeEnum::ThrottlingError,
            ) => Ok(Executed::Throttled),
            Some(BatchStatementErrorCodeEnum::DuplicateItem | BatchStatementErrorCodeEnum::ConditionalCheckFailed) => {
                Ok(Executed::Refused(error.item))
            }
            Some(
                BatchStatementErrorCodeEnum::TransactionConflict | BatchStatementErrorCodeEnum::InternalServerError,
            ) => Ok(Executed::Unknown),
            code => {
                let code = code.as_ref().map_or("an unknown error", BatchStatementErrorCodeEnum::as_str);
                Err(StoreError::Refused(format!("{code}: {}", error.message.unwrap_or_default())))
            }
        }
    });
    executed.collect()
}
