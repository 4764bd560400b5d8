//! The cases of the HTTP API with their recorded answers.

use std::collections::BTreeMap;
use std::fs::read_to_string;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tests::cases::cases;
use tests::repository;

use crate::all_systems::openapi::document::{Answered, Document, JSON};

/// The functions with routes, and their route keys.
pub(crate) fn template_routes() -> BTreeMap<String, Vec<String>> {
    let template = read_to_string(repository().join("template.yaml")).unwrap();
    let functions = tidemark_local::template::read(&template, &BTreeMap::new()).unwrap().stack.functions.into_iter();
    let routes = functions
        .map(|function| (function.short_name().to_owned(), function.routes.into_iter().map(|r| r.route_key).collect()));
    routes.filter(|(_, routes): &(_, Vec<String>)| !routes.is_empty()).collect()
}

/// A case of the HTTP API: its event and its recorded answer.
pub(crate) struct Recorded {
    pub(crate) case: String,
    pub(crate) route: String,
    pub(crate) event: Value,
    pub(crate) answer: Value,
}

/// All of them.
pub(crate) fn recorded() -> Vec<Recorded> {
    let mut recorded = Vec::new();
    for function in template_routes().into_keys() {
        for case in cases(&function) {
            let route = case.event["routeKey"].as_str().unwrap().to_owned();
            let mut answer = case.answer.unwrap();
            remember(&mut answer);
            recorded.push(Recorded { case: case.name, route, event: case.event, answer });
        }
    }
    recorded
}

/// Puts something of the right kind where a recorded answer leaves out what differs from run to
/// run.
fn remember(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let is_turn = members.contains_key("turnNumber");
            let is_entry = members.contains_key("message");
            let is_product = members.contains_key("lowStockThreshold");
            let is_activity = members.contains_key("occurredAt");
            let of_okusuri =
                ["hasBleeding", "times", "medicineId", "emailVerified", "endpoint", "lastRemindedOn", "isMailed"];
            let is_okusuris = of_okusuri.iter().any(|name| members.contains_key(*name));
            let is_of_order = ["productId", "orderId"].iter().any(|name| members.contains_key(*name));
            let is_of_product = is_of_order && !is_activity;
            for (name, member) in members.iter_mut() {
                match (name.as_str(), member.as_str()) {
                    ("clickId", Some("[...]")) => *member = json!("0199a4a0-9640-7000-8000-000000000000"),
                    ("createDateTime", Some("[...]")) => *member = json!("2025-10-02T10:30:00.000Z"),
                    ("cursor" | "playerToken" | "ticket", Some("[...]")) => *member = json!("AAAA"),
                    ("playerId" | "gameId" | "hostId", Some("[...]")) => {
                        *member = json!("0199c0de-0000-7000-8000-000000000001");
                    }
                    ("publicKey", Some("[...]")) => *member = json!("B".repeat(87)),
                    ("today" | "from" | "to" | "runsOutOn", Some("[...]")) => *member = json!("2025-10-02"),
                    ("createdAt" | "updatedAt" | "at" | "takenAt" | "nextAt", Some("[...]")) if is_okusuris => {
                        *member = json!("2025-10-02T10:30:00Z");
                    }
                    ("at", Some("[...]")) if is_entry => *member = json!("2025-10-02T10:30:00.000000000Z"),
                    ("occurredAt", Some("[...]")) => *member = json!("2025-10-02T10:30:00.000000000Z"),
                    ("id", Some("[...]")) if is_of_product => {
                        *member = json!("2025-10-02T10:30:00.000000000Z~0199a4a0-9640-7000-8000-000000000000");
                    }
                    ("id", Some("[...]")) if is_product => *member = json!("p-1"),
                    (_, Some("[...]")) if is_product || is_of_product => {
                        *member = json!("2025-10-02T10:30:00.000000000Z")
                    }
                    // A turn's or a line's.
                    ("id", Some("[...]")) if is_turn => *member = json!("01.01"),
                    ("id", Some("[...]")) => *member = json!("0199c0de-0000-7000-8000-000000000001"),
                    (_, Some("[...]")) => *member = json!(1_759_401_000_000_u64),
                    _ => remember(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(remember),
        _ => {}
    }
}

impl Recorded {
    /// What the answer is called in the document, once it is found to be as it is documented.
    pub(crate) fn check(&self, document: &Document) -> Answered {
        let status = self.answer["statusCode"].as_u64().unwrap().try_into().unwrap();
        let headers = &self.answer["headers"];
        let content_type = headers["content-type"].as_str().unwrap_or_default();
        let answered = document.check(&self.route, status, content_type, &self.answer["body"]);
        let response = document.response(document.operations()[&self.route], status);
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            let value = &headers[name.to_lowercase()];
            let may_miss = value.is_null() && header["required"] != true;
            let is_valid = may_miss || document.validator(&header["schema"]).is_valid(value);
            assert!(is_valid, "{}: {name} is {value}", self.case);
        }
        answered
    }

    /// The body of the event; `None` when it is no JSON.
    fn body(&self) -> Option<Value> {
        let text = self.event["body"].as_str()?;
        let is_base64 = self.event["isBase64Encoded"] == true;
        let bytes = if is_base64 { STANDARD.decode(text).ok()? } else { text.as_bytes().to_vec() };
        serde_json::from_slice(&bytes).ok()
    }

    /// Whether the document's schemas take the event.
    pub(crate) fn is_taken(&self, document: &Document) -> bool {
        let operation = document.operations()[&self.route];
        let valid = |schema, value: &Value| document.validator(schema).is_valid(value);
        let mut parameters = document.parameters(operation);
        let parameters_are_valid = parameters.all(|parameter| {
            let name = parameter["name"].as_str().unwrap();
            let value = match parameter["in"].as_str().unwrap() {
                "path" => &self.event["pathParameters"][name],
                "query" => &self.event["queryStringParameters"][name],
                _ => &self.event["headers"][name.to_lowercase()],
            };
            match value.as_str() {
                None => parameter["required"] != true,
                Some(text) if parameter["schema"]["type"] == "integer" => {
                    text.parse().is_ok_and(|number: i64| valid(&parameter["schema"], &json!(number)))
                }
                Some(_) => valid(&parameter["schema"], value),
            }
        });
        let schema = &operation["requestBody"]["content"][JSON]["schema"];
        parameters_are_valid && (schema.is_null() || self.body().is_some_and(|body| valid(schema, &body)))
    }
}
