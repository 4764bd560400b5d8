//! Answers, from the short form of a table to the whole and back.

use serde_json::{Map, Value, json};

use super::fields;

/// Problem types start with it.
const TYPE_PREFIX: &str = "urn:tidemark:problem:";

/// The width up to which JSON stays on one line.
const COLUMNS: usize = 120;

/// The answer as a table has it.
pub fn render(answer: &Value) -> String {
    let in_full = || format!("=> {}", pretty(answer, 3, 0));
    short(answer).filter(|text| expand(text.trim_start_matches("=> ")) == *answer).unwrap_or_else(in_full)
}

/// The whole answer out of what follows `=> ` in a table.
pub(super) fn expand(text: &str) -> Value {
    if text.starts_with('{') {
        return serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    }
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let (status, problem) = first.trim().split_once(' ').unwrap_or((first.trim(), ""));
    let status: u16 = status.parse().unwrap_or_else(|error| panic!("{error}: {first}"));
    let starts = ["\n{", "\n["].map(|start| format!("\n{rest}").find(start));
    let (head, body) = rest.split_at(starts.into_iter().flatten().min().unwrap_or(rest.len()));
    let mut body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"));
    if !problem.is_empty() {
        let mut members = Map::from_iter([("type".to_owned(), json!(format!("{TYPE_PREFIX}{problem}")))]);
        members.extend(body.as_object().unwrap().clone());
        members.insert("status".to_owned(), json!(status));
        body = Value::Object(members);
    }
    let mut headers = usual_headers(!problem.is_empty());
    for (name, value) in fields(head) {
        if value.is_empty() {
            headers.remove(name)
        } else {
            headers.insert(name.to_owned(), json!(value))
        };
    }
    let is_text = !headers.get("content-type").and_then(Value::as_str).unwrap_or_default().contains("json");
    if let (true, Some(lines)) = (is_text, body.as_array()) {
        body = json!(lines.iter().filter_map(Value::as_str).collect::<String>());
    }
    json!({
        "statusCode": status, "headers": headers, "multiValueHeaders": {}, "cookies": [],
        "body": body, "isBase64Encoded": false,
    })
}

fn usual_headers(is_problem: bool) -> Map<String, Value> {
    let content_type = if is_problem { "application/problem+json" } else { "application/json" };
    [("cache-control", "no-store"), ("content-type", content_type)]
        .map(|(n, v)| (n.to_owned(), json!(v)))
        .into_iter()
        .collect()
}

/// The short form of an answer of the HTTP API.
fn short(answer: &Value) -> Option<String> {
    let (status, headers, mut body) =
        (&answer["statusCode"], answer["headers"].as_object()?, answer.get("body")?.clone());
    let mut text = format!("=> {status}");
    let problem = body["type"].as_str().and_then(|name| name.strip_prefix(TYPE_PREFIX)).map(str::to_owned);
    if let (Some(name), Some(members)) = (&problem, body.as_object_mut()) {
        text += &format!(" {name}");
        members.retain(|name, _| name != "type" && name != "status");
    }
    let usual = usual_headers(problem.is_some());
    for (name, value) in headers.iter().filter(|(name, value)| usual.get(*name) != Some(value)) {
        text += &format!("\n{name}: {}", value.as_str()?);
    }
    for (name, _) in usual.iter().filter(|(name, _)| !headers.contains_key(*name)) {
        text += &format!("\n{name}:");
    }
    if let Some(lines) = body.as_str() {
        body = lines.split_inclusive('\n').collect();
    }
    Some(format!("{text}\n{}", pretty(&body, 0, 0)))
}

/// JSON of which each part is on one line if it fits there. `taken` columns are taken before it.
fn pretty(value: &Value, taken: usize, indent: usize) -> String {
    let line = line(value);
    let deeper = indent + 2;
    let parts: Vec<_> = match value {
        _ if taken + line.chars().count() <= COLUMNS => return line,
        Value::Array(items) => items.iter().map(|item| pretty(item, deeper, deeper)).collect(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let name = format!("{}: ", json!(name));
                format!("{name}{}", pretty(value, deeper + name.chars().count() + 1, deeper))
            };
            members.iter().map(member).collect()
        }
        _ => return line,
    };
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    let (inner, outer) = (" ".repeat(deeper), " ".repeat(indent));
    format!("{open}\n{inner}{}\n{outer}{close}", parts.join(&format!(",\n{inner}")))
}

fn line(value: &Value) -> String {
    let join = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Array(items) => format!("[{}]", join(items.iter().map(line).collect())),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{}: {}", json!(name), line(value));
            format!("{{{}}}", join(members.iter().map(member).collect()))
        }
        _ => value.to_string(),
    }
}
