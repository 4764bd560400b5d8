//! Message attributes.
//!
//! Source: <https://docs.aws.amazon.com/sns/latest/dg/sns-message-attributes.html>.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// One message attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// `String`, `String.Array`, `Number` or `Binary`.
    pub(crate) data_type: String,
    /// The value; of a binary attribute in base64.
    pub(crate) value: String,
}

/// The attributes as receivers see them.
pub(super) fn for_event(attributes: &BTreeMap<String, Attribute>) -> Value {
    let attributes = attributes.iter();
    let fields = attributes
        .map(|(name, attribute)| (name.clone(), json!({ "Type": attribute.data_type, "Value": attribute.value })));
    Value::Object(fields.collect())
}

/// The attributes as a queue has them.
pub(super) fn for_queue(attributes: &BTreeMap<String, Attribute>) -> Map<String, Value> {
    let attribute = |(name, Attribute { data_type, value }): (&String, &Attribute)| {
        let field = if data_type.starts_with("Binary") { "BinaryValue" } else { "StringValue" };
        (name.clone(), json!({ "DataType": data_type, field: value }))
    };
    attributes.iter().map(attribute).collect()
}

/// The attributes as filter policies see them: numbers and arrays have their own types. Binary
/// attributes are not visible.
///
/// Source: <https://docs.aws.amazon.com/sns/latest/dg/sns-subscription-filter-policies.html>.
pub(super) fn for_filter(attributes: &BTreeMap<String, Attribute>) -> Value {
    let mut fields = Map::new();
    for (name, Attribute { data_type, value }) in attributes {
        let value = match data_type.as_str() {
            "Binary" => continue,
            "Number" => serde_json::from_str(value).ok().filter(Value::is_number),
            "String.Array" => serde_json::from_str(value).ok().filter(Value::is_array),
            _ => None,
        }
        .unwrap_or_else(|| Value::from(value.as_str()));
        fields.insert(name.clone(), value);
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_sees_numbers_arrays_and_no_binary_attribute() {
        let attribute =
            |data_type: &str, value: &str| Attribute { data_type: data_type.to_owned(), value: value.to_owned() };
        let attributes = BTreeMap::from([
            ("a".to_owned(), attribute("String", "1")),
            ("b".to_owned(), attribute("Number", "1.5")),
            ("c".to_owned(), attribute("String.Array", r#"["x", 1]"#)),
            ("d".to_owned(), attribute("Binary", "AAEC")),
            ("e".to_owned(), attribute("Number", "one")),
        ]);
        assert_eq!(for_filter(&attributes), json!({ "a": "1", "b": 1.5, "c": ["x", 1], "e": "one" }));
        assert_eq!(for_event(&attributes)["d"], json!({ "Type": "Binary", "Value": "AAEC" }));
    }
}
