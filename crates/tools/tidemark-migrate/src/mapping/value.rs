//! The values of expressions, and how they become attributes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use jiff::civil::Date;
use serde_json::value::RawValue;

use crate::row::Cell;

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// No value: the attribute is left out.
    Null,
    /// `BOOL`
    Bool(bool),
    /// `N`, as [`number`] writes it.
    Number(String),
    /// `S`
    Text(String),
    /// `B`
    Bytes(Vec<u8>),
    /// `S`: RFC 3339 in UTC.
    Instant(Timestamp),
    /// `S`: `2025-08-30`.
    Date(Date),
    /// The JSON of a column.
    Json(String),
    /// A list, map or set.
    Native(AttributeValue),
}

impl Value {
    /// The value of a column. A number outside of DynamoDB's range stays a text.
    pub(crate) fn of_cell(cell: &Cell) -> Self {
        match cell {
            Cell::Null => Self::Null,
            Cell::Bool(truth) => Self::Bool(*truth),
            Cell::Number(text) => number(text).map_or_else(|| Self::Text(text.clone()), Self::Number),
            Cell::Text(text) => Self::Text(text.clone()),
            Cell::Json(json) => Self::Json(json.clone()),
        }
    }

    /// The value in a text; `None` for null, and for values that have no text.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Null | Self::Bytes(_) | Self::Native(_) => None,
            Self::Bool(truth) => Some(truth.to_string()),
            Self::Number(text) | Self::Text(text) | Self::Json(text) => Some(text.clone()),
            Self::Instant(at) => Some(at.to_string()),
            Self::Date(date) => Some(date.to_string()),
        }
    }

    /// The attribute; `None` for null and for empty sets, which DynamoDB does not store.
    pub fn attribute(self) -> Option<AttributeValue> {
        Some(match self {
            Self::Null => return None,
            Self::Bool(truth) => AttributeValue::Bool(truth),
            Self::Number(number) => AttributeValue::N(number),
            Self::Text(text) | Self::Json(text) => AttributeValue::S(text),
            Self::Bytes(bytes) => AttributeValue::B(Blob::new(bytes)),
            Self::Instant(at) => AttributeValue::S(at.to_string()),
            Self::Date(date) => AttributeValue::S(date.to_string()),
            Self::Native(AttributeValue::Ss(texts)) if texts.is_empty() => return None,
            Self::Native(AttributeValue::Ns(numbers)) if numbers.is_empty() => return None,
            Self::Native(value) => value,
        })
    }

    /// What kind of value it is, for error messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::Bytes(_) => "bytes",
            Self::Instant(_) => "an instant",
            Self::Date(_) => "a date",
            Self::Json(_) => "JSON",
            Self::Native(_) => "a list, map or set",
        }
    }

    /// Compares two values of one kind; `None` if they are of different kinds.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(one), Self::Bool(other)) => Some(one.cmp(other)),
            (Self::Number(one), Self::Number(other)) => Some(compare_numbers(one, other)),
            (Self::Text(one) | Self::Json(one), Self::Text(other) | Self::Json(other)) => Some(one.cmp(other)),
            (Self::Bytes(one), Self::Bytes(other)) => Some(one.cmp(other)),
            (Self::Instant(one), Self::Instant(other)) => Some(one.cmp(other)),
            (Self::Date(one), Self::Date(other)) => Some(one.cmp(other)),
            _ => None,
        }
    }
}

/// [The most significant digits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-data-types)
/// of a number.
const DIGITS_MAX: usize = 38;

/// The largest power of ten of a number's first digit, and the smallest one.
const EXPONENTS: std::ops::RangeInclusive<i64> = -130..=125;

/// The sign, the significant digits without zeros at either end, and the power of ten of the first
/// digit.
fn parts(text: &str) -> Option<(bool, String, i64)> {
    let (is_negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let exponent: i64 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && fraction.is_empty()) || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let all = format!("{whole}{fraction}");
    let zeros = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0').to_owned();
    if digits.is_empty() {
        return Some((false, digits, 0));
    }
    let first = i64::try_from(whole.len()).ok()? - 1 - i64::try_from(zeros).ok()? + exponent;
    Some((is_negative, digits, first))
}

/// A number as DynamoDB stores it: without zeros at the ends. `None` if the text is not a number,
/// or has more than 38 digits or another magnitude than DynamoDB's.
pub fn number(text: &str) -> Option<String> {
    let (is_negative, digits, first) = parts(text)?;
    if digits.is_empty() {
        return Some("0".to_owned());
    }
    if digits.len() > DIGITS_MAX || !EXPONENTS.contains(&first) {
        return None;
    }
    let sign = if is_negative { "-" } else { "" };
    let count = i64::try_from(digits.len()).ok()?;
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or_default());
    Some(if first < 0 {
        format!("{sign}0.{}{digits}", zeros(-first - 1))
    } else if first + 1 >= count {
        format!("{sign}{digits}{}", zeros(first + 1 - count))
    } else {
        let (whole, fraction) = digits.split_at(usize::try_from(first + 1).ok()?);
        format!("{sign}{whole}.{fraction}")
    })
}

pub(crate) fn compare_numbers(one: &str, other: &str) -> Ordering {
    let (Some(one), Some(other)) = (parts(one), parts(other)) else { return one.cmp(other) };
    let sign = |(is_negative, digits, _): &(bool, String, i64)| match (is_negative, digits.is_empty()) {
        (_, true) => 0,
        (true, _) => -1,
        (false, _) => 1,
    };
    let by_size = |one: &(bool, String, i64), other: &(bool, String, i64)| (one.2, &one.1).cmp(&(other.2, &other.1));
    match (sign(&one), sign(&other)) {
        (1, 1) => by_size(&one, &other),
        (-1, -1) => by_size(&other, &one),
        (one, other) => one.cmp(&other),
    }
}

/// Nested more deeply than [DynamoDB
/// allows](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-attributes).
const DEPTH_MAX: usize = 32;

/// JSON as an attribute: objects as maps, arrays as lists. `None` if the text is not JSON, has a
/// number that DynamoDB does not store, or is nested too deeply.
pub(crate) fn of_json(json: &str) -> Option<AttributeValue> {
    native(json.trim(), 0)
}

fn native(json: &str, depth: usize) -> Option<AttributeValue> {
    if depth > DEPTH_MAX {
        return None;
    }
    Some(match json.as_bytes().first()? {
        b'{' => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
            // DynamoDB takes no attribute without a name.
            if members.contains_key("") {
                return None;
            }
            let members = members.into_iter().map(|(name, raw)| Some((name, native(raw.get(), depth + 1)?)));
            AttributeValue::M(members.collect::<Option<HashMap<_, _>>>()?)
        }
        b'[' => {
            let all: Vec<&RawValue> = serde_json::from_str(json).ok()?;
            AttributeValue::L(all.into_iter().map(|raw| native(raw.get(), depth + 1)).collect::<Option<_>>()?)
        }
        b'"' => AttributeValue::S(serde_json::from_str(json).ok()?),
        _ => match serde_json::from_str::<serde_json::Value>(json).ok()? {
            serde_json::Value::Null => AttributeValue::Null(true),
            serde_json::Value::Bool(truth) => AttributeValue::Bool(truth),
            _ => AttributeValue::N(number(json)?),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lose_no_digit_and_have_one_spelling() {
        for (text, expected) in [
            ("0", Some("0")),
            ("-0.000", Some("0")),
            ("0012.3400", Some("12.34")),
            ("1200", Some("1200")),
            ("-0.00012", Some("-0.00012")),
            ("1.5e3", Some("1500")),
            ("15E-4", Some("0.0015")),
            ("9223372036854775807", Some("9223372036854775807")),
            ("12345678901234567890123456789012345678", Some("12345678901234567890123456789012345678")),
            ("123456789012345678901234567890123456789", None),
            ("1e126", None),
            ("1e-131", None),
            ("NaN", None),
            ("1.2.3", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(number(text).as_deref(), expected, "{text}");
        }
        let long = number("1e125").unwrap();
        assert_eq!((long.len(), number(&long).unwrap()), (126, long.clone()));
    }

    #[test]
    fn numbers_are_compared_by_value() {
        let sorted = ["-1e20", "-12", "-2", "-0.5", "0", "0.001", "0.01", "2", "10", "10.5", "1e3"];
        for (n, one) in sorted.iter().enumerate() {
            for (m, other) in sorted.iter().enumerate() {
                assert_eq!(compare_numbers(one, other), n.cmp(&m), "{one} {other}");
            }
        }
        assert_eq!(compare_numbers("1.50", "1.5"), Ordering::Equal);
    }

    #[test]
    fn json_becomes_maps_and_lists_with_all_digits() {
        let value = of_json(r#" {"a":[1.10,null,"x"],"b":{"c":true}}"#).unwrap();
        let map = value.as_m().unwrap();
        let list = map["a"].as_l().unwrap();
        assert_eq!(list[0], AttributeValue::N("1.1".to_owned()));
        assert_eq!(list[1], AttributeValue::Null(true));
        assert_eq!(map["b"].as_m().unwrap()["c"], AttributeValue::Bool(true));
        for text in ["{", "1e999", "", "nul", r#"{"a":[{"":1}]}"#, &"[".repeat(50)] {
            assert_eq!(of_json(text), None, "{text}");
        }
    }
}
