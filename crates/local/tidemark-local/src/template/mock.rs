//! `mock` integrations: responses that an API gives by itself, such as those to preflights.

use regex_lite::Regex;

use super::intrinsics::Resolver;
use super::openapi::text;
use super::yaml::Node;
use crate::stack::FixedResponse;

/// The response of a `mock` integration. API Gateway chooses it by the status that the request's
/// template gives.
pub(super) fn read(integration: &Node, resolver: &Resolver<'_>) -> Option<FixedResponse> {
    let mut wanted = "200".to_owned();
    for (_, template) in integration.get("requestTemplates").map(Node::entries).unwrap_or_default() {
        let source = fixed_text(template, resolver)?;
        let found = Regex::new(r#"["']?statusCode["']?\s*:\s*["']?(\d{3})"#).ok()?.captures(&source);
        wanted = match found.and_then(|found| Some(found.get(1)?.as_str().to_owned())) {
            Some(status) => status,
            None => return wrong(resolver, template, "a mock needs a request template with a `statusCode`"),
        };
    }
    let responses = integration.get("responses").map(Node::entries).unwrap_or_default();
    let fits = |pattern: &str| Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|regex| regex.is_match(&wanted));
    let chosen = responses.iter().find(|(pattern, _)| pattern != "default" && fits(pattern));
    let Some((_, response)) = chosen.or_else(|| responses.iter().find(|(pattern, _)| pattern == "default")) else {
        return wrong(resolver, integration, format!("a mock needs a response for the status {wanted}, or `default`"));
    };
    let status = response.get("statusCode").and_then(text).and_then(|status| status.parse().ok());
    let Some(status) = status.filter(|status| (200..=599).contains(status)) else {
        return wrong(resolver, response, "statusCode must be 200 to 599");
    };
    let mut headers = Vec::new();
    for (name, node) in response.get("responseParameters").map(Node::entries).unwrap_or_default() {
        let header = name.strip_prefix("method.response.header.");
        match header.zip(text(node).and_then(|value| Some(quoted(&value)?.to_owned()))) {
            Some((name, value)) => headers.push((name.to_owned(), value)),
            None => {
                let message = "a mock's header must be a text in single quotes on this machine";
                resolver.problems.unsupported(node, message);
                return None;
            }
        }
    }
    let mut body = String::new();
    if let Some((kind, template)) = response.get("responseTemplates").and_then(|all| all.entries().first()) {
        body = fixed_text(template, resolver)?;
        headers.push(("content-type".to_owned(), kind.clone()));
    }
    Some(FixedResponse { status, headers, body })
}

/// A template without a variable or a directive.
fn fixed_text(template: &Node, resolver: &Resolver<'_>) -> Option<String> {
    let source = text(template).unwrap_or_default();
    if source.contains(['$', '#']) {
        resolver.problems.unsupported(template, "a mapping template with $ or # is not supported on this machine");
        return None;
    }
    Some(source)
}

/// The text between single quotes.
pub(super) fn quoted(value: &str) -> Option<&str> {
    value.strip_prefix('\'')?.strip_suffix('\'')
}

fn wrong<T>(resolver: &Resolver<'_>, place: &Node, message: impl Into<String>) -> Option<T> {
    resolver.problems.at(place, message);
    None
}
