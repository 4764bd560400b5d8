//! The conversions that every mapping can use: `column | conversion(arguments)`.

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use sha2::{Digest, Sha256};

use super::value::{self, Value};
use crate::reject::{Reason, Reject};

/// A conversion: its name, how many arguments it takes, and what it does with a value that is not
/// null. The table in docs/mapping.md describes each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    /// The least and the greatest number of arguments.
    pub(crate) arguments: (usize, usize),
    pub(crate) convert: fn(&Value, &[Value], &TimeZone) -> Result<Value, Reject>,
}

const MANY: usize = usize::MAX;

macro_rules! builtins {
    ($($name:ident $arguments:expr => $convert:expr;)*) => {
        &[$(Builtin { name: stringify!($name), arguments: $arguments, convert: $convert },)*]
    };
}

/// The conversions of texts, numbers, times and bytes.
pub(crate) const BUILTINS: &[Builtin] = builtins! {
    text (0, 0) => |input, _, _| Ok(Value::Text(text(input)?));
    number (0, 0) => |input, _, _| number(input);
    json (0, 0) => |input, _, _| json(input);
    bytes (0, 0) => |input, _, _| bytes(input);
    string_set (0, 0) => |input, _, _| set(input, false);
    number_set (0, 0) => |input, _, _| set(input, true);
    instant (0, 1) => |input, arguments, zone| instant(input, arguments, zone).map(Value::Instant);
    sortable (0, 1) => |input, arguments, zone| Ok(Value::Text(sortable(instant(input, arguments, zone)?)));
    epoch (0, 1) => |input, arguments, zone| Ok(Value::Number(instant(input, arguments, zone)?.as_second().to_string()));
    date (0, 1) => |input, arguments, zone| date(input, arguments, zone);
    zone (0, 0) => |input, _, _| Ok(zone_name(&text(input)?).map_or(Value::Null, Value::Text));
    lower (0, 0) => |input, _, _| Ok(Value::Text(text(input)?.to_lowercase()));
    upper (0, 0) => |input, _, _| Ok(Value::Text(text(input)?.to_uppercase()));
    trim (0, 0) => |input, _, _| Ok(Value::Text(text(input)?.trim().to_owned()));
    pad (1, 1) => |input, arguments, _| pad(input, arguments);
    length (0, 0) => |input, _, _| Ok(Value::Number(text(input)?.chars().count().to_string()));
    prefix (1, 1) => |input, arguments, _| Ok(Value::Text(text(input)?.chars().take(count(&arguments[0])?).collect()));
    sha256 (0, 0) => |input, _, _| Ok(Value::Text(sha256(input)?));
    shard (1, 1) => |input, arguments, _| shard(input, arguments);
    get (1, 1) => |input, arguments, _| get(input, arguments);
    map (2, MANY) => |input, arguments, _| map(input, arguments);
    one_of (1, MANY) => |input, arguments, _| one_of(input, arguments);
    not_empty (0, 0) => |input, _, _| Ok(if text(input)?.trim().is_empty() { Value::Null } else { input.clone() });
    infinity (1, 2) => |input, arguments, _| Ok(infinity(input, arguments));
    key_part (0, 0) => |input, _, _| key_part(input);
};

pub(crate) fn builtin(name: &str) -> Option<Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name).copied()
}

fn invalid(detail: impl Into<String>) -> Reject {
    Reject::because(Reason::INVALID_VALUE, detail)
}

fn text(input: &Value) -> Result<String, Reject> {
    input.text().ok_or_else(|| invalid(format!("{} has no text", input.kind())))
}

fn count(argument: &Value) -> Result<usize, Reject> {
    let number = if let Value::Number(number) = argument { number.parse().ok() } else { None };
    number.ok_or_else(|| invalid("expected a whole number as the argument"))
}

fn number(input: &Value) -> Result<Value, Reject> {
    let text = text(input)?;
    let number = value::number(text.trim());
    let number = number.ok_or_else(|| {
        Reject::because(Reason::UNREADABLE_NUMBER, "it is not a number with at most 38 digits that DynamoDB stores")
    });
    number.map(Value::Number)
}

fn unreadable_json() -> Reject {
    Reject::because(Reason::UNREADABLE_JSON, "it is not JSON that DynamoDB stores")
}

fn json(input: &Value) -> Result<Value, Reject> {
    match input {
        Value::Json(text) | Value::Text(text) => value::of_json(text).map(Value::Native).ok_or_else(unreadable_json),
        Value::Number(_) | Value::Bool(_) | Value::Native(_) => Ok(input.clone()),
        other => Err(invalid(format!("{} is not JSON", other.kind()))),
    }
}

/// PostgreSQL's hexadecimal form of `bytea`.
fn bytes(input: &Value) -> Result<Value, Reject> {
    let text = text(input)?;
    let unreadable = || Reject::because(Reason::UNREADABLE_BYTES, "it is not bytea in the form \\x...");
    let digits = text.strip_prefix("\\x").ok_or_else(unreadable)?;
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return Err(unreadable());
    }
    let byte = |n: usize| u8::from_str_radix(&digits[n..n + 2], 16).map_err(|_| unreadable());
    (0..digits.len()).step_by(2).map(byte).collect::<Result<_, _>>().map(Value::Bytes)
}

/// A set of the members of a JSON array; nulls are left out.
fn set(input: &Value, of_numbers: bool) -> Result<Value, Reject> {
    let Value::Native(AttributeValue::L(all)) = json(input)? else {
        return Err(invalid("a set is made of an array"));
    };
    let mut members = Vec::new();
    for member in all {
        members.push(match (member, of_numbers) {
            (AttributeValue::Null(_), _) => continue,
            (AttributeValue::S(text), false) | (AttributeValue::N(text), _) => text,
            _ => return Err(invalid("a member of the array is of another type")),
        });
    }
    members.sort();
    members.dedup();
    Ok(Value::Native(if of_numbers { AttributeValue::Ns(members) } else { AttributeValue::Ss(members) }))
}

/// The zone of an argument, or the default.
fn zone(arguments: &[Value], default: &TimeZone) -> Result<TimeZone, Reject> {
    let Some(argument) = arguments.first() else { return Ok(default.clone()) };
    let name = text(argument)?;
    TimeZone::get(&name).map_err(|_| Reject::because(Reason::UNKNOWN_VALUE, format!("{name:?} is not a time zone")))
}

/// The name of a time zone as the IANA database writes it.
fn zone_name(text: &str) -> Option<String> {
    TimeZone::get(text.trim()).ok()?.iana_name().map(str::to_owned)
}

/// A time as an instant. A time without an offset is a local time in the zone: of two possible
/// instants the first, and in a gap moved forward by the length of the gap.
fn instant(input: &Value, arguments: &[Value], source_zone: &TimeZone) -> Result<Timestamp, Reject> {
    let unreadable = |why: String| Reject::because(Reason::UNREADABLE_TIME, why);
    let text = match input {
        Value::Instant(at) => return Ok(*at),
        Value::Date(date) => date.to_string(),
        other => text(other)?,
    };
    if text.trim_start_matches('-') == "infinity" {
        return Err(unreadable(format!("{text} is not a moment")));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let local: DateTime = text.parse().map_err(|_| unreadable(format!("{text:?} is not a readable time")))?;
    let zone = zone(arguments, source_zone)?;
    zone.to_timestamp(local).map_err(|_| unreadable(format!("{text:?} is not a readable time")))
}

/// A time with six digits, so that texts are sorted as times are.
fn sortable(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// The day of an instant in a zone; a text of a day alone is that day.
fn date(input: &Value, arguments: &[Value], source_zone: &TimeZone) -> Result<Value, Reject> {
    if let Value::Date(_) = input {
        return Ok(input.clone());
    }
    if let Value::Text(text) = input
        && text.len() == 10
        && let Ok(date) = text.parse::<Date>()
    {
        return Ok(Value::Date(date));
    }
    let at = instant(input, &[], source_zone)?;
    Ok(Value::Date(at.to_zoned(zone(arguments, source_zone)?).date()))
}

/// A whole number with zeros before it. Negative numbers would not be sorted as numbers are.
fn pad(input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
    let (text, width) = (text(input)?, count(&arguments[0])?);
    if !text.bytes().all(|byte| byte.is_ascii_digit()) || text.len() > width {
        return Err(invalid(format!("it is not a whole number of at most {width} digits")));
    }
    Ok(Value::Text(format!("{text:0>width$}")))
}

fn sha256(input: &Value) -> Result<String, Reject> {
    let digest = match input {
        Value::Bytes(bytes) => Sha256::digest(bytes),
        other => Sha256::digest(text(other)?.as_bytes()),
    };
    Ok(crate::hex(&digest))
}

/// One of some numbers, by the hash: the first two bytes of SHA-256 modulo the argument.
fn shard(input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
    let (hash, shards) = (Sha256::digest(text(input)?.as_bytes()), count(&arguments[0])?);
    let number = usize::from(u16::from_be_bytes([hash[0], hash[1]]));
    let shard = number.checked_rem(shards).ok_or_else(|| invalid("there are no shards"))?;
    Ok(Value::Number(shard.to_string()))
}

/// The member at a JSON pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)).
fn get(input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
    let pointer = text(&arguments[0])?;
    let mut found = match json(input)? {
        Value::Native(value) => value,
        _ => return Err(unreadable_json()),
    };
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        let next = match &mut found {
            AttributeValue::M(map) => map.remove(&name),
            AttributeValue::L(list) => {
                let place = name.parse().ok().filter(|place: &usize| *place < list.len());
                place.map(|place| list.swap_remove(place))
            }
            _ => None,
        };
        let Some(next) = next else { return Ok(Value::Null) };
        found = next;
    }
    Ok(match found {
        AttributeValue::S(text) => Value::Text(text),
        AttributeValue::N(number) => Value::Number(number),
        AttributeValue::Bool(truth) => Value::Bool(truth),
        AttributeValue::Null(_) => Value::Null,
        other => Value::Native(other),
    })
}

fn unknown(input: &Value) -> Reject {
    Reject::because(Reason::UNKNOWN_VALUE, input.text().unwrap_or_else(|| input.kind().to_owned()))
}

/// `map('from', 'to', 'from', 'to')`; a last argument alone is for all other values.
fn map(input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
    let text = text(input)?;
    let (pairs, rest) = arguments.as_chunks::<2>();
    let found = pairs.iter().find(|[from, _]| from.text().as_deref() == Some(&text)).map(|[_, to]| to);
    found.or_else(|| rest.first()).cloned().ok_or_else(|| unknown(input))
}

fn one_of(input: &Value, arguments: &[Value]) -> Result<Value, Reject> {
    let text = text(input)?;
    let is_listed = arguments.iter().any(|argument| argument.text().as_deref() == Some(&text));
    if is_listed { Ok(input.clone()) } else { Err(unknown(input)) }
}

/// A sentinel in place of `infinity`, and another one in place of `-infinity`.
fn infinity(input: &Value, arguments: &[Value]) -> Value {
    let sentinel = match input.text().as_deref() {
        Some("infinity") => arguments.first(),
        Some("-infinity") => arguments.get(1),
        _ => None,
    };
    sentinel.unwrap_or(input).clone()
}

/// The most characters of a part of a key.
const KEY_PART_CHARS_MAX: usize = 128;

/// A text that may stand between the separators of a key.
fn key_part(input: &Value) -> Result<Value, Reject> {
    let text = text(input)?;
    let invalid = |why: &str| Err(Reject::because(Reason::INVALID_ID, why));
    if text.is_empty() {
        return invalid("it is empty");
    }
    if text.chars().nth(KEY_PART_CHARS_MAX).is_some() {
        return invalid("it has more than 128 characters");
    }
    if text.contains('#') || text.chars().any(char::is_control) {
        return invalid("it has a # or a control character");
    }
    Ok(input.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(name: &str, input: Value, arguments: &[Value]) -> Result<Value, String> {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let converted = (builtin(name).unwrap().convert)(&input, arguments, &zone);
        converted.map_err(|reject| reject.reason.to_string())
    }

    fn of(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn n(number: &str) -> Value {
        Value::Number(number.to_owned())
    }

    #[test]
    fn instant_is_read_with_its_offset_or_given_zone() {
        let at = |text: &str, zone: &[Value]| convert("instant", of(text), zone).map(|at| at.text().unwrap());
        let zone = |name| [of(name)];
        for (text, name, expected) in [
            ("2025-08-30T10:00:00.123456+00:00", "Asia/Tokyo", "2025-08-30T10:00:00.123456Z"),
            ("2025-08-30T10:00:00", "UTC", "2025-08-30T10:00:00Z"),
            ("2025-08-30T10:00:00", "Asia/Tokyo", "2025-08-30T01:00:00Z"),
            ("1900-01-01T00:00:00", "UTC", "1900-01-01T00:00:00Z"),
            // The gap in spring, and the repeated hour in autumn.
            ("2025-03-30T02:30:00", "Europe/Berlin", "2025-03-30T01:30:00Z"),
            ("2025-10-26T02:30:00", "Europe/Berlin", "2025-10-26T00:30:00Z"),
        ] {
            assert_eq!(at(text, &zone(name)).unwrap(), expected, "{text}");
        }
        assert_eq!(at("2025-08-30T10:00:00", &[]).unwrap(), "2025-08-30T08:00:00Z");
        for text in ["-infinity", "0044-03-15T00:00:00 BC", "12026-01-01T00:00:00", "", "2025-02-30T00:00:00", "soon"] {
            assert_eq!(at(text, &[]), Err("unreadable-time".to_owned()), "{text}");
        }
        assert_eq!(at("2025-08-30T10:00:00", &zone("Moon/Base")), Err("unknown-value".to_owned()));
    }

    #[test]
    fn the_day_of_an_instant_depends_on_the_zone() {
        let date = |text: &str, zone| convert("date", of(text), &[of(zone)]).unwrap().text().unwrap();
        assert_eq!(date("2024-03-01T15:00:00Z", "Asia/Tokyo"), "2024-03-02");
        assert_eq!(date("2024-03-01T15:00:00Z", "UTC"), "2024-03-01");
        assert_eq!(date("2024-03-01", "Asia/Tokyo"), "2024-03-01");
        let fixed = convert("sortable", of("2025-08-30T10:00:00Z"), &[]).unwrap();
        assert_eq!(fixed, of("2025-08-30T10:00:00.000000Z"));
    }

    #[test]
    fn each_conversion_takes_what_it_can_and_refuses_the_rest() {
        for (name, input, arguments, expected) in [
            ("number", of(" 1.50 "), vec![], Ok(n("1.5"))),
            ("number", of("x"), vec![], Err("unreadable-number")),
            ("bytes", of("\\x00ff"), vec![], Ok(Value::Bytes(vec![0, 255]))),
            ("bytes", of("\\xzz"), vec![], Err("unreadable-bytes")),
            ("bytes", of("\\xé"), vec![], Err("unreadable-bytes")),
            ("pad", n("42"), vec![n("5")], Ok(of("00042"))),
            ("pad", n("-42"), vec![n("5")], Err("invalid-value")),
            ("pad", n("123456"), vec![n("5")], Err("invalid-value")),
            ("prefix", of("🌊🌊🌊"), vec![n("2")], Ok(of("🌊🌊"))),
            ("map", of("a"), vec![of("a"), of("A"), of("b"), of("B")], Ok(of("A"))),
            ("map", of("c"), vec![of("a"), of("A")], Err("unknown-value")),
            ("map", of("c"), vec![of("a"), of("A"), of("?")], Ok(of("?"))),
            ("one_of", of("web"), vec![of("ios"), of("web")], Ok(of("web"))),
            ("one_of", of("tv"), vec![of("web")], Err("unknown-value")),
            ("not_empty", of("  "), vec![], Ok(Value::Null)),
            ("infinity", of("infinity"), vec![of("9999-12-31")], Ok(of("9999-12-31"))),
            ("infinity", of("-infinity"), vec![of("9999-12-31"), of("0001-01-01")], Ok(of("0001-01-01"))),
            ("infinity", of("2025-01-01"), vec![of("9999-12-31")], Ok(of("2025-01-01"))),
            ("zone", of(" asia/tokyo"), vec![], Ok(of("Asia/Tokyo"))),
            ("zone", of("Moon/Base"), vec![], Ok(Value::Null)),
            ("key_part", of("a#b"), vec![], Err("invalid-id")),
            ("key_part", of(""), vec![], Err("invalid-id")),
            ("get", Value::Json(r#"{"a":[{"b/c":1.0}]}"#.to_owned()), vec![of("/a/0/b~1c")], Ok(n("1"))),
            ("get", Value::Json("{}".to_owned()), vec![of("/a")], Ok(Value::Null)),
            ("shard", of("user-1"), vec![n("0")], Err("invalid-value")),
        ] {
            let found = convert(name, input.clone(), &arguments);
            assert_eq!(found, expected.map_err(str::to_owned), "{name} {input:?}");
        }
        let set = convert("string_set", Value::Json(r#"["b","a","b",null]"#.to_owned()), &[]).unwrap();
        assert_eq!(set, Value::Native(AttributeValue::Ss(vec!["a".to_owned(), "b".to_owned()])));
        let empty = convert("number_set", Value::Json("[]".to_owned()), &[]).unwrap();
        assert_eq!(empty.attribute(), None);
    }
}
