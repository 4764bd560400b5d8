//! `Layers` of a function: only the Lambda Web Adapter's is known on this machine.

use super::properties::Properties;
use super::yaml::{Node, NodeKind};
use crate::stack::is_web_adapter;

/// A variable of the adapter that has no effect here.
const COMPRESSION: &str = "AWS_LWA_ENABLE_COMPRESSION";

/// The function's layers. A layer other than the adapter has no files here, so it is a warning.
pub(super) fn read(properties: &Properties<'_>) -> Vec<String> {
    let Some(layers) = properties.raw("Layers") else { return Vec::new() };
    let NodeKind::List(layers) = &layers.kind else {
        properties.resolver.scan(layers);
        properties.resolver.problems.left_out(layers, "the files of layers are missing on this machine");
        return Vec::new();
    };
    let layers: Vec<String> = layers.iter().filter_map(|layer| adapter(layer, properties)).collect();
    if !layers.is_empty() {
        warn_of_compression(properties);
    }
    layers
}

/// The layer's name if it is the adapter's, else a warning.
fn adapter(layer: &Node, properties: &Properties<'_>) -> Option<String> {
    let name = name(layer);
    properties.resolver.scan(layer);
    if is_web_adapter(&name) {
        return Some(name);
    }
    let message = format!("the files of the layer {name} are missing on this machine");
    properties.resolver.problems.left_out(layer, message);
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

fn warn_of_compression(properties: &Properties<'_>) {
    let variables = properties.node.get("Environment").and_then(|environment| environment.get("Variables"));
    if let Some(value) = variables.and_then(|variables| variables.get(COMPRESSION))
        && value.as_text() == Some("true")
    {
        let message = format!("{COMPRESSION} has no effect on this machine: answers are not compressed");
        properties.resolver.problems.ignored(value, message);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    fn template(layers: &str) -> crate::template::Template {
        let yaml = format!(
            "Resources: {{ F: {{ Type: AWS::Serverless::Function, Properties: {{ Runtime: provided.al2023, Layers: {layers} }} }} }}"
        );
        crate::template::read(&yaml, &BTreeMap::new()).unwrap()
    }

    #[test]
    fn the_adapters_layer_makes_a_web_server() {
        let arn = r#"[!Sub "arn:aws:lambda:${AWS::Region}:753240598075:layer:LambdaAdapterLayerArm64:20"]"#;
        let read = template(arn);
        assert!(read.stack.functions[0].uses_web_adapter());
        assert_eq!(read.ignored, []);
    }

    #[test]
    fn another_layer_is_a_warning_with_its_name() {
        let read = template(r#"["arn:aws:lambda:us-east-1:184161586896:layer:opentelemetry-collector-arm64:12"]"#);
        assert!(!read.stack.functions[0].uses_web_adapter());
        let messages: Vec<&str> = read.ignored.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains("layer:opentelemetry-collector-arm64:12"), "{messages:?}");
    }
}
