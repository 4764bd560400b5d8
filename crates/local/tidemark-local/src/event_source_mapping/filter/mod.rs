//! EventBridge's pattern language, for rules, filter criteria of event source mappings, and filter
//! policies of topics.
//!
//! Source:
//! <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html>. A
//! pattern has the structure of the event; its leaves are lists of alternatives. All fields of a
//! pattern must match.

mod parse;
#[cfg(test)]
mod tests;
mod wildcard;

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use self::parse::{fields_pattern, wrong};
use self::wildcard::Wildcard;

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
    Wildcard(Wildcard),
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
                (name, value) => pattern.matches_field(name, value),
            }),
            Self::Any(patterns) => patterns.iter().any(|pattern| pattern.matches(value)),
            Self::Leaf(alternatives) => alternatives.iter().any(|alternative| alternative.matches(value)),
        }
    }

    /// Whether the field of this name matches. A name with dots is also a path of names.
    fn matches_field(&self, name: &str, value: Option<&Value>) -> bool {
        let field = |name: &str| value.and_then(|value| value.get(name));
        let split = |(at, _): (usize, &str)| Some((field(&name[..at])?, &name[at + 1..]));
        match (field(name), name.match_indices('.').find_map(split)) {
            (None, Some((Value::Array(items), rest))) => items.iter().any(|item| self.matches_field(rest, Some(item))),
            (None, Some((inner, rest))) => self.matches_field(rest, Some(inner)),
            (found, _) => self.matches(found),
        }
    }
}

impl Alternative {
    /// Whether a leaf matches. As in EventBridge, alternatives (also `exists`) match leaves only:
    /// neither objects, nor lists without other items.
    fn matches(&self, value: Option<&Value>) -> bool {
        let has_leaf = |test: &dyn Fn(&Value) -> bool| value.is_some_and(|value| any_leaf(value, test));
        match self {
            Self::Exists(wanted) => *wanted == has_leaf(&|_| true),
            alternative => has_leaf(&|leaf| alternative.matches_leaf(leaf)),
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
            (Self::Wildcard(pattern), Value::String(value)) => pattern.matches(value),
            (Self::Numeric(bounds), Value::Number(value)) => value
                .as_f64()
                .is_some_and(|value| bounds.iter().all(|(comparison, bound)| comparison.holds(value, *bound))),
            (Self::AnythingBut(unwanted), value) => !unwanted.iter().any(|unwanted| unwanted.matches_leaf(value)),
            (Self::Exists(wanted), _) => *wanted,
            _ => false,
        }
    }
}

/// Whether a test holds for the value, or for a value within its lists. Objects are skipped.
fn any_leaf(value: &Value, test: &dyn Fn(&Value) -> bool) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(items) => items.iter().any(|item| any_leaf(item, test)),
        leaf => test(leaf),
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
