//! Checks the settings of a table: key names, streams, tags, indexes and time to live.

use serde_json::{Map, Value};

use crate::api::ApiError;

/// The longest name of a key, of a projected attribute, and of the expiry attribute.
const KEY_NAME_LENGTH_MAX: usize = 255;

const TAGS_MAX: usize = 50;
const TAG_KEY_LENGTH_MAX: usize = 128;
const TAG_VALUE_LENGTH_MAX: usize = 256;

const VIEW_TYPES: [&str; 4] = ["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"];

pub(super) fn check(operation: &str, request: &Map<String, Value>) -> Result<(), ApiError> {
    match operation {
        "CreateTable" => {
            key_names(request)?;
            stream(operation, request.get("StreamSpecification"))?;
            tags(request)
        }
        "UpdateTable" => {
            key_names(request)?;
            stream(operation, request.get("StreamSpecification"))?;
            index_updates(request)
        }
        "TagResource" => tags(request),
        "UpdateTimeToLive" => {
            let name = request.get("TimeToLiveSpecification").and_then(|settings| settings["AttributeName"].as_str());
            name.map_or(Ok(()), |name| length("timeToLiveSpecification.attributeName", name))
        }
        _ => Ok(()),
    }
}

fn length(place: &str, name: &str) -> Result<(), ApiError> {
    let constraint = match name.chars().count() {
        0 => "greater than or equal to 1".to_owned(),
        KEY_NAME_LENGTH_MAX.. if name.len() > KEY_NAME_LENGTH_MAX => {
            format!("less than or equal to {KEY_NAME_LENGTH_MAX}")
        }
        _ => return Ok(()),
    };
    Err(ApiError::validation(format!(
        "1 validation error detected: Value '{name}' at '{place}' failed to satisfy constraint: Member must have length \
         {constraint}"
    )))
}

/// Checks every name of a key and of a projected attribute.
fn key_names(request: &Map<String, Value>) -> Result<(), ApiError> {
    let indexes = ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"].iter();
    let indexes = indexes
        .flat_map(|member| list(request.get(*member)))
        .chain(list(request.get("GlobalSecondaryIndexUpdates")).map(|update| &update["Create"]));
    let mut names =
        vec![("attributeDefinitions", request.get("AttributeDefinitions")), ("keySchema", request.get("KeySchema"))];
    for index in indexes {
        names.push(("globalSecondaryIndexes.1.member.keySchema", index.get("KeySchema")));
        let mut projected = Vec::new();
        for name in list(index["Projection"].get("NonKeyAttributes")).filter_map(Value::as_str) {
            length("projection.nonKeyAttributes.1.member", name)?;
            if projected.contains(&name) {
                return Err(ApiError::validation(format!(
                    "One or more parameter values were invalid: Duplicate element in NonKeyAttributes: {name}"
                )));
            }
            projected.push(name);
        }
    }
    for (place, elements) in names {
        for (number, element) in list(elements).enumerate() {
            let name = element["AttributeName"].as_str();
            let place = format!("{place}.{}.member.attributeName", number + 1);
            name.map_or(Ok(()), |name| length(&place, name))?;
        }
    }
    Ok(())
}

fn stream(operation: &str, specification: Option<&Value>) -> Result<(), ApiError> {
    let Some(specification) = specification else { return Ok(()) };
    let creates = operation == "CreateTable";
    let view_type = specification["StreamViewType"].as_str();
    let why = match (specification["StreamEnabled"].as_bool(), view_type) {
        (_, Some(other)) if !VIEW_TYPES.contains(&other) => {
            return Err(ApiError::validation(format!(
                "1 validation error detected: Value '{other}' at 'streamSpecification.streamViewType' failed to satisfy \
                 constraint: Member must satisfy enum value set: [{}]",
                VIEW_TYPES.join(", ")
            )));
        }
        (Some(true), None) if creates => "Table is being created with a stream enabled, UpdateViewType is required",
        (Some(true), None) => "If stream is being enabled then UpdateViewType is required",
        (Some(false), Some(_)) if creates => {
            "Table is being created with a stream disabled, UpdateViewType should not be specified"
        }
        (Some(false), Some(_)) => "If stream is being disabled, then UpdateViewType must not be specified",
        _ => return Ok(()),
    };
    Err(ApiError::validation(format!("One or more parameter values were invalid: {why}")))
}

fn index_updates(request: &Map<String, Value>) -> Result<(), ApiError> {
    let updates = list(request.get("GlobalSecondaryIndexUpdates"));
    if updates.filter(|update| update.get("Create").or(update.get("Delete")).is_some()).count() < 2 {
        return Ok(());
    }
    let message = "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table";
    Err(ApiError::new("LimitExceededException", message))
}

fn tags(request: &Map<String, Value>) -> Result<(), ApiError> {
    let mut keys = Vec::new();
    for tag in list(request.get("Tags")) {
        let Some(key) = tag["Key"].as_str() else { continue };
        let why = if key.is_empty() || !is_tag(key, TAG_KEY_LENGTH_MAX) {
            format!("The Tag Key provided is invalid, Key: {key}")
        } else if key.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("aws:")) {
            format!("Tag Key cannot be prefixed with aws:, Key: {key}")
        } else if keys.contains(&key) {
            format!("Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}")
        } else if let Some(value) = tag["Value"].as_str().filter(|value| !is_tag(value, TAG_VALUE_LENGTH_MAX)) {
            format!("The Tag Value provided is invalid, Value: {value}")
        } else {
            keys.push(key);
            continue;
        };
        return Err(ApiError::validation(why));
    }
    if keys.len() > TAGS_MAX {
        return Err(ApiError::validation("Number of Tags exceed the current limit for the provided ResourceArn"));
    }
    Ok(())
}

/// Whether a tag has only letters, digits, spaces and `_.:/=+-@`.
fn is_tag(text: &str, length_max: usize) -> bool {
    let allowed = |of: char| of.is_alphanumeric() || of.is_whitespace() || "_.:/=+-@".contains(of);
    text.chars().count() <= length_max && text.chars().all(allowed)
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}
