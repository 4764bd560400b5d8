//! Checks the older API: `Expected`, `QueryFilter`, `ScanFilter`, `KeyConditions` and
//! `AttributeUpdates`.

use serde_json::{Map, Value, json};

use super::values::is_greater;
use crate::api::ApiError;

const MEMBERS: [&str; 4] = ["Expected", "QueryFilter", "ScanFilter", "KeyConditions"];

const OPERATORS: [&str; 13] = [
    "IN",
    "NULL",
    "BETWEEN",
    "LT",
    "NOT_CONTAINS",
    "EQ",
    "GT",
    "NOT_NULL",
    "NE",
    "LE",
    "BEGINS_WITH",
    "GE",
    "CONTAINS",
];

pub(super) fn check(request: &Map<String, Value>) -> Result<(), ApiError> {
    let conditions = MEMBERS.iter().filter_map(|member| request.get(*member)?.as_object()).flat_map(Map::values);
    conditions.filter_map(fault).next().map_or(Ok(()), |fault| Err(ApiError::validation(fault)))?;
    let updates = request.get("AttributeUpdates").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let is_empty_set = |update: &Value| ["SS", "NS", "BS"].iter().any(|kind| update["Value"][kind] == json!([]));
    if updates.into_iter().any(is_empty_set) {
        return Err(ApiError::validation("One or more parameter values were invalid: A set may not be empty"));
    }
    let keys = request.get("KeyConditions").and_then(Value::as_object).into_iter().flatten();
    let is_empty = |value: &Value| value["S"] == "" || value["B"] == "";
    for (name, condition) in keys {
        if condition["AttributeValueList"].as_array().into_iter().flatten().any(is_empty) {
            return Err(ApiError::empty_key(name));
        }
    }
    Ok(())
}

fn fault(condition: &Value) -> Option<String> {
    let operator = condition["ComparisonOperator"].as_str()?;
    if !OPERATORS.contains(&operator) {
        return Some(format!(
            "1 validation error detected: Value '{operator}' at 'comparisonOperator' failed to satisfy constraint: Member \
             must satisfy enum value set: [{}]",
            OPERATORS.join(", ")
        ));
    }
    let values = condition["AttributeValueList"].as_array()?;
    let values: Vec<(&String, &Value)> = values.iter().filter_map(|value| value.as_object()?.iter().next()).collect();
    let allowed: &[&str] = match operator {
        "LT" | "LE" | "GT" | "GE" | "BETWEEN" | "IN" => &["S", "N", "B"],
        "CONTAINS" | "NOT_CONTAINS" => &["S", "N", "B", "BOOL", "NULL"],
        "BEGINS_WITH" => &["S", "B"],
        _ => return None,
    };
    if let Some((kind, _)) = values.iter().find(|(kind, _)| !allowed.contains(&kind.as_str())) {
        return Some(format!(
            "One or more parameter values were invalid: ComparisonOperator {operator} is not valid for {kind} \
             AttributeValue type"
        ));
    }
    if matches!(operator, "BETWEEN" | "IN") && values.windows(2).any(|pair| pair[0].0 != pair[1].0) {
        return Some(
            "One or more parameter values were invalid: AttributeValues inside AttributeValueList must be of same type"
                .to_owned(),
        );
    }
    match (operator, values.as_slice()) {
        ("BETWEEN", [(kind, lower), (_, upper)]) if is_greater(kind, lower, upper) => Some(
            "The BETWEEN condition was provided a range where the lower bound is greater than the upper bound"
                .to_owned(),
        ),
        _ => None,
    }
}
