//! Refuses changes of a table's stream or time to live that do not fit its state.

use dynoxide::Database;
use serde_json::{Map, Value};

use crate::api::ApiError;
use crate::arn;

/// Whether the operation changes such a setting.
pub(crate) fn is_needed(operation: &str) -> bool {
    matches!(operation, "UpdateTable" | "UpdateTimeToLive")
}

/// Checks the change. Blocks on SQLite.
pub(crate) fn check(tables: &Database, operation: &str, request: &Map<String, Value>) -> Result<(), ApiError> {
    let name = arn::table_name(request.get("TableName").and_then(Value::as_str).unwrap_or_default());
    let Some(metadata) = tables.get_table_metadata(name).map_err(ApiError::internal)? else { return Ok(()) };
    let setting = |member: &str| request.get(member).cloned().unwrap_or_default();
    if operation == "UpdateTable" {
        let wanted = setting("StreamSpecification")["StreamEnabled"].as_bool();
        return match (metadata.stream_enabled, wanted) {
            (true, Some(true)) => Err(format!("Table already has an enabled stream: TableName: {name}")),
            (false, Some(false)) => Err(format!("Table has no stream to disable: TableName: {name}")),
            _ => Ok(()),
        }
        .map_err(ApiError::validation);
    }
    let wanted = setting("TimeToLiveSpecification");
    let (Some(enables), Some(attribute)) = (wanted["Enabled"].as_bool(), wanted["AttributeName"].as_str()) else {
        return Ok(());
    };
    let current = metadata.ttl_attribute.filter(|_| metadata.ttl_enabled);
    match (current, enables) {
        (Some(current), _) if current != attribute => {
            Err(format!("TimeToLive is active on a different AttributeName: current AttributeName is {current}"))
        }
        (Some(_), true) => Err("TimeToLive is already enabled".to_owned()),
        (None, false) => Err("TimeToLive is already disabled".to_owned()),
        _ => Ok(()),
    }
    .map_err(ApiError::validation)
}
