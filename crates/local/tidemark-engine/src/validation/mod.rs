//! Checks requests as DynamoDB does, where the emulator is too lenient or too strict.

mod condition;
mod legacy;
mod lexer;
mod names;
mod nesting;
mod parser;
mod path;
mod projection;
mod table_settings;
mod update;
mod values;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use self::condition::Fold;
use self::parser::References;
pub(crate) use self::path::{Path, project};
use crate::api::ApiError;
use crate::arn;

const CONDITIONS: [&str; 3] = ["ConditionExpression", "FilterExpression", "KeyConditionExpression"];

const EXPRESSIONS: [&str; 5] =
    ["ConditionExpression", "FilterExpression", "KeyConditionExpression", "ProjectionExpression", "UpdateExpression"];

/// The names of values that replace a function of constants begin with this.
const FOLDED: &str = ":tidemark_folded_";

/// A request that passed the checks, with what its expressions say.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) request: Map<String, Value>,
    /// Whether `request` differs from the body.
    pub(crate) is_rewritten: bool,
    pub(crate) expressions: Expressions,
    /// The projections of the gets of a transaction.
    pub(crate) gets: Vec<Option<Vec<Path>>>,
}

/// What the expressions of one action say.
#[derive(Debug, Default)]
pub(crate) struct Expressions {
    pub(crate) projection: Option<Vec<Path>>,
    /// The paths that an update changes.
    pub(crate) updated: Vec<Path>,
    /// Whether an update only takes something away.
    pub(crate) only_removes: bool,
    /// Whether the condition has an `OR` outside all parentheses.
    pub(crate) has_outer_or: bool,
}

/// Checks a request. Returns `None` for a request that needs no check, or that the emulator has to
/// refuse: what is no JSON, or nests deeper than the JSON parser follows.
pub(crate) fn check(operation: &str, body: &Bytes) -> Result<Option<Checked>, ApiError> {
    if operation == "BatchWriteItem" || !needs_check(operation, body) {
        return Ok(None);
    }
    let Ok(Value::Object(mut request)) = serde_json::from_slice(body) else { return Ok(None) };
    names::check(&request)?;
    legacy::check(&request)?;
    table_settings::check(operation, &request)?;
    let mut is_rewritten = false;
    let mut gets = Vec::new();
    let expressions = check_action(&mut request, &mut is_rewritten)?;
    if operation == "TransactGetItems" {
        for get in request.get_mut("TransactItems").and_then(Value::as_array_mut).into_iter().flatten() {
            let get = get.get_mut("Get").and_then(Value::as_object_mut);
            let get = get.map(|get| check_action(get, &mut is_rewritten)).transpose()?;
            gets.push(get.and_then(|get| get.projection));
        }
    } else {
        let mut open: Vec<&mut Value> = request.values_mut().collect();
        while let Some(value) = open.pop() {
            match value {
                Value::Array(values) => open.extend(values),
                Value::Object(members) => {
                    check_action(members, &mut is_rewritten)?;
                    open.extend(members.values_mut());
                }
                _ => {}
            }
        }
    }
    Ok(Some(Checked { request, is_rewritten, expressions, gets }))
}

/// Whether a check could find anything. Most puts and gets need none, so they are not parsed. With
/// an escape, a member's name could look different.
fn needs_check(operation: &str, body: &[u8]) -> bool {
    const MARKS: [&str; 8] = [
        "Expression\"",
        "\"Expected\"",
        "Filter\"",
        "\"KeyConditions\"",
        "\"AttributeUpdates\"",
        "\"IndexName\"",
        ":table/",
        "\\u",
    ];
    let is_on_table = ["Table", "Tag", "TimeToLive"].iter().any(|part| operation.contains(part));
    let marked = |text: &str| MARKS.iter().any(|mark| text.contains(mark));
    is_on_table || body.len() > names::LENGTH_MAX || std::str::from_utf8(body).map_or(true, marked)
}

/// Checks the expressions of one action: a whole request, or a part of a batch or transaction.
fn check_action(action: &mut Map<String, Value>, is_rewritten: &mut bool) -> Result<Expressions, ApiError> {
    let mut expressions = Expressions::default();
    if let Some(Value::String(table)) = action.get_mut("TableName")
        && table.starts_with("arn:")
    {
        *table = arn::table_name(table).to_owned();
        *is_rewritten = true;
    }
    for name in EXPRESSIONS {
        let Some(text) = action.get(name).and_then(Value::as_str) else { continue };
        let invalid = |why: String| ApiError::validation(format!("Invalid {name}: {why}"));
        nesting::refusal(text).map_or(Ok(()), |why| Err(invalid(why)))?;
        if let Some(word) = lexer::misplaced_underscore(text) {
            return Err(invalid(format!(r#"Syntax error; token: "_", near: "{word}""#)));
        }
        let references = References {
            names: action.get("ExpressionAttributeNames").and_then(Value::as_object),
            values: action.get("ExpressionAttributeValues").and_then(Value::as_object),
        };
        if CONDITIONS.contains(&name) {
            let Some(condition) = condition::parse(text, references) else { continue };
            condition.fault.map_or(Ok(()), |fault| Err(invalid(fault)))?;
            if let Some(key) = condition.compared_to_empty.filter(|_| name == "KeyConditionExpression") {
                return Err(ApiError::empty_key(&key));
            }
            expressions.has_outer_or |= name == "ConditionExpression" && condition.has_outer_or;
            *is_rewritten |= !condition.folds.is_empty();
            fold(action, name, condition.folds);
        } else if name == "ProjectionExpression" {
            let projection = projection::parse(text, references).transpose();
            expressions.projection = projection.map_err(invalid)?;
        } else if let Some(update) = update::parse(text, references) {
            update.fault.map_or(Ok(()), |fault| Err(invalid(fault)))?;
            expressions.updated = update.paths;
            expressions.only_removes = update.only_removes;
        }
    }
    Ok(expressions)
}

/// Replaces the functions of constants in an expression by their values.
fn fold(action: &mut Map<String, Value>, name: &str, folds: Vec<Fold>) {
    let Some(mut text) = action.get(name).and_then(Value::as_str).map(str::to_owned).filter(|_| !folds.is_empty())
    else {
        return;
    };
    let Some(values) = action.get_mut("ExpressionAttributeValues").and_then(Value::as_object_mut) else { return };
    // From the end, so that the places of the others stay valid.
    for fold in folds.into_iter().rev() {
        let mut references = Vec::new();
        for value in fold.values {
            let reference = format!("{FOLDED}{}", values.len());
            values.insert(reference.clone(), value);
            references.push(reference);
        }
        text.replace_range(fold.start..fold.end, &references.join(" = "));
    }
    action.insert(name.to_owned(), json!(text));
    retain_used(action, "ExpressionAttributeValues");
}

/// Removes the names or values that no expression of the action uses: DynamoDB refuses those.
pub(crate) fn retain_used(action: &mut Map<String, Value>, member: &str) {
    let texts: Vec<String> =
        EXPRESSIONS.iter().filter_map(|name| action.get(*name)?.as_str().map(str::to_owned)).collect();
    let used: Vec<&str> =
        texts.iter().filter_map(|text| lexer::tokens(text)).flatten().map(|token| token.text).collect();
    let Some(references) = action.get_mut(member).and_then(Value::as_object_mut) else { return };
    references.retain(|reference, _| used.contains(&reference.as_str()));
    if references.is_empty() {
        action.remove(member);
    }
}
