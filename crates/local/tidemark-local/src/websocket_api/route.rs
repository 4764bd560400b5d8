//! Selects the route of a message.

use serde_json::Value;

/// The route for messages that match no other route.
pub(super) const DEFAULT: &str = "$default";

/// The route key in a message, at the path `selection`; `None` if the message is not JSON or has no
/// key there.
pub(super) fn key(selection: &[String], message: &str) -> Option<String> {
    let message: Value = serde_json::from_str(message).ok()?;
    let named = selection.iter().try_fold(&message, |value, name| value.get(name))?;
    match named {
        Value::String(key) => Some(key.clone()),
        Value::Number(_) | Value::Bool(_) => Some(named.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_key_is_the_value_at_the_selection_path() {
        let selection = ["detail".to_owned(), "kind".to_owned()];
        let cases = [
            (r#"{"detail": {"kind": "say"}}"#, Some("say")),
            (r#"{"detail": {"kind": 3}}"#, Some("3")),
            (r#"{"detail": {"kind": {}}}"#, None),
            (r#"{"detail": "kind"}"#, None),
            (r#"{"kind": "say"}"#, None),
            ("say", None),
            ("", None),
        ];
        for (message, expected) in cases {
            assert_eq!(key(&selection, message).as_deref(), expected, "{message}");
        }
    }
}
