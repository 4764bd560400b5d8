//! Creates the table of a load, if there is none.

use std::time::Duration;

use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TableStatus,
};
use backon::{ConstantBuilder, Retryable};
use store_base::{StoreError, Table};

use crate::mapping::Target;
use crate::{Failure, FailureKind};

/// How often the state of a new table is read, and how many times. AWS needs some seconds.
const INTERVAL: Duration = Duration::from_secs(1);
const TRIES: usize = 120;

/// Creates a table with the keys of the mapping, billed by request, and waits until it can be
/// written. A table that exists stays as it is.
pub(super) async fn create(table: &Table, target: &Target) -> Result<(), Failure> {
    let keys = [(&target.partition, KeyType::Hash), (&target.sort, KeyType::Range)];
    let mut request = table.client().create_table().table_name(table.name()).billing_mode(BillingMode::PayPerRequest);
    for (name, kind) in keys {
        let attribute = AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S);
        let key = KeySchemaElement::builder().attribute_name(name).key_type(kind);
        request = request
            .attribute_definitions(attribute.build().map_err(StoreError::from)?)
            .key_schema(key.build().map_err(StoreError::from)?);
    }
    match request.send().await {
        Err(error) if error.code() == Some("ResourceInUseException") => {}
        answer => drop(answer.map_err(StoreError::from)?),
    }
    let is_active = || async {
        let answer = table.client().describe_table().table_name(table.name()).send().await;
        let answer = answer.map_err(|error| Failure::from(StoreError::from(error)))?;
        match answer.table.and_then(|table| table.table_status) {
            Some(TableStatus::Active) => Ok(()),
            status => Err(FailureKind::TableUnreachable.because(format!(
                "the new table {} is {} and not active yet: run the command again",
                table.name(),
                status.as_ref().map_or("unknown", TableStatus::as_str)
            ))),
        }
    };
    let often = ConstantBuilder::default().with_delay(INTERVAL).with_max_times(TRIES);
    is_active.retry(often).when(|failure: &Failure| failure.kind == FailureKind::TableUnreachable).await
}
