//! Queries and scans of an index that ask for attributes that the index does not have. DynamoDB
//! refuses them for a global index, and reads the table for a local one.

use bytes::Bytes;
use dynoxide::Database;
use serde_json::{Map, Value, json};

use super::Adaptation;
use crate::api::ApiError;
use crate::validation::{Checked, Path, retain_used};

/// Whether the request reads chosen attributes of an index.
pub(crate) fn is_needed(checked: &Checked) -> bool {
    checked.request.contains_key("IndexName") && !paths(checked).is_empty()
}

fn paths(checked: &Checked) -> Vec<Path> {
    let names = checked.request.get("AttributesToGet").and_then(Value::as_array).into_iter().flatten();
    let names = names.filter_map(Value::as_str).map(Path::of_attribute);
    checked.expressions.projection.iter().flatten().cloned().chain(names).collect()
}

/// Refuses the request, or returns how to execute it if the emulator would not read the table.
/// Blocks on SQLite.
pub(crate) fn adapt(tables: &Database, checked: Checked) -> Result<Option<(Adaptation, Bytes)>, ApiError> {
    let paths = paths(&checked);
    let mut request = checked.request;
    let name = |member: &str| request.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (table, index) = (name("TableName"), name("IndexName"));
    let metadata = tables.get_table_metadata(crate::arn::table_name(&table)).map_err(ApiError::internal)?;
    let Some(metadata) = metadata else { return Ok(None) };
    let keys = parsed(Some(&metadata.key_schema));
    let missing = |definitions: Option<&str>| {
        let definitions = parsed(definitions);
        let definition = definitions.as_array()?.iter().find(|definition| definition["IndexName"] == index.as_str())?;
        missing(&paths, &keys, definition)
    };
    if let Some(missing) = missing(metadata.gsi_definitions.as_deref()) {
        return Err(ApiError::validation(format!(
            "One or more parameter values were invalid: Global secondary index {index} does not project [{}]",
            missing.join(", ")
        )));
    }
    if missing(metadata.lsi_definitions.as_deref()).is_none() {
        return Ok(None);
    }
    request.remove("ProjectionExpression");
    request.remove("AttributesToGet");
    request.insert("Select".to_owned(), json!("ALL_ATTRIBUTES"));
    retain_used(&mut request, "ExpressionAttributeNames");
    let body = serde_json::to_vec::<Map<_, _>>(&request).map_err(ApiError::internal)?;
    Ok(Some((Adaptation::Items(paths), Bytes::from(body))))
}

/// The asked attributes that the index does not have; `None` if it has all.
fn missing(paths: &[Path], keys: &Value, index: &Value) -> Option<Vec<String>> {
    if index["Projection"]["ProjectionType"] == "ALL" {
        return None;
    }
    let keys = [keys, &index["KeySchema"]].into_iter().filter_map(Value::as_array).flatten();
    let keys = keys.map(|key| &key["AttributeName"]);
    let included = index["Projection"]["NonKeyAttributes"].as_array().into_iter().flatten();
    let projected: Vec<&Value> = keys.chain(included).collect();
    let mut missing: Vec<String> = Vec::new();
    for name in paths.iter().map(Path::attribute) {
        if !projected.iter().any(|other| *other == name) && !missing.iter().any(|other| other == name) {
            missing.push(name.to_owned());
        }
    }
    (!missing.is_empty()).then_some(missing)
}

fn parsed(json: Option<&str>) -> Value {
    json.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default()
}
