//! Creates the template's tables. A table that exists must match the template.

mod definition;

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{DisplayErrorContext, ProvideErrorMetadata};
use aws_sdk_dynamodb::types::{
    PointInTimeRecoverySpecification, TableDescription, TableStatus, TimeToLiveSpecification, TimeToLiveStatus,
};

use crate::stack::Table;
use definition::CreateTable;

/// How often to check whether a table is active; on AWS it takes some seconds, here it is
/// immediate.
const ACTIVE_POLLS_MAX: u32 = 120;

/// Pause between these checks.
const ACTIVE_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Why a table is not ready.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// `CreateTable` does not accept the template's definition.
    #[error("table {table}: {problem}")]
    Definition {
        /// The table's name.
        table: String,
        /// The problem.
        problem: String,
    },
    /// A table of this name exists with other properties.
    #[error(
        "table {table} exists and differs from the template:\n  {}\nDelete it, or start with another data folder (--data-dir).",
        .differences.join("\n  ")
    )]
    Differs {
        /// The table's name.
        table: String,
        /// One line per difference.
        differences: Vec<String>,
    },
    /// DynamoDB refused the call or did not respond.
    #[error("table {table}: {operation}: {problem}")]
    Call {
        /// The table's name.
        table: String,
        /// The API's operation.
        operation: &'static str,
        /// DynamoDB's error.
        problem: String,
    },
    /// The table did not become active in time.
    #[error("table {table} did not become active")]
    NotActive {
        /// The table's name.
        table: String,
    },
}

/// Creates a missing table with its indexes and stream, sets TTL and recovery, and returns the
/// stream's ARN.
///
/// # Errors
/// [`TableError`].
pub async fn ensure(client: &Client, table: &Table) -> Result<Option<String>, TableError> {
    let call = |operation, problem| TableError::Call { table: table.name.clone(), operation, problem };
    let definition = |problem: String| TableError::Definition { table: table.name.clone(), problem };
    let wanted: CreateTable =
        serde_json::from_value(table.create_table.clone()).map_err(|error| definition(error.to_string()))?;
    match describe(client, &table.name).await? {
        Some(found) => {
            let differences =
                definition::differences(&wanted.compared_properties(), &definition::compared_properties_of(&found));
            if !differences.is_empty() {
                return Err(TableError::Differs { table: table.name.clone(), differences });
            }
        }
        None => {
            let input = wanted.to_input().map_err(|error| definition(error.to_string()))?;
            let request = client
                .create_table()
                .set_table_name(input.table_name)
                .set_attribute_definitions(input.attribute_definitions)
                .set_key_schema(input.key_schema)
                .set_billing_mode(input.billing_mode)
                .set_provisioned_throughput(input.provisioned_throughput)
                .set_global_secondary_indexes(input.global_secondary_indexes)
                .set_local_secondary_indexes(input.local_secondary_indexes)
                .set_stream_specification(input.stream_specification);
            request.send().await.map_err(|error| call("CreateTable", describe_error(&error)))?;
        }
    }
    let stream_arn = until_active(client, &table.name).await?.latest_stream_arn;
    set_ttl(client, table).await.map_err(|problem| call("UpdateTimeToLive", problem))?;
    if table.point_in_time_recovery {
        set_recovery(client, table).await;
    }
    Ok(stream_arn)
}

async fn describe(client: &Client, name: &str) -> Result<Option<TableDescription>, TableError> {
    match client.describe_table().table_name(name).send().await {
        Ok(answer) => Ok(answer.table),
        Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) => Ok(None),
        Err(error) => {
            let problem = describe_error(&error);
            Err(TableError::Call { table: name.to_owned(), operation: "DescribeTable", problem })
        }
    }
}

async fn until_active(client: &Client, name: &str) -> Result<TableDescription, TableError> {
    for _ in 0..ACTIVE_POLLS_MAX {
        if let Some(table) = describe(client, name).await?
            && table.table_status == Some(TableStatus::Active)
        {
            return Ok(table);
        }
        tokio::time::sleep(ACTIVE_POLL_INTERVAL).await;
    }
    Err(TableError::NotActive { table: name.to_owned() })
}

async fn set_ttl(client: &Client, table: &Table) -> Result<(), String> {
    let found =
        client.describe_time_to_live().table_name(&table.name).send().await.map_err(|error| describe_error(&error))?;
    let is_on = |status| matches!(status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
    let found = found.time_to_live_description.filter(|found| is_on(found.time_to_live_status.clone()));
    let found = found.and_then(|found| found.attribute_name);
    let (attribute, enabled) = match (&table.ttl_attribute, &found) {
        (wanted, found) if wanted == found => return Ok(()),
        (Some(attribute), None) => (attribute, true),
        (None, Some(found)) => (found, false),
        (attribute, found) => {
            let [found, attribute] = [found, attribute].map(|name| name.as_deref().unwrap_or_default());
            return Err(format!("TTL is on `{found}`, the template has it on `{attribute}`"));
        }
    };
    let specification = TimeToLiveSpecification::builder().enabled(enabled).attribute_name(attribute).build();
    let specification = specification.map_err(|error| error.to_string())?;
    let request = client.update_time_to_live().table_name(&table.name).time_to_live_specification(specification);
    request.send().await.map(drop).map_err(|error| describe_error(&error))
}

/// Some engines lack this API, which has no effect on one machine, so an error is only logged.
async fn set_recovery(client: &Client, table: &Table) {
    let Ok(specification) = PointInTimeRecoverySpecification::builder().point_in_time_recovery_enabled(true).build()
    else {
        return;
    };
    let request = client.update_continuous_backups().table_name(&table.name);
    if let Err(error) = request.point_in_time_recovery_specification(specification).send().await {
        tracing::warn!("table {}: point-in-time recovery was not set: {}", table.name, describe_error(&error));
    }
}

fn describe_error<E, R>(error: &aws_sdk_dynamodb::error::SdkError<E, R>) -> String
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        _ => DisplayErrorContext(error).to_string(),
    }
}
