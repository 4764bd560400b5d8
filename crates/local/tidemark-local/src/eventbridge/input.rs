//! What a target receives: the event, a part of it, a constant, or a text with parts of it.
//!
//! Source:
//! <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html>.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

/// Maximum number of paths in an input transformer, and maximum length of its template.
///
/// Source: <https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_InputTransformer.html>.
pub(crate) const PATHS_MAX: usize = 100;
pub(crate) const TEMPLATE_LENGTH_MAX: usize = 8_192;

/// What a target receives.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum TargetInput {
    /// The whole event.
    #[default]
    Event,
    /// `Input`: this JSON text.
    Constant(String),
    /// `InputPath`: a part of the event.
    Path(JsonPath),
    /// `InputTransformer`.
    Transformer {
        /// `InputPathsMap`.
        paths: BTreeMap<String, JsonPath>,
        /// `InputTemplate`.
        template: String,
    },
}

/// The rule that matched, for the variables of a template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RuleContext<'a> {
    pub(crate) arn: &'a str,
    pub(crate) name: &'a str,
}

/// A path to a part of an event: `$.detail.items[0]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Field(String),
    Item(usize),
}

impl TargetInput {
    /// The payload for the target. A path without a value gives `null`.
    pub(crate) fn payload(&self, event: &Value, rule: &RuleContext<'_>) -> String {
        match self {
            Self::Event => event.to_string(),
            Self::Constant(text) => text.clone(),
            Self::Path(path) => path.find(event).unwrap_or(&Value::Null).to_string(),
            Self::Transformer { paths, template } => {
                fill(template, |name| variable(name, event, rule).or_else(|| paths.get(name)?.find(event).cloned()))
            }
        }
    }
}

impl JsonPath {
    /// Parses a path with fields and indexes.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is not a path: write it as $.detail.name or $.detail.items[0]");
        let mut rest = text.strip_prefix('$').ok_or_else(wrong)?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = match rest.strip_prefix('[') {
                Some(inside) => {
                    let (key, after) = inside.split_once(']').ok_or_else(wrong)?;
                    let quoted = ['\'', '"'].iter().find_map(|q| key.strip_prefix(*q)?.strip_suffix(*q));
                    let step = match quoted {
                        Some(name) => Step::Field(name.to_owned()),
                        None => Step::Item(key.parse().map_err(|_| wrong())?),
                    };
                    (step, after)
                }
                None => {
                    let field = rest.strip_prefix('.').ok_or_else(wrong)?;
                    let end = field.find(['.', '[']).unwrap_or(field.len());
                    let (name, after) = field.split_at(end);
                    if name.is_empty() || name.contains(['*', '?', '(', '@']) {
                        return Err(wrong());
                    }
                    (Step::Field(name.to_owned()), after)
                }
            };
            steps.push(step);
            rest = after;
        }
        Ok(Self(steps))
    }

    /// The value at the path.
    fn find<'a>(&self, event: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(event, |value, step| match step {
            Step::Field(name) => value.get(name),
            Step::Item(index) => value.get(index),
        })
    }
}

/// Whether a template gives JSON for any event. Functions accept nothing else.
pub(crate) fn gives_json(template: &str) -> bool {
    serde_json::from_str::<Value>(&fill(template, |_| None)).is_ok()
}

/// The value of a reserved variable.
fn variable(name: &str, event: &Value, rule: &RuleContext<'_>) -> Option<Value> {
    match name {
        "aws.events.rule-arn" => Some(Value::from(rule.arn)),
        "aws.events.rule-name" => Some(Value::from(rule.name)),
        "aws.events.event.ingestion-time" => Some(Value::from(format!("{:.3}", Timestamp::now()))),
        "aws.events.event" => {
            let mut event = event.clone();
            event.as_object_mut().map(|fields| fields.remove("detail"));
            Some(event)
        }
        "aws.events.event.json" => Some(event.clone()),
        _ => None,
    }
}

/// Replaces each `<name>` of the template. Within quotes a string is inserted without its own
/// quotes, and a missing value is empty; elsewhere a value is inserted as JSON.
fn fill(template: &str, value: impl Fn(&str) -> Option<Value>) -> String {
    let (mut filled, mut rest, mut quoted) = (String::with_capacity(template.len()), template, false);
    while let Some((at, character)) = rest.char_indices().find(|(_, character)| matches!(character, '"' | '\\' | '<')) {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let name = from.strip_prefix('<').and_then(|inside| inside.split_once('>')).filter(|(name, _)| is_name(name));
        let taken = match (character, name) {
            ('<', Some((name, after))) => {
                filled.push_str(&text(value(name), quoted));
                from.len() - after.len()
            }
            // The character after a backslash does not end the string.
            ('\\', _) => 1 + from.chars().nth(1).map_or(0, char::len_utf8),
            ('"', _) => {
                quoted = !quoted;
                1
            }
            _ => 1,
        };
        let (copied, after) = from.split_at(taken);
        if name.is_none() || character != '<' {
            filled.push_str(copied);
        }
        rest = after;
    }
    filled + rest
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

fn text(value: Option<Value>, quoted: bool) -> String {
    match value {
        None if quoted => String::new(),
        None => "null".to_owned(),
        Some(value) if !quoted => value.to_string(),
        Some(value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let json = Value::from(text).to_string();
            json.get(1..json.len() - 1).unwrap_or_default().to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RULE: RuleContext<'_> = RuleContext { arn: "arn:rule", name: "the-rule" };

    fn event() -> Value {
        json!({ "id": "1", "detail": { "name": "say \"hi\"", "items": [{ "n": 1 }, { "n": 2 }], "a-b": true } })
    }

    fn transformed(template: &str) -> String {
        let paths = [("name", "$.detail.name"), ("items", "$.detail.items"), ("none", "$.detail.none")];
        let paths = paths.map(|(name, path)| (name.to_owned(), JsonPath::parse(path).unwrap())).into();
        TargetInput::Transformer { paths, template: template.to_owned() }.payload(&event(), &RULE)
    }

    #[test]
    fn a_path_selects_a_field_an_item_or_nothing() {
        let found = |path: &str| TargetInput::Path(JsonPath::parse(path).unwrap()).payload(&event(), &RULE);
        assert_eq!(found("$.detail.items[1].n"), "2");
        assert_eq!(found("$['detail'].a-b"), "true");
        assert_eq!(found("$.detail.items[7]"), "null");
        assert_eq!(found("$"), event().to_string());
        for wrong in ["detail", "$detail", "$.a[", "$.a[x]", "$..a", "$.items[*]", "$.*"] {
            assert!(JsonPath::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_template_inserts_values_as_json_and_strings_within_quotes() {
        assert_eq!(transformed(r#"{"n": <name>}"#), r#"{"n": "say \"hi\""}"#);
        assert_eq!(transformed(r#""<name>, <none>""#), r#""say \"hi\", ""#);
        assert_eq!(transformed(r#"{"i": <items>, "x": <none>}"#), r#"{"i": [{"n":1},{"n":2}], "x": null}"#);
        assert_eq!(transformed(r#"{"r": "<aws.events.rule-name>"}"#), r#"{"r": "the-rule"}"#);
        assert_eq!(transformed(r#"{"e": <aws.events.event>}"#), r#"{"e": {"id":"1"}}"#);
        assert_eq!(transformed(r#""a < b \"<none>\" >""#), r#""a < b \"\" >""#);
    }

    #[test]
    fn only_a_template_that_gives_json_is_accepted_for_functions() {
        assert!(gives_json(r#"{"a": <a>, "b": "<b> and <c>"}"#));
        assert!(gives_json(r#""<a>""#));
        assert!(!gives_json("the name is <a>"));
        assert!(!gives_json(r#"{"a": <a>"#));
    }
}
