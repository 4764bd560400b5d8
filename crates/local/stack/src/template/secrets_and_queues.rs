//! `AWS::SecretsManager::Secret` and `AWS::SQS::Queue`.

use super::properties::Properties;
use super::resources;
use super::yaml::Node;
use crate::stack::{Queue, Secret};

/// Secrets Manager's default and maximum length.
const SECRET_LENGTH_DEFAULT: usize = 32;
const SECRET_LENGTH_MAX: i64 = 4_096;

/// Properties without effect on a secret of letters and digits.
const GENERATOR_CLOUD_ONLY: [&str; 3] = ["ExcludePunctuation", "ExcludeCharacters", "RequireEachIncludedType"];

/// Properties without effect on a queue that only receives failed batches.
const QUEUE_CLOUD_ONLY: [&str; 9] = [
    "KmsDataKeyReusePeriodSeconds",
    "KmsMasterKeyId",
    "MaximumMessageSize",
    "MessageRetentionPeriod",
    "ReceiveMessageWaitTimeSeconds",
    "RedriveAllowPolicy",
    "SqsManagedSseEnabled",
    "Tags",
    "VisibilityTimeout",
];

/// Reads a secret. Its value must be generated: a template must not contain a secret.
pub(super) fn secret(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Secret> {
    properties.raw("Name");
    let length = match properties.map("GenerateSecretString") {
        Some(generator) => {
            let length = generator.count("PasswordLength", 1..=SECRET_LENGTH_MAX);
            generator.finish("a generated secret", &GENERATOR_CLOUD_ONLY);
            length.unwrap_or(SECRET_LENGTH_DEFAULT)
        }
        None => {
            return properties
                .wrong(&properties.node, "only secrets with GenerateSecretString are supported on this machine");
        }
    };
    properties.finish("a secret", &["Description", "KmsKeyId", "ReplicaRegions", "Tags"]);
    let name = resources::name(properties.resolver, id, resources::SECRET, resource)?;
    let arn = resources::attribute(properties.resolver, id, resources::SECRET, resource, "Id")?;
    Some(Secret { logical_id: id.to_owned(), name, arn, length })
}

/// Reads a queue.
pub(super) fn queue(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Queue> {
    properties.raw("QueueName");
    properties.finish("a queue", &QUEUE_CLOUD_ONLY);
    let name = resources::name(properties.resolver, id, resources::QUEUE, resource)?;
    let arn = resources::attribute(properties.resolver, id, resources::QUEUE, resource, "Arn")?;
    Some(Queue { logical_id: id.to_owned(), name, arn })
}
