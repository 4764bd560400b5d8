//! `GatewayResponses` of a REST API: its own responses to requests that reach no function.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-gatewayResponse-definition.html>.

use super::intrinsics::Resolver;
use super::mock::quoted;
use super::properties::Properties;
use super::yaml::Node;
use crate::stack::GatewayResponse;

/// The variables of a template that have values here.
const VARIABLES: [&str; 4] = [
    "$context.error.messageString",
    "$context.error.message",
    "$context.error.responseType",
    "$context.error.validationErrorString",
];

/// Reads SAM's property `GatewayResponses`.
pub(super) fn of_api(properties: &Properties<'_>) -> Vec<(String, GatewayResponse)> {
    let Some(all) = properties.map("GatewayResponses") else { return Vec::new() };
    let read = |(kind, node): &(String, Node)| {
        let own = Properties::new(properties.resolver, node);
        let parameters = own.map("ResponseParameters");
        let headers = parameters.as_ref().and_then(|parameters| parameters.map("Headers"));
        let headers = headers.iter().flat_map(|headers| headers.node.entries());
        let headers = headers.filter_map(|(name, value)| header(name, value, properties.resolver)).collect();
        let status = own.count("StatusCode", 200..=599);
        let template = own.map("ResponseTemplates").and_then(|all| template(&all.node, properties.resolver));
        if let Some(parameters) = parameters {
            parameters.finish("AWS::Serverless::Api.GatewayResponses{}.ResponseParameters");
        }
        own.finish("AWS::Serverless::Api.GatewayResponses{}");
        (kind.clone(), GatewayResponse { status, headers, template })
    };
    all.node.entries().iter().map(read).collect()
}

/// Reads the extension of an OpenAPI document.
pub(super) fn of_document(all: &Node, resolver: &Resolver<'_>) -> Vec<(String, GatewayResponse)> {
    let read = |(kind, node): &(String, Node)| {
        let own = Properties::new(resolver, node);
        let mut headers = Vec::new();
        for (name, value) in node.get("responseParameters").map(Node::entries).unwrap_or_default() {
            match name.strip_prefix("gatewayresponse.header.") {
                Some(name) => headers.extend(header(name, value, resolver)),
                None => resolver.problems.at(value, format!("{name} is not a header of a gateway response")),
            }
        }
        let status = own.count("statusCode", 200..=599);
        let template = node.get("responseTemplates").and_then(|all| template(all, resolver));
        (kind.clone(), GatewayResponse { status, headers, template })
    };
    all.entries().iter().map(read).collect()
}

fn header(name: &str, value: &Node, resolver: &Resolver<'_>) -> Option<(String, String)> {
    let text = resolver.text(value)?;
    match quoted(&text) {
        Some(text) => Some((name.to_owned(), text.to_owned())),
        None => {
            resolver.problems.unsupported(value, "a header must be a text in single quotes on this machine: \"'*'\"");
            None
        }
    }
}

/// The first template, which API Gateway uses if the client accepts none of them.
fn template(all: &Node, resolver: &Resolver<'_>) -> Option<(String, String)> {
    let (kind, node) = all.entries().first()?;
    let text = resolver.text(node)?;
    let rest = VARIABLES.iter().fold(text.clone(), |rest, variable| rest.replace(variable, ""));
    if rest.contains('$') || text.trim_start().starts_with('#') {
        let message =
            format!("this template has more than {}, which is not supported on this machine", VARIABLES.join(", "));
        resolver.problems.unsupported(node, message);
        return None;
    }
    Some((kind.clone(), text))
}
