//! `Layers` of a function: only the Lambda Web Adapter's is known on this machine.

use super::properties::Properties;
use super::yaml::{Node, NodeKind};
use crate::functions::web_adapter;

/// The variable with which the adapter's own documentation switches on the response stream.
const INVOKE_MODES: [&str; 2] = ["AWS_LWA_INVOKE_MODE", "AWS_LWA_ENABLE_COMPRESSION"];

/// The function's layers. A layer other than the adapter has no files here, so it is a warning.
pub(super) fn read(properties: &Properties<'_>) -> Vec<String> {
    let Some(layers) = properties.raw("Layers") else { return Vec::new() };
    let NodeKind::List(layers) = &layers.kind else {
        properties.resolver.scan(layers);
        properties.resolver.problems.ignored(layers, "the files of layers are missing on this machine");
        return Vec::new();
    };
    let layers: Vec<String> = layers.iter().filter_map(|layer| adapter(layer, properties)).collect();
    if !layers.is_empty() {
        warn_of_variables(properties);
    }
    layers
}

/// The layer's name if it is the adapter's, else a warning.
fn adapter(layer: &Node, properties: &Properties<'_>) -> Option<String> {
    let name = name(layer);
    properties.resolver.scan(layer);
    if web_adapter::is_adapter(&name) {
        return Some(name);
    }
    let message = format!("the files of the layer {name} are missing on this machine");
    properties.resolver.problems.ignored(layer, message);
    None
}

/// The layer as the template writes it: an ARN, or the argument of an intrinsic function.
fn name(layer: &Node) -> String {
    let node = layer.intrinsic().map_or(layer, |(_, argument)| argument);
    let parts = node.items().unwrap_or(std::slice::from_ref(node));
    parts.iter().map(|part| part.as_text().map_or_else(|| nested(part), str::to_owned)).collect()
}

/// The texts of an argument that is a list, such as that of `Fn::Join`.
fn nested(node: &Node) -> String {
    node.items().unwrap_or_default().iter().filter_map(Node::as_text).collect::<Vec<_>>().join(":")
}

fn warn_of_variables(properties: &Properties<'_>) {
    let variables = properties.node.get("Environment").and_then(|environment| environment.get("Variables"));
    for name in INVOKE_MODES {
        let Some(value) = variables.and_then(|variables| variables.get(name)) else { continue };
        if matches!(value.as_text(), Some("response_stream" | "RESPONSE_STREAM" | "true")) {
            let message = format!("{name} has no effect on this machine: answers are buffered and not compressed");
            properties.resolver.problems.ignored(value, message);
        }
    }
}
