//! A table's definition: converts a `CreateTable` body to the SDK's request, and compares it with
//! an existing table.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::CreateTableInput;
use aws_sdk_dynamodb::types as sdk;
use serde::Deserialize;

/// The part of a `CreateTable` request that a template can contain.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub(super) struct CreateTable {
    table_name: String,
    attribute_definitions: Vec<Attribute>,
    key_schema: Vec<Key>,
    billing_mode: Option<String>,
    provisioned_throughput: Option<Throughput>,
    #[serde(default)]
    global_secondary_indexes: Vec<Index>,
    #[serde(default)]
    local_secondary_indexes: Vec<Index>,
    stream_specification: Option<Stream>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Attribute {
    attribute_name: String,
    attribute_type: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Key {
    attribute_name: String,
    key_type: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Index {
    index_name: String,
    key_schema: Vec<Key>,
    projection: Projection,
    provisioned_throughput: Option<Throughput>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Projection {
    projection_type: Option<String>,
    #[serde(default)]
    non_key_attributes: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Throughput {
    read_capacity_units: i64,
    write_capacity_units: i64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
struct Stream {
    stream_enabled: bool,
    stream_view_type: Option<String>,
}

impl CreateTable {
    /// The SDK's request.
    pub(super) fn to_input(&self) -> Result<CreateTableInput, BuildError> {
        let attributes = self.attribute_definitions.iter().map(Attribute::to_sdk).collect::<Result<_, _>>()?;
        let mut input = CreateTableInput::builder()
            .table_name(&self.table_name)
            .set_attribute_definitions(Some(attributes))
            .set_key_schema(Some(keys_to_sdk(&self.key_schema)?))
            // As in CloudFormation, an absent mode means provisioned.
            .set_billing_mode(self.billing_mode.as_deref().map(sdk::BillingMode::from))
            .set_provisioned_throughput(self.provisioned_throughput.map(Throughput::to_sdk).transpose()?);
        for index in &self.global_secondary_indexes {
            input = input.global_secondary_indexes(
                sdk::GlobalSecondaryIndex::builder()
                    .index_name(&index.index_name)
                    .set_key_schema(Some(keys_to_sdk(&index.key_schema)?))
                    .projection(index.projection.to_sdk())
                    .set_provisioned_throughput(index.provisioned_throughput.map(Throughput::to_sdk).transpose()?)
                    .build()?,
            );
        }
        for index in &self.local_secondary_indexes {
            input = input.local_secondary_indexes(
                sdk::LocalSecondaryIndex::builder()
                    .index_name(&index.index_name)
                    .set_key_schema(Some(keys_to_sdk(&index.key_schema)?))
                    .projection(index.projection.to_sdk())
                    .build()?,
            );
        }
        if let Some(stream) = &self.stream_specification {
            let specification = sdk::StreamSpecification::builder()
                .stream_enabled(stream.stream_enabled)
                .set_stream_view_type(stream.stream_view_type.as_deref().map(sdk::StreamViewType::from));
            input = input.stream_specification(specification.build()?);
        }
        input.build()
    }

    /// The properties that must be equal in an existing table.
    pub(super) fn compared_properties(&self) -> BTreeMap<String, String> {
        let mut properties = BTreeMap::from([(
            "key".to_owned(),
            key_text(self.key_schema.iter().map(|key| (key.key_type.as_str(), key.attribute_name.as_str()))),
        )]);
        for attribute in &self.attribute_definitions {
            properties.insert(format!("attribute {}", attribute.attribute_name), attribute.attribute_type.clone());
        }
        for (kind, indexes) in [("global", &self.global_secondary_indexes), ("local", &self.local_secondary_indexes)] {
            for index in indexes {
                let key =
                    key_text(index.key_schema.iter().map(|key| (key.key_type.as_str(), key.attribute_name.as_str())));
                let mut projected: Vec<&str> = index.projection.non_key_attributes.iter().map(String::as_str).collect();
                projected.sort_unstable();
                let projection = index.projection.projection_type.as_deref().unwrap_or("ALL");
                properties.insert(
                    format!("{kind} index {}", index.index_name),
                    format!("{key} projecting {projection} {projected:?}"),
                );
            }
        }
        if let Some(stream) = self.stream_specification.as_ref().filter(|stream| stream.stream_enabled) {
            properties.insert("stream".to_owned(), stream.stream_view_type.clone().unwrap_or_default());
        }
        properties
    }
}

/// The same properties of an existing table.
pub(super) fn compared_properties_of(table: &sdk::TableDescription) -> BTreeMap<String, String> {
    let key = |keys: &[sdk::KeySchemaElement]| {
        key_text(keys.iter().map(|key| (key.key_type().as_str(), key.attribute_name())))
    };
    let mut properties = BTreeMap::from([("key".to_owned(), key(table.key_schema()))]);
    for attribute in table.attribute_definitions() {
        let name = format!("attribute {}", attribute.attribute_name());
        properties.insert(name, attribute.attribute_type().as_str().to_owned());
    }
    let mut index =
        |kind: &str, name: Option<&str>, keys: &[sdk::KeySchemaElement], projection: Option<&sdk::Projection>| {
            let kind_of =
                projection.and_then(|projection| projection.projection_type()).map_or("ALL", |kind| kind.as_str());
            let projected = projection.map(sdk::Projection::non_key_attributes).unwrap_or_default();
            let mut projected: Vec<&str> = projected.iter().map(String::as_str).collect();
            projected.sort_unstable();
            let text = format!("{} projecting {kind_of} {projected:?}", key(keys));
            properties.insert(format!("{kind} index {}", name.unwrap_or_default()), text);
        };
    for description in table.global_secondary_indexes() {
        index("global", description.index_name(), description.key_schema(), description.projection());
    }
    for description in table.local_secondary_indexes() {
        index("local", description.index_name(), description.key_schema(), description.projection());
    }
    if let Some(stream) = table.stream_specification().filter(|stream| stream.stream_enabled()) {
        let view = stream.stream_view_type().map_or("", |view| view.as_str());
        properties.insert("stream".to_owned(), view.to_owned());
    }
    properties
}

/// One line per difference: `key: the template has HASH a, the table has HASH b`.
pub(super) fn differences(wanted: &BTreeMap<String, String>, found: &BTreeMap<String, String>) -> Vec<String> {
    let missing = "nothing".to_owned();
    let names: std::collections::BTreeSet<_> = wanted.keys().chain(found.keys()).collect();
    let differs = names.into_iter().filter(|name| wanted.get(*name) != found.get(*name));
    differs
        .map(|name| {
            let (wanted, found) = (wanted.get(name).unwrap_or(&missing), found.get(name).unwrap_or(&missing));
            format!("{name}: the template has {wanted}, the table has {found}")
        })
        .collect()
}

fn key_text<'a>(keys: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    keys.map(|(kind, name)| format!("{kind} {name}")).collect::<Vec<_>>().join(", ")
}

fn keys_to_sdk(keys: &[Key]) -> Result<Vec<sdk::KeySchemaElement>, BuildError> {
    let to_sdk = |key: &Key| {
        let element = sdk::KeySchemaElement::builder().attribute_name(&key.attribute_name);
        element.key_type(sdk::KeyType::from(key.key_type.as_str())).build()
    };
    keys.iter().map(to_sdk).collect()
}

impl Attribute {
    fn to_sdk(&self) -> Result<sdk::AttributeDefinition, BuildError> {
        let kind = sdk::ScalarAttributeType::from(self.attribute_type.as_str());
        sdk::AttributeDefinition::builder().attribute_name(&self.attribute_name).attribute_type(kind).build()
    }
}

impl Projection {
    fn to_sdk(&self) -> sdk::Projection {
        let names = Some(self.non_key_attributes.clone()).filter(|names| !names.is_empty());
        let kind = self.projection_type.as_deref().map(sdk::ProjectionType::from);
        sdk::Projection::builder().set_projection_type(kind).set_non_key_attributes(names).build()
    }
}

impl Throughput {
    fn to_sdk(self) -> Result<sdk::ProvisionedThroughput, BuildError> {
        sdk::ProvisionedThroughput::builder()
            .read_capacity_units(self.read_capacity_units)
            .write_capacity_units(self.write_capacity_units)
            .build()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn body() -> Value {
        json!({
            "TableName": "t",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": "a", "AttributeType": "S"},
                {"AttributeName": "b", "AttributeType": "N"}
            ],
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "GlobalSecondaryIndexes": [{
                "IndexName": "I",
                "KeySchema": [{"AttributeName": "b", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"}
            }],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_IMAGE"}
        })
    }

    fn compared_properties(body: Value) -> BTreeMap<String, String> {
        serde_json::from_value::<CreateTable>(body).expect("a table").compared_properties()
    }

    #[test]
    fn the_request_has_the_properties_of_the_template() {
        let input = serde_json::from_value::<CreateTable>(body()).expect("a table").to_input().expect("complete");
        assert_eq!(input.table_name(), Some("t"));
        assert_eq!(input.billing_mode(), Some(&sdk::BillingMode::PayPerRequest));
        assert_eq!(input.global_secondary_indexes()[0].index_name(), "I");
        let stream = input.stream_specification().expect("a stream");
        assert_eq!(stream.stream_view_type(), Some(&sdk::StreamViewType::NewImage));
    }

    #[test]
    fn only_differing_keys_and_indexes_are_listed() {
        assert_eq!(differences(&compared_properties(body()), &compared_properties(body())), [""; 0]);
        let mut other = body();
        other["KeySchema"][0]["AttributeName"] = json!("b");
        other["GlobalSecondaryIndexes"] = json!([]);
        let differences = differences(&compared_properties(body()), &compared_properties(other));
        assert_eq!(differences[0], "global index I: the template has HASH b projecting ALL [], the table has nothing");
        assert_eq!(differences[1], "key: the template has HASH a, the table has HASH b");
    }

    #[test]
    fn an_unknown_property_is_rejected() {
        let mut unknown = body();
        unknown["Surprise"] = json!(1);
        assert!(serde_json::from_value::<CreateTable>(unknown).is_err());
    }
}
