//! Models of an API: JSON schemas of bodies.

use std::collections::BTreeMap;

use serde_json::Value;

use super::intrinsics::Resolver;
use super::properties::{Properties, json as to_json};
use super::yaml::Node;
use crate::models::Model;

/// The models of an API's property `Models`, by name.
pub(super) fn of_api(properties: &Properties<'_>) -> BTreeMap<String, Value> {
    let Some(models) = properties.map("Models") else { return BTreeMap::new() };
    let all: serde_json::Map<_, _> =
        models.node.entries().iter().map(|(name, node)| (name.clone(), to_json(node))).collect();
    let definitions = [("definitions", Value::Object(all.clone()))];
    let read = models.node.entries().iter().map(|(name, node)| {
        let schema = with_definitions(to_json(node), &definitions);
        check(properties.resolver, node, &schema);
        (name.clone(), schema)
    });
    read.collect()
}

/// A schema with the schemas that it may refer to. API Gateway's own address of a model is one too.
pub(super) fn with_definitions(mut schema: Value, definitions: &[(&str, Value)]) -> Value {
    if let Some(fields) = schema.as_object_mut() {
        for (name, own) in definitions {
            fields.entry(*name).or_insert_with(|| own.clone());
        }
        // Draft 4 is the only one that API Gateway knows; another address would not be found.
        fields.remove("$schema");
    }
    local_references(&mut schema);
    schema
}

fn local_references(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get_mut("$ref")
                && reference.starts_with("https://apigateway.amazonaws.com/restapis/")
                && let Some((_, model)) = reference.rsplit_once("/models/")
            {
                *reference = format!("#/definitions/{model}");
            }
            fields.values_mut().for_each(local_references);
        }
        Value::Array(items) => items.iter_mut().for_each(local_references),
        _ => {}
    }
}

/// Records an invalid schema.
pub(super) fn check(resolver: &Resolver<'_>, place: &Node, schema: &Value) {
    if cfg!(feature = "models")
        && let Err(error) = Model::new(schema)
    {
        resolver.problems.at(place, format!("this is no JSON schema of draft 4: {error}"));
    }
}
