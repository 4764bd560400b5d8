//! Reads patterns, and refuses those that EventBridge refuses.

use serde_json::{Map, Value};

use super::wildcard::Wildcard;
use super::{Alternative, Comparison, FilterError, Pattern};

/// The limit of numbers in a pattern, on both sides of 0.
const NUMBER_MAX: f64 = 5.0e9;

pub(super) fn fields_pattern(fields: &Map<String, Value>, path: &str) -> Result<Pattern, FilterError> {
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
            if arguments.is_empty() || arguments.iter().any(|argument| argument == "") {
                return Err(wrong(path, &format!("`{name}` within `anything-but` takes texts that are not empty")));
            }
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
        ("wildcard", Value::String(pattern)) => {
            Wildcard::parse(pattern).map(Alternative::Wildcard).map_err(|problem| wrong(path, problem))
        }
        (name, argument) => Err(wrong(path, &format!("operator `{name}` with `{argument}` is not supported"))),
    }
}

fn numeric(bounds: &[Value], path: &str) -> Result<Alternative, FilterError> {
    let pair = |pair: &[Value]| match pair {
        [Value::String(sign), Value::Number(bound)] => Comparison::parse(sign).zip(bound.as_f64()),
        _ => None,
    };
    let pairs: Vec<_> = bounds.chunks(2).map_while(pair).collect();
    let is_range = match pairs.as_slice() {
        [_] => true,
        [(low_sign, low), (high_sign, high)] => {
            matches!(low_sign, Comparison::Greater | Comparison::GreaterOrEqual)
                && matches!(high_sign, Comparison::Less | Comparison::LessOrEqual)
                && low < high
        }
        _ => false,
    };
    if !is_range || pairs.len() * 2 != bounds.len() {
        return Err(wrong(path, "`numeric` takes a comparison and a number, or a lower and then an upper bound"));
    }
    if pairs.iter().any(|(_, bound)| bound.abs() > NUMBER_MAX) {
        return Err(wrong(path, "a number must be between -5.0e9 and 5.0e9"));
    }
    Ok(Alternative::Numeric(pairs))
}

pub(super) fn wrong(path: &str, problem: &str) -> FilterError {
    FilterError { path: path.to_owned(), problem: problem.to_owned() }
}
