//! `AWS::SecretsManager::Secret`.

use super::properties::Properties;
use super::resources;
use super::yaml::Node;
use crate::stack::Secret;

/// Secrets Manager's default and maximum length.
const SECRET_LENGTH_DEFAULT: usize = 32;
const SECRET_LENGTH_MAX: i64 = 4_096;

/// Properties without effect on a secret of letters and digits.
const GENERATOR_CLOUD_ONLY: [&str; 3] = ["ExcludePunctuation", "ExcludeCharacters", "RequireEachIncludedType"];

/// Reads a secret. Its value is always generated: a template must not contain a secret.
pub(super) fn read(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Secret> {
    properties.raw("Name");
    let length = match properties.map("GenerateSecretString") {
        Some(generator) => {
            let length = generator.count("PasswordLength", 1..=SECRET_LENGTH_MAX);
            generator.finish("a generated secret", &GENERATOR_CLOUD_ONLY);
            length.unwrap_or(SECRET_LENGTH_DEFAULT)
        }
        None => {
            let place = properties.raw("SecretString").unwrap_or(&properties.node);
            let message = "the value of a secret without GenerateSecretString is generated on this machine";
            properties.resolver.problems.ignored(place, message);
            SECRET_LENGTH_DEFAULT
        }
    };
    properties.finish("a secret", &["Description", "KmsKeyId", "ReplicaRegions", "Tags"]);
    let name = resources::name(properties.resolver, id, resources::SECRET, resource)?;
    let arn = resources::attribute(properties.resolver, id, resources::SECRET, resource, "Id")?;
    Some(Secret { logical_id: id.to_owned(), name, arn, length })
}
