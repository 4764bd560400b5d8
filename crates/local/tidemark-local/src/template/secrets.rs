//! `AWS::SecretsManager::Secret`.

use super::properties::Properties;
use super::resources;
use super::yaml::Node;
use crate::secret_value::{Password, SecretValue};
use crate::stack::Secret;

/// Secrets Manager's default and maximum length.
const SECRET_LENGTH_DEFAULT: usize = 32;
const SECRET_LENGTH_MAX: i64 = 4_096;

/// Reads a secret.
pub(super) fn read(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Secret> {
    properties.raw("Name");
    let value = match (properties.text("SecretString"), properties.map("GenerateSecretString")) {
        (Some(_), Some(generator)) => {
            return properties.wrong(&generator.node, "a secret has SecretString or GenerateSecretString, not both");
        }
        (Some(text), None) => SecretValue::Given(text),
        (None, Some(generator)) => SecretValue::Generated(password(&generator)?),
        (None, None) => SecretValue::Missing,
    };
    properties.finish(resources::SECRET);
    let name = resources::name(properties.resolver, id, resources::SECRET, resource)?;
    let arn = resources::attribute(properties.resolver, id, resources::SECRET, resource, "Id")?;
    Some(Secret { logical_id: id.to_owned(), name, arn, value })
}

fn password(generator: &Properties<'_>) -> Option<Password> {
    let length = generator.count("PasswordLength", 1..=SECRET_LENGTH_MAX).unwrap_or(SECRET_LENGTH_DEFAULT);
    let has_each_kind = generator.boolean("RequireEachIncludedType").unwrap_or(true);
    let excluded = generator.text("ExcludeCharacters").unwrap_or_default();
    let includes_space = generator.boolean("IncludeSpace").unwrap_or(false);
    let excludes = |property: &str| generator.boolean(property).unwrap_or(false);
    let kinds = Password::kinds(excludes, includes_space, &excluded);
    let template = match (generator.text("SecretStringTemplate"), generator.text("GenerateStringKey")) {
        (None, None) => None,
        (Some(template), Some(key)) => match serde_json::from_str(&template) {
            Ok(object) => Some((object, key)),
            Err(error) => {
                let place = generator.raw("SecretStringTemplate").unwrap_or(&generator.node);
                return generator.wrong(place, format!("SecretStringTemplate is not a JSON object: {error}"));
            }
        },
        _ => return generator.wrong(&generator.node, "SecretStringTemplate and GenerateStringKey need each other"),
    };
    generator.finish("AWS::SecretsManager::Secret.GenerateSecretString");
    if kinds.is_empty() || has_each_kind && length < kinds.len() {
        return generator.wrong(&generator.node, "no password of this length has a character of each kind");
    }
    Some(Password { length, kinds, has_each_kind, template })
}
