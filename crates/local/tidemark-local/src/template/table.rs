//! `AWS::DynamoDB::Table` and `AWS::Serverless::SimpleTable`.

use serde_json::{Map, Value};

use super::properties::{Properties, json};
use super::resources;
use super::yaml::Node;
use crate::stack::{Table, Waiting};

/// The properties that CloudFormation and `CreateTable` spell in the same way.
const PASSED_ON: [&str; 4] = ["AttributeDefinitions", "KeySchema", "BillingMode", "LocalSecondaryIndexes"];

/// Reads a table.
pub(super) fn read(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Table> {
    properties.raw("TableName");
    let mut create = Map::new();
    for name in PASSED_ON {
        if let Some(node) = properties.get(name) {
            create.insert(name.to_owned(), json(&node));
        }
    }
    create.extend(throughput(properties));
    for required in ["KeySchema", "AttributeDefinitions"] {
        if !create.contains_key(required) {
            properties.resolver.problems.missing(resource, format!("{required} is missing"));
        }
    }
    let indexes: Vec<Value> =
        properties.list("GlobalSecondaryIndexes").iter().map(|node| index(properties, node)).collect();
    if !indexes.is_empty() {
        create.insert("GlobalSecondaryIndexes".to_owned(), indexes.into());
    }
    if let Some(stream) = properties.map("StreamSpecification") {
        let view_type = stream.required("StreamViewType").unwrap_or_default();
        stream.finish("AWS::DynamoDB::Table.StreamSpecification");
        let enabled = serde_json::json!({ "StreamEnabled": true, "StreamViewType": view_type });
        create.insert("StreamSpecification".to_owned(), enabled);
    }
    let ttl_attribute = properties.map("TimeToLiveSpecification").and_then(|ttl| {
        let attribute = ttl.text("AttributeName");
        let enabled = ttl.boolean("Enabled").unwrap_or_default();
        ttl.finish("AWS::DynamoDB::Table.TimeToLiveSpecification");
        attribute.filter(|_| enabled)
    });
    let point_in_time_recovery = properties.map("PointInTimeRecoverySpecification").is_some_and(|recovery| {
        let enabled = recovery.boolean("PointInTimeRecoveryEnabled").unwrap_or_default();
        recovery.finish("AWS::DynamoDB::Table.PointInTimeRecoverySpecification");
        enabled
    });
    properties.finish(resources::TABLE);
    let name = resources::name(properties.resolver, id, resources::TABLE, resource)?;
    create.insert("TableName".to_owned(), name.clone().into());
    let create_table = Value::Object(create);
    let waiting = resource.get("Metadata").and_then(|metadata| metadata.get("Waiting"));
    let waiting = waiting.and_then(|node| waiting_items(&Properties::new(properties.resolver, node)));
    Some(Table { logical_id: id.to_owned(), name, create_table, ttl_attribute, point_in_time_recovery, waiting })
}

/// Reads a table with a partition key only.
pub(super) fn read_simple(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Table> {
    properties.raw("TableName");
    let (mut name, mut kind) = ("id".to_owned(), "S");
    if let Some(key) = properties.map("PrimaryKey") {
        name = key.required("Name").unwrap_or(name);
        kind = match key.required("Type").as_deref() {
            Some("Number") => "N",
            Some("Binary") => "B",
            Some("String") | None => "S",
            Some(other) => {
                return properties.wrong(&key.node, format!("Type must be String, Number or Binary, not {other}"));
            }
        };
        key.finish("AWS::Serverless::SimpleTable.PrimaryKey");
    }
    properties.finish(resources::SIMPLE_TABLE);
    let table = resources::name(properties.resolver, id, resources::SIMPLE_TABLE, resource)?;
    let create_table = serde_json::json!({
        "TableName": table,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{ "AttributeName": name, "AttributeType": kind }],
        "KeySchema": [{ "AttributeName": name, "KeyType": "HASH" }],
    });
    Some(Table {
        logical_id: id.to_owned(),
        name: table,
        create_table,
        ttl_attribute: None,
        point_in_time_recovery: false,
        waiting: None,
    })
}

fn waiting_items(waiting: &Properties<'_>) -> Option<Waiting> {
    let items = Waiting {
        name: waiting.required("Name")?,
        partition_key: waiting.required("PartitionKey")?,
        partition: waiting.required("Partition")?,
        until: waiting.required("Until")?,
        command: waiting.required("Command")?,
    };
    Some(items)
}

fn index(table: &Properties<'_>, node: &Node) -> Value {
    let index = Properties::new(table.resolver, node);
    let mut entries = Map::new();
    for name in ["IndexName", "KeySchema", "Projection"] {
        if let Some(node) = index.get(name) {
            entries.insert(name.to_owned(), json(&node));
        }
    }
    entries.extend(throughput(&index));
    index.finish("AWS::DynamoDB::Table.GlobalSecondaryIndexes[]");
    Value::Object(entries)
}

/// The capacity units of a table or an index. CloudFormation takes them as text too.
fn throughput(owner: &Properties<'_>) -> Option<(String, Value)> {
    let units = owner.map("ProvisionedThroughput")?;
    let mut read = Map::new();
    for name in ["ReadCapacityUnits", "WriteCapacityUnits"] {
        units.required(name);
        read.extend(units.integer(name, 1..=i64::MAX).map(|count| (name.to_owned(), count.into())));
    }
    units.finish("AWS::DynamoDB::Table.ProvisionedThroughput");
    Some(("ProvisionedThroughput".to_owned(), read.into()))
}
