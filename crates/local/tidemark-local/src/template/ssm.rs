//! `AWS::SSM::Parameter`.

use super::properties::Properties;
use super::resources;
use super::yaml::Node;
use crate::stack::SsmParameter;

/// Reads a parameter.
pub(super) fn read(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<SsmParameter> {
    properties.raw("Name");
    let kind = properties.text("Type").unwrap_or_else(|| "String".to_owned());
    let value = properties.required("Value");
    properties.finish(resources::SSM_PARAMETER);
    let name = resources::name(properties.resolver, id, resources::SSM_PARAMETER, resource)?;
    Some(SsmParameter { name, kind, value: value? })
}
