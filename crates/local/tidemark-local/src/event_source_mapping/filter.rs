//! EventBridge's pattern language, for rules, filter criteria of event source mappings, and filter
//! policies of topics.
//!
//! Source:
//! <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html>. A
//! pattern has the structure of the event; its leaves are lists of alternatives. All fields of a
//! pattern must match.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Map, Value};

/// The filters of one mapping.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    patterns: Vec<Pattern>,
}

/// An invalid or unsupported pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter pattern at `{path}`: {problem}")]
pub struct FilterError {
    /// The position in the pattern, with dots: `dynamodb.NewImage.recordSort`.
    pub path: String,
    /// The problem at that position.
    pub problem: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Pattern {
    /// All of these fields must match.
    Fields(Vec<(String, Pattern)>),
    /// One of these patterns must match the same object: `$or`.
    Any(Vec<Pattern>),
    /// One of these alternatives must match the leaf.
    Leaf(Vec<Alternative>),
}

#[derive(Debug, Clone, PartialEq)]
enum Alternative {
    Exactly(Value),
    Prefix(String),
    Suffix(String),
    EqualsIgnoreCase(String),
    PrefixIgnoreCase(String),
    SuffixIgnoreCase(String),
    Cidr(IpNet),
    Wildcard(String),
    Numeric(Vec<(Comparison, f64)>),
    AnythingBut(Vec<Alternative>),
    Exists(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Filters {
    /// Compiles the patterns of a mapping.
    ///
    /// # Errors
    /// [`FilterError`] for the first unsupported part: nothing is skipped.
    pub fn compile(patterns: &[Value]) -> Result<Self, FilterError> {
        let patterns = patterns.iter().map(|pattern| match pattern {
            Value::Object(fields) => fields_pattern(fields, ""),
            _ => Err(wrong("", "a pattern is a JSON object")),
        });
        Ok(Self { patterns: patterns.collect::<Result<_, _>>()? })
    }

    /// Whether a record passes: one of the patterns matches it, or there are no patterns.
    #[must_use]
    pub fn pass(&self, record: &Value) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.matches(Some(record)))
    }
}

impl Pattern {
    fn matches(&self, value: Option<&Value>) -> bool {
        match self {
            // A field of objects in a list matches if it matches in one of them.
            Self::Fields(_) if value.and_then(Value::as_array).is_some_and(|items| !items.is_empty()) => {
                value.and_then(Value::as_array).into_iter().flatten().any(|item| self.matches(Some(item)))
            }
            Self::Fields(fields) => fields.iter().all(|(name, pattern)| match (name.as_str(), value) {
                ("$or", value) => pattern.matches(value),
                (name, value) => pattern.matches(value.and_then(|value| value.get(name))),
            }),
            Self::Any(patterns) => patterns.iter().any(|pattern| pattern.matches(value)),
            Self::Leaf(alternatives) => alternatives.iter().any(|alternative| alternative.matches(value)),
        }
    }
}

impl Alternative {
    fn matches(&self, value: Option<&Value>) -> bool {
        // An object is not a leaf. As in EventBridge, alternatives (also `exists`) match leaves
        // only.
        let value = value.filter(|value| !value.is_object());
        match (self, value) {
            (Self::Exists(wanted), value) => *wanted == value.is_some(),
            (_, None) => false,
            (Self::AnythingBut(unwanted), Some(Value::Array(values))) => {
                values.iter().any(|value| !unwanted.iter().any(|unwanted| unwanted.matches_leaf(value)))
            }
            (alternative, Some(Value::Array(values))) => values.iter().any(|value| alternative.matches_leaf(value)),
            (alternative, Some(value)) => alternative.matches_leaf(value),
        }
    }

    fn matches_leaf(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Exactly(Value::Number(wanted)), Value::Number(value)) => wanted.as_f64() == value.as_f64(),
            (Self::Exactly(wanted), value) => wanted == value,
            (Self::Prefix(prefix), Value::String(value)) => value.starts_with(prefix.as_str()),
            (Self::Suffix(suffix), Value::String(value)) => value.ends_with(suffix.as_str()),
            (Self::EqualsIgnoreCase(wanted), Value::String(value)) => wanted.to_lowercase() == value.to_lowercase(),
            (Self::PrefixIgnoreCase(prefix), Value::String(value)) => value.to_lowercase().starts_with(prefix),
            (Self::SuffixIgnoreCase(suffix), Value::String(value)) => value.to_lowercase().ends_with(suffix),
            (Self::Cidr(network), Value::String(value)) => {
                value.parse::<IpAddr>().is_ok_and(|address| network.contains(&address))
            }
            (Self::Wildcard(pattern), Value::String(value)) => wildcard(pattern, value),
            (Self::Numeric(bounds), Value::Number(value)) => value
                .as_f64()
                .is_some_and(|value| bounds.iter().all(|(comparison, bound)| comparison.holds(value, *bound))),
            (Self::AnythingBut(unwanted), value) => !unwanted.iter().any(|unwanted| unwanted.matches_leaf(value)),
            (Self::Exists(wanted), _) => *wanted,
            _ => false,
        }
    }
}

impl Comparison {
    #[expect(clippy::float_cmp, reason = "the pattern asks for the same number, not for a near one")]
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Equal => value == bound,
            Self::Less => value < bound,
            Self::LessOrEqual => value <= bound,
            Self::Greater => value > bound,
            Self::GreaterOrEqual => value >= bound,
        }
    }

    fn parse(sign: &str) -> Option<Self> {
        Some(match sign {
            "=" => Self::Equal,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }
}

fn fields_pattern(fields: &Map<String, Value>, path: &str) -> Result<Pattern, FilterError> {
    if fields.is_empty() {
        return Err(wrong(path, "an empty object is not a pattern"));
    }
    let parse = |(name, value): (&String, &Value)| {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let pattern = match (name.as_str(), value) {
            ("$or", Value::Array(patterns)) => any_pattern(patterns, &path)?,
            (_, Value::Object(fields)) => fields_pattern(fields, &path)?,
            (_, Value::Array(alternatives)) if !alternatives.is_empty() => {
                Pattern::Leaf(alternatives.iter().map(|value| alternative(value, &path)).collect::<Result<_, _>>()?)
            }
            _ => return Err(wrong(&path, "expected an object, or a list of alternatives that is not empty")),
        };
        Ok((name.clone(), pattern))
    };
    Ok(Pattern::Fields(fields.iter().map(parse).collect::<Result<_, _>>()?))
}

fn any_pattern(patterns: &[Value], path: &str) -> Result<Pattern, FilterError> {
    let parse = |pattern: &Value| match pattern {
        Value::Object(fields) => fields_pattern(fields, path),
        _ => Err(wrong(path, "`$or` takes a list of objects")),
    };
    if patterns.len() < 2 {
        return Err(wrong(path, "`$or` takes two objects or more"));
    }
    Ok(Pattern::Any(patterns.iter().map(parse).collect::<Result<_, _>>()?))
}

fn alternative(value: &Value, path: &str) -> Result<Alternative, FilterError> {
    let operator = match value {
        Value::Object(operator) => operator,
        Value::Array(_) => return Err(wrong(path, "an alternative cannot be a list")),
        exact => return Ok(Alternative::Exactly(exact.clone())),
    };
    let (Some((name, argument)), 1) = (operator.iter().next(), operator.len()) else {
        return Err(wrong(path, "an alternative has exactly one operator"));
    };
    match (name.as_str(), argument) {
        ("exists", Value::Bool(exists)) => Ok(Alternative::Exists(*exists)),
        ("numeric", Value::Array(bounds)) => numeric(bounds, path),
        ("anything-but", Value::Array(values)) if !values.is_empty() => {
            let plain = |value: &Value| match value {
                Value::String(_) | Value::Number(_) => Ok(Alternative::Exactly(value.clone())),
                _ => Err(wrong(path, "`anything-but` lists strings and numbers")),
            };
            Ok(Alternative::AnythingBut(values.iter().map(plain).collect::<Result<_, _>>()?))
        }
        ("anything-but", Value::Object(operator)) => {
            let (Some((name, argument)), 1) = (operator.iter().next(), operator.len()) else {
                return Err(wrong(path, "`anything-but` takes one operator"));
            };
            let arguments = argument.as_array().map_or_else(|| std::slice::from_ref(argument), Vec::as_slice);
            let unwanted = arguments.iter().map(|argument| text_operator(name, argument, path));
            Ok(Alternative::AnythingBut(unwanted.collect::<Result<_, _>>()?))
        }
        ("anything-but", exact @ (Value::String(_) | Value::Number(_))) => {
            Ok(Alternative::AnythingBut(vec![Alternative::Exactly(exact.clone())]))
        }
        (name, argument) => text_operator(name, argument, path),
    }
}

fn text_operator(name: &str, argument: &Value, path: &str) -> Result<Alternative, FilterError> {
    match (name, argument) {
        ("prefix", Value::String(prefix)) => Ok(Alternative::Prefix(prefix.clone())),
        ("suffix", Value::String(suffix)) => Ok(Alternative::Suffix(suffix.clone())),
        ("prefix" | "suffix", Value::Object(operator)) => {
            let text = operator.get("equals-ignore-case").and_then(Value::as_str).filter(|_| operator.len() == 1);
            let text = text.ok_or_else(|| wrong(path, &format!("`{name}` takes a string or `equals-ignore-case`")))?;
            let text = text.to_lowercase();
            Ok(if name == "prefix" { Alternative::PrefixIgnoreCase(text) } else { Alternative::SuffixIgnoreCase(text) })
        }
        ("cidr", Value::String(network)) => network
            .parse()
            .map(Alternative::Cidr)
            .map_err(|_| wrong(path, &format!("{network} is not an address range"))),
        ("equals-ignore-case", Value::String(text)) => Ok(Alternative::EqualsIgnoreCase(text.clone())),
        ("wildcard", Value::String(pattern)) => Ok(Alternative::Wildcard(pattern.clone())),
        (name, argument) => Err(wrong(path, &format!("operator `{name}` with `{argument}` is not supported"))),
    }
}

fn numeric(bounds: &[Value], path: &str) -> Result<Alternative, FilterError> {
    let pair = |pair: &[Value]| match pair {
        [Value::String(sign), Value::Number(bound)] => Comparison::parse(sign).zip(bound.as_f64()),
        _ => None,
    };
    let pairs: Option<Vec<_>> = bounds.chunks(2).map(pair).collect();
    match pairs {
        Some(pairs) if (1..=2).contains(&pairs.len()) => Ok(Alternative::Numeric(pairs)),
        _ => Err(wrong(path, "`numeric` takes one or two pairs of a comparison and a number")),
    }
}

/// `*` matches any run of characters, including none.
fn wildcard(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn wrong(path: &str, problem: &str) -> FilterError {
    FilterError { path: path.to_owned(), problem: problem.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn passes(pattern: &Value, record: &Value) -> bool {
        Filters::compile(std::slice::from_ref(pattern)).expect("a valid pattern").pass(record)
    }

    #[test]
    fn each_operator_matches_only_its_values() {
        let cases = [
            (json!(["a", "b"]), json!("b"), true),
            (json!(["a", "b"]), json!("c"), false),
            (json!([1]), json!(1.0), true),
            (json!([1]), json!("1"), false),
            (json!([true]), json!(true), true),
            (json!([null]), json!(null), true),
            (json!([null]), json!(""), false),
            (json!([""]), json!(""), true),
            (json!([""]), json!(null), false),
            (json!([{"prefix": "CLICK#"}]), json!("CLICK#2025"), true),
            (json!([{"prefix": "CLICK#"}]), json!("STAT#DAILY"), false),
            (json!([{"suffix": ".png"}]), json!("a.png"), true),
            (json!([{"suffix": ".png"}]), json!("a.jpg"), false),
            (json!([{"equals-ignore-case": "Alice"}]), json!("aLICE"), true),
            (json!([{"equals-ignore-case": "Alice"}]), json!("bob"), false),
            (json!([{"wildcard": "a*c*e"}]), json!("abcde"), true),
            (json!([{"wildcard": "a*c*e"}]), json!("abde"), false),
            (json!([{"wildcard": "abc"}]), json!("abcd"), false),
            (json!([{"anything-but": ["a", "b"]}]), json!("c"), true),
            (json!([{"anything-but": ["a", "b"]}]), json!("a"), false),
            (json!([{"anything-but": "a"}]), json!("a"), false),
            (json!([{"anything-but": {"prefix": "x"}}]), json!("abc"), true),
            (json!([{"anything-but": {"prefix": ["x", "a"]}}]), json!("abc"), false),
            (json!([{"numeric": ["=", 100]}]), json!(100), true),
            (json!([{"numeric": [">", 10, "<=", 20]}]), json!(20), true),
            (json!([{"numeric": [">", 10, "<=", 20]}]), json!(10), false),
            (json!([{"numeric": ["=", 100]}]), json!("100"), false),
            (json!([{"exists": true}]), json!("x"), true),
            (json!([{"exists": true}]), json!({"not": "a leaf"}), false),
            (json!([{"exists": false}]), json!("x"), false),
            (json!([{"prefix": "a"}, {"suffix": "z"}]), json!("xyz"), true),
            (json!(["a"]), json!(["b", "a"]), true),
            (json!([{"prefix": {"equals-ignore-case": "AB"}}]), json!("abc"), true),
            (json!([{"suffix": {"equals-ignore-case": ".PNG"}}]), json!("a.png"), true),
            (json!([{"cidr": "10.0.0.0/24"}]), json!("10.0.0.255"), true),
            (json!([{"cidr": "10.0.0.0/24"}]), json!("10.0.1.0"), false),
            (json!([{"cidr": "2001:db8::/32"}]), json!("2001:db8::1"), true),
        ];
        for (leaf, value, expected) in cases {
            let (pattern, record) = (json!({ "field": leaf }), json!({ "field": value }));
            assert_eq!(passes(&pattern, &record), expected, "{pattern} on {record}");
        }
    }

    #[test]
    fn a_missing_field_matches_only_its_absence() {
        assert!(passes(&json!({"a": {"b": [{"exists": false}]}}), &json!({})));
        assert!(!passes(&json!({"a": [{"anything-but": ["x"]}]}), &json!({})));
        assert!(!passes(&json!({"a": [null]}), &json!({})));
    }

    #[test]
    fn record_must_match_all_fields_of_any_filter_pattern() {
        let insert = json!({"eventName": ["INSERT"], "dynamodb": {"NewImage": {"k": {"S": [{"prefix": "A"}]}}}});
        let record = |name: &str, key: &str| json!({"eventName": name, "dynamodb": {"NewImage": {"k": {"S": key}}}});
        assert!(passes(&insert, &record("INSERT", "A1")));
        assert!(!passes(&insert, &record("INSERT", "B1")));
        assert!(!passes(&insert, &record("MODIFY", "A1")));
        let both = Filters::compile(&[insert, json!({"eventName": ["REMOVE"]})]).expect("valid");
        assert!(both.pass(&record("REMOVE", "B1")));
        assert!(!both.pass(&record("MODIFY", "A1")));
    }

    #[test]
    fn or_over_fields_needs_one_of_them() {
        let pattern = json!({"x": [1], "$or": [{"a": ["1"]}, {"b": ["2"]}]});
        assert!(passes(&pattern, &json!({"x": 1, "a": "0", "b": "2"})));
        assert!(!passes(&pattern, &json!({"x": 1, "a": "0", "b": "0"})));
        assert!(!passes(&pattern, &json!({"x": 2, "a": "1"})));
    }

    #[test]
    fn one_object_of_a_list_must_match_all_fields() {
        let pattern = json!({"a": {"x": [1], "y": [2]}});
        assert!(passes(&pattern, &json!({"a": [{"x": 0, "y": 2}, {"x": 1, "y": 2}]})));
        assert!(!passes(&pattern, &json!({"a": [{"x": 1, "y": 0}, {"x": 0, "y": 2}]})));
        assert!(passes(&json!({"a": {"x": [{"exists": false}]}}), &json!({"a": []})));
    }

    #[test]
    fn no_filters_let_everything_pass() {
        assert!(Filters::compile(&[]).expect("valid").pass(&json!({"eventName": "REMOVE"})));
    }

    #[test]
    fn an_unsupported_pattern_is_an_error_with_its_position() {
        let cases = [
            (json!({"a": {"b": [{"cidr": "10.0.0.0/80"}]}}), "a.b"),
            (json!({"a": "plain"}), "a"),
            (json!({"a": []}), "a"),
            (json!({"a": [{"numeric": ["~", 1]}]}), "a"),
            (json!({"a": [{"prefix": "x", "suffix": "y"}]}), "a"),
            (json!({"$or": [{"a": [1]}]}), "$or"),
            (json!([]), ""),
            (json!({}), ""),
        ];
        for (pattern, path) in cases {
            let error = Filters::compile(std::slice::from_ref(&pattern)).expect_err("refused");
            assert_eq!(error.path, path, "{pattern}: {error}");
        }
    }
}
