//! Writes items: new ones in batches of 25, and existing ones individually, on the condition that
//! they are not newer.

use aws_sdk_dynamodb::types::{AttributeValue, BatchStatementRequest, ReturnValue};
use backon::Retryable;
use store_base::{StoreError, Table, patient_backoff, unless_condition_failed};

use crate::Failure;
use crate::item::{AS_OF, Attributes, RUN, VERSION};
use crate::mapping::Target;

/// [The most statements of a
/// batch](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html).
pub(super) const STATEMENTS_MAX: usize = 25;

/// The most write units of a batch, far below the 16 MB of a request.
const BATCH_UNITS_MAX: u64 = 4 * 1024;

/// An item to put.
#[derive(Debug)]
pub(super) struct Item {
    pub attributes: Attributes,
    pub units: u64,
}

/// The result of writing an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutOutcome {
    New,
    /// An item of a migration had the key; it was not newer, and not changed since.
    Known,
    Kept,
}

/// Puts items.
#[derive(Debug)]
pub(super) struct Writer {
    table: Table,
    target: Target,
    /// Runs whose cutover is finished: their items belong to the application.
    finished: Vec<String>,
}

impl Writer {
    pub(super) fn new(table: Table, target: Target, finished: Vec<String>) -> Self {
        Self { table, target, finished }
    }

    /// Writes items, and returns the result of each.
    pub(super) async fn put(&self, items: &[Item]) -> Result<Vec<PutOutcome>, Failure> {
        let mut puts = Vec::new();
        let mut rest = items;
        while !rest.is_empty() {
            let mut units = 0;
            let fitting = rest.iter().take(STATEMENTS_MAX).take_while(|item| {
                units += item.units;
                units <= BATCH_UNITS_MAX
            });
            let (batch, further) = rest.split_at(fitting.count().max(1));
            let is_inserted = with_retries(|| self.insert(batch)).await?;
            for (item, is_inserted) in batch.iter().zip(is_inserted) {
                let put = if is_inserted { PutOutcome::New } else { with_retries(|| self.replace(item)).await? };
                puts.push(put);
            }
            rest = further;
        }
        Ok(puts)
    }

    /// Whether each item is new. An item is not written if its key exists, if there was no capacity
    /// for it, or for another reason, which [`Writer::replace`] meets again.
    ///
    /// Unlike a put of BatchWriteItem, each INSERT of the batch has the condition that its key does
    /// not exist, at the price of a plain put. After a lost reply, [`Writer::replace`] handles the
    /// items, and writes them over themselves.
    async fn insert(&self, items: &[Item]) -> Result<Vec<bool>, StoreError> {
        let statements = items.iter().map(|item| {
            // As short as possible: each statement is parsed again.
            let mut text = format!("INSERT INTO \"{}\" VALUE{{", self.table.name());
            let mut values = Vec::with_capacity(item.attributes.len());
            for (name, value) in &item.attributes {
                text.extend([if values.is_empty() { "'" } else { ",'" }, name, "':?"]);
                values.push(value.clone());
            }
            text.push('}');
            let statement = BatchStatementRequest::builder().statement(text).set_parameters(Some(values));
            statement.build().map_err(|error| StoreError::Refused(error.to_string()))
        });
        let statements = statements.collect::<Result<_, _>>()?;
        let request = self.table.client().batch_execute_statement().set_statements(Some(statements));
        let answers = request.send().await?.responses.unwrap_or_default();
        if answers.len() != items.len() {
            return Err(StoreError::Unavailable(format!("{} statements have {} answers", items.len(), answers.len())));
        }
        Ok(answers.iter().map(|answer| answer.error.is_none()).collect())
    }

    async fn replace(&self, item: &Item) -> Result<PutOutcome, StoreError> {
        let finished: Vec<_> = (0..self.finished.len()).map(|n| format!(":run{n}")).collect();
        let other_runs =
            if finished.is_empty() { String::new() } else { format!(" AND NOT #run IN ({})", finished.join(", ")) };
        let unchanged = match &self.target.updated_at {
            Some(_) => " AND (attribute_not_exists(#updated) OR #updated = #asOf)",
            None => "",
        };
        let mut request = self
            .table
            .put_item(item.attributes.clone())
            .return_values(ReturnValue::AllOld)
            // Stops the load from overwriting a newer item: one that the application created (it
            // has no version), one that the application changed (its time of change differs from
            // the migrated one), one that was migrated from a later state of its row, or one of a
            // finished run.
            .condition_expression(format!(
                "attribute_not_exists(#partition) OR (#version <= :version{unchanged}{other_runs})",
            ))
            .expression_attribute_names("#partition", &self.target.partition)
            .expression_attribute_names("#version", VERSION);
        if let Some(updated_at) = &self.target.updated_at {
            request = request.expression_attribute_names("#updated", updated_at);
            request = request.expression_attribute_names("#asOf", AS_OF);
        }
        if !finished.is_empty() {
            request = request.expression_attribute_names("#run", RUN);
        }
        for (name, run) in finished.into_iter().zip(&self.finished) {
            request = request.expression_attribute_values(name, AttributeValue::S(run.clone()));
        }
        if let Some(version) = item.attributes.get(VERSION) {
            request = request.expression_attribute_values(":version", version.clone());
        }
        Ok(match unless_condition_failed(request.send().await)? {
            Some(answer) if answer.attributes.is_none() => PutOutcome::New,
            Some(_) => PutOutcome::Known,
            None => PutOutcome::Kept,
        })
    }
}

/// Retries a request while the table is throttled or unreachable.
async fn with_retries<T, F>(request: impl FnMut() -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    request.retry(patient_backoff()).when(StoreError::is_transient).await
}
