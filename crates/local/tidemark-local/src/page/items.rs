//! The items of a table, page by page. Only reads: a scan, or a query of one partition.

use std::collections::HashMap;
use std::sync::Arc;

use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Shown, missing};
use crate::problem::problem;
use crate::stack::Table;

/// Items of one page.
const PAGE_ITEMS: i32 = 50;

/// Which items are shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Browse {
    table: String,
    index: Option<String>,
    /// The value of the partition key; without it, all items.
    partition: Option<String>,
    /// `last` of the page before, as JSON.
    start: Option<String>,
}

type Item = HashMap<String, AttributeValue>;

pub(super) async fn browse(State(shown): State<Arc<Shown>>, Query(browse): Query<Browse>) -> Response {
    let known = |table: &&Table| table.name == browse.table || table.logical_id == browse.table;
    let Some(table) = shown.stack.tables.iter().find(known) else { return missing("no table has this name") };
    let start = match browse.start.as_deref().map(key).transpose() {
        Ok(start) => start,
        Err(message) => return refused(message),
    };
    let Some((name, kind)) = partition_key(table, browse.index.as_deref()) else {
        return missing("the table has no such index");
    };
    // The global indexes have no consistent reads.
    let consistent = browse.index.is_none();
    let client = &shown.client;
    let page = match &browse.partition {
        None => {
            let scan = client.scan().table_name(&table.name).set_index_name(browse.index).consistent_read(consistent);
            let page = scan.limit(PAGE_ITEMS).set_exclusive_start_key(start).send().await;
            page.map(|page| (page.items, page.last_evaluated_key)).map_err(|error| failed(&error))
        }
        Some(partition) => {
            let Some(value) = attribute(kind, partition) else { return refused("the partition key has another type") };
            let query = client.query().table_name(&table.name).set_index_name(browse.index);
            let query = query.key_condition_expression("#p = :p").expression_attribute_names("#p", name);
            let query = query.expression_attribute_values(":p", value).consistent_read(consistent);
            let page = query.limit(PAGE_ITEMS).set_exclusive_start_key(start).send().await;
            page.map(|page| (page.items, page.last_evaluated_key)).map_err(|error| failed(&error))
        }
    };
    match page {
        Ok((items, last)) => {
            let items: Vec<_> = items.iter().flatten().map(item_json).collect();
            Json(json!({ "items": items, "last": last.as_ref().map(item_json) })).into_response()
        }
        Err(response) => *response,
    }
}

/// The name and the type of the partition key of a table or of an index.
fn partition_key<'a>(table: &'a Table, index: Option<&str>) -> Option<(&'a str, &'a str)> {
    let keys = super::state::keys(&table.create_table, index)?;
    let name = *keys.first()?;
    let attributes = table.create_table["AttributeDefinitions"].as_array()?;
    let own = attributes.iter().find(|attribute| attribute["AttributeName"] == name)?;
    Some((name, own["AttributeType"].as_str()?))
}

fn attribute(kind: &str, text: &str) -> Option<AttributeValue> {
    Some(match kind {
        "S" => AttributeValue::S(text.to_owned()),
        "N" => AttributeValue::N(text.to_owned()),
        "B" => AttributeValue::B(Blob::new(STANDARD.decode(text).ok()?)),
        _ => return None,
    })
}

/// A key in DynamoDB's JSON.
fn key(json: &str) -> Result<Item, &'static str> {
    let read: HashMap<String, HashMap<String, String>> =
        serde_json::from_str(json).map_err(|_| "start is not a key in DynamoDB's JSON")?;
    let entry = |(name, value): (String, HashMap<String, String>)| {
        let (kind, text) = value.iter().next()?;
        Some((name, attribute(kind, text)?))
    };
    read.into_iter().map(entry).collect::<Option<_>>().ok_or("start has a value that no key may have")
}

fn item_json(item: &Item) -> Value {
    Value::Object(item.iter().map(|(name, value)| (name.clone(), attribute_json(value))).collect())
}

/// An attribute in DynamoDB's JSON, which shows the types.
fn attribute_json(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({ "S": text }),
        AttributeValue::N(number) => json!({ "N": number }),
        AttributeValue::B(bytes) => json!({ "B": STANDARD.encode(bytes) }),
        AttributeValue::Bool(flag) => json!({ "BOOL": flag }),
        AttributeValue::Null(flag) => json!({ "NULL": flag }),
        AttributeValue::M(map) => json!({ "M": item_json(map) }),
        AttributeValue::L(list) => json!({ "L": list.iter().map(attribute_json).collect::<Vec<_>>() }),
        AttributeValue::Ss(texts) => json!({ "SS": texts }),
        AttributeValue::Ns(numbers) => json!({ "NS": numbers }),
        AttributeValue::Bs(all) => json!({ "BS": all.iter().map(|one| STANDARD.encode(one)).collect::<Vec<_>>() }),
        _ => Value::Null,
    }
}

fn failed(error: &(impl std::error::Error + 'static)) -> Box<Response> {
    let message = format!("DynamoDB: {}", DisplayErrorContext(error));
    Box::new(problem(StatusCode::BAD_GATEWAY, &message))
}

fn refused(message: &str) -> Response {
    problem(StatusCode::BAD_REQUEST, message)
}
