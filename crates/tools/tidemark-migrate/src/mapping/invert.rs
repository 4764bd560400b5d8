//! Reads a mapping backwards: the columns of a row from the key and the attributes of its item.
//! Each result is checked forwards: the row must become the item again.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::World;
use super::code::{Attribute, Code, Content, Conversion, Piece, Template};
use super::evaluate::Evaluation;
use super::table::{ItemSpec, Table};
use super::value::{self, Value};
use crate::item::{Key, item_hash};
use crate::row::{Cell, Columns, Row};
use crate::source::is_number;

/// The inverse of a table's items for one owner.
#[derive(Clone, Copy)]
pub(crate) struct Inverse<'i> {
    pub(crate) world: &'i World,
    pub(crate) table: &'i Table,
    /// The types of the table's columns in PostgreSQL.
    pub(crate) types: &'i BTreeMap<String, String>,
    pub(crate) owner: &'i str,
    pub(crate) of_owner: Option<&'i Row>,
}

impl Inverse<'_> {
    fn evaluation<'e>(&'e self, columns: &'e Columns, spec: &ItemSpec) -> Evaluation<'e> {
        let mut evaluation = Evaluation::of_table(self.world, self.table, columns);
        evaluation.owner = Some(self.owner);
        evaluation.of_owner = self.of_owner.map(|owner| (&*owner.table, &owner.columns));
        evaluation.begin(&spec.kind);
        evaluation
    }

    /// The key of the item that a row with these columns becomes.
    pub(crate) fn key_of(&self, columns: &Columns, spec: &ItemSpec) -> Option<Key> {
        self.world.key(&self.evaluation(columns, spec), &spec.key).ok()
    }

    /// The columns with which a row becomes an item with this key.
    pub(crate) fn with_key(&self, columns: &Columns, spec: &ItemSpec, key: &Key) -> Option<Columns> {
        let mut changed = columns.clone();
        for (template, text) in spec.key.iter().zip([&key.partition, &key.sort]) {
            changed = self.with_text(&changed, spec, template, text)?;
        }
        (self.key_of(&changed, spec).as_ref() == Some(key)).then_some(changed)
    }

    /// Whether a row with these columns becomes an item with this value of the attribute.
    pub(crate) fn has(
        &self,
        columns: &Columns,
        spec: &ItemSpec,
        attribute: &Attribute,
        value: Option<&AttributeValue>,
    ) -> bool {
        let made = self.evaluation(columns, spec).attributes(std::slice::from_ref(attribute));
        let wanted = value.map(|value| (attribute.name.clone(), value.clone())).into_iter().collect();
        made.is_ok_and(|made| item_hash(&made) == item_hash(&wanted))
    }

    /// The columns with which the row becomes an item with the same key and this value of the
    /// attribute; `None` if the mapping does not determine them.
    pub(crate) fn with_attribute(
        &self,
        columns: &Columns,
        spec: &ItemSpec,
        attribute: &Attribute,
        value: Option<&AttributeValue>,
    ) -> Option<Columns> {
        let Content::Template(template) = &attribute.content else { return None };
        let given = value.map_or(Value::Null, of_attribute);
        let changed = match template.0.as_slice() {
            [Piece::Code(code)] => {
                let mut changed = columns.clone();
                changed.extend(self.invert(columns, spec, code, given, &self.world.source_zone)?);
                changed
            }
            _ => self.with_text(columns, spec, template, &given.text()?)?,
        };
        let is_kept = self.key_of(columns, spec) == self.key_of(&changed, spec);
        (is_kept && self.has(&changed, spec, attribute, value)).then_some(changed)
    }

    fn with_text(&self, columns: &Columns, spec: &ItemSpec, template: &Template, text: &str) -> Option<Columns> {
        let mut changed = columns.clone();
        for (code, text) in pieces(template, text)? {
            let value = Value::Text(text.to_owned());
            changed.extend(self.invert(&changed, spec, code, value, &self.world.source_zone)?);
        }
        Some(changed)
    }

    /// The columns with which an expression has the value. `zone` is that of local times.
    fn invert(
        &self,
        columns: &Columns,
        spec: &ItemSpec,
        code: &Code,
        value: Value,
        zone: &TimeZone,
    ) -> Option<Columns> {
        match code {
            Code::Column(names) => {
                let (name, kind) = names.iter().find_map(|name| self.types.get_key_value(name))?;
                Some([(name.clone(), cell(kind, value, zone)?)].into())
            }
            Code::Named(place) => self.invert(columns, spec, &self.table.values.get(*place)?.1, value, zone),
            Code::Convert(conversion, input, arguments) => {
                let evaluation = self.evaluation(columns, spec);
                let arguments =
                    arguments.iter().map(|argument| evaluation.value(argument)).collect::<Result<Vec<_>, _>>();
                let (arguments, source_zone) = (arguments.ok()?, &self.world.source_zone);
                let named = arguments.first().and_then(Value::text).and_then(|name| TimeZone::get(&name).ok());
                let of_argument = named.unwrap_or_else(|| source_zone.clone());
                let (value, zone) = match conversion {
                    _ if value == Value::Null => (value, source_zone),
                    Conversion::Builtin(builtin) if builtin.name == "date" && !self.is_date(input) => {
                        // The time of day is lost. Noon is the same day in most other zones.
                        let noon = date(&value)?.at(12, 0, 0, 0).to_zoned(of_argument).ok()?;
                        (Value::Instant(noon.timestamp()), source_zone)
                    }
                    Conversion::Builtin(builtin) => (before(builtin.name, value, &arguments)?, &of_argument),
                    Conversion::Extension(place) => {
                        (self.world.extension.as_ref()?.invert(*place, &value, &arguments)?, source_zone)
                    }
                    Conversion::Required(_) | Conversion::Default | Conversion::OrReject(_) => (value, source_zone),
                };
                self.invert(columns, spec, input, value, zone)
            }
            Code::Fallback(left, right) => {
                let of_left = self.invert(columns, spec, left, value.clone(), zone);
                of_left.or_else(|| self.invert(columns, spec, right, value, zone))
            }
            // No column determines these. The check forwards says whether they have the value.
            Code::Constant(_) | Code::Owner | Code::OfOwner(_) | Code::AsOf | Code::Type | Code::Parameter(_) => {
                Some(Columns::new())
            }
            Code::Field(..) | Code::Compare(..) | Code::IsNull(_) => None,
            Code::Not(_) | Code::And(..) | Code::Or(..) => None,
        }
    }

    /// Whether an expression is a column of the type `date`.
    fn is_date(&self, code: &Code) -> bool {
        match code {
            Code::Column(names) => {
                names.iter().find_map(|name| self.types.get(name)).is_some_and(|kind| kind == "date")
            }
            Code::Named(place) => self.table.values.get(*place).is_some_and(|(_, code)| self.is_date(code)),
            Code::Convert(Conversion::Required(_) | Conversion::OrReject(_), input, _) => self.is_date(input),
            _ => false,
        }
    }
}

impl World {
    /// The owner whose items alone are in a partition; `None` if there is no such owner.
    pub(crate) fn owner_of_partition(&self, partition: &str) -> Option<String> {
        let kinds = self.mapping.owners.iter();
        let templates = kinds.flat_map(|kind| kind.partitions.iter());
        let owners = templates.filter_map(|template| match pieces(template, partition)?.as_slice() {
            [(Code::Owner, owner)] => Some((*owner).to_owned()),
            _ => None,
        });
        owners.into_iter().find(|owner| self.partitions(owner).iter().any(|own| own == partition))
    }
}

/// The texts of a template's placeholders. Two placeholders side by side cannot be told apart.
fn pieces<'t>(template: &'t Template, text: &'t str) -> Option<Vec<(&'t Code, &'t str)>> {
    let (mut rest, mut waiting, mut found) = (text, None, Vec::new());
    for piece in &template.0 {
        match (piece, waiting.take()) {
            (Piece::Text(literal), None) => rest = rest.strip_prefix(literal.as_str())?,
            (Piece::Text(literal), Some(code)) => {
                let (of_code, after) = rest.split_once(literal.as_str())?;
                found.push((code, of_code));
                rest = after;
            }
            (Piece::Code(code), None) => waiting = Some(code),
            (Piece::Code(_), Some(_)) => return None,
        }
    }
    match waiting {
        Some(code) => found.push((code, rest)),
        None if rest.is_empty() => {}
        None => return None,
    }
    Some(found)
}

/// A value that the conversion turns into this one; `None` if the conversion loses too much.
fn before(conversion: &str, value: Value, arguments: &[Value]) -> Option<Value> {
    Some(match (conversion, value) {
        ("text" | "number" | "zone" | "lower" | "trim" | "date", value) => value,
        ("one_of" | "not_empty" | "key_part", value) => value,
        ("upper", Value::Text(text)) => Value::Text(text.to_lowercase()),
        ("json" | "string_set" | "number_set", value) => Value::Json(json(&value.attribute()?)?),
        ("bytes", Value::Bytes(bytes)) => Value::Text(format!("\\x{}", crate::hex(&bytes))),
        ("instant" | "sortable", Value::Text(text)) => Value::Instant(text.parse().ok()?),
        ("instant" | "sortable", value @ Value::Instant(_)) => value,
        ("epoch", Value::Number(number)) => Value::Instant(Timestamp::from_second(number.parse().ok()?).ok()?),
        ("infinity", value) => {
            let is = |n: usize| arguments.get(n).is_some_and(|sentinel| instant(sentinel) == instant(&value));
            match (is(0), is(1)) {
                (true, _) => Value::Text("infinity".to_owned()),
                (_, true) => Value::Text("-infinity".to_owned()),
                _ => value,
            }
        }
        ("pad", Value::Text(text)) => Value::Number(value::number(&text)?),
        ("map", value) => {
            let (pairs, _) = arguments.as_chunks::<2>();
            pairs.iter().find(|[_, to]| to.text() == value.text()).map(|[from, _]| from.clone())?
        }
        _ => return None,
    })
}

/// The instant of a text, or else the text: two spellings of one instant are equal.
fn instant(value: &Value) -> Option<String> {
    let text = value.text()?;
    Some(text.parse::<Timestamp>().map_or(text, |at| at.to_string()))
}

fn date(value: &Value) -> Option<Date> {
    match value {
        Value::Date(date) => Some(*date),
        value => value.text()?.parse().ok(),
    }
}

fn of_attribute(attribute: &AttributeValue) -> Value {
    match attribute {
        AttributeValue::S(text) => Value::Text(text.clone()),
        AttributeValue::N(number) => Value::Number(number.clone()),
        AttributeValue::Bool(truth) => Value::Bool(*truth),
        AttributeValue::B(bytes) => Value::Bytes(bytes.as_ref().to_vec()),
        other => Value::Native(other.clone()),
    }
}

/// An attribute as JSON, with all digits of its numbers; `None` for bytes, which JSON does not
/// have.
fn json(attribute: &AttributeValue) -> Option<String> {
    let quoted = |text: &String| serde_json::to_string(text).ok();
    let list = |all: Option<Vec<String>>| all.map(|all| format!("[{}]", all.join(",")));
    match attribute {
        AttributeValue::S(text) => quoted(text),
        AttributeValue::N(number) => Some(number.clone()),
        AttributeValue::Bool(truth) => Some(truth.to_string()),
        AttributeValue::Null(_) => Some("null".to_owned()),
        AttributeValue::L(all) => list(all.iter().map(json).collect()),
        AttributeValue::M(all) => {
            let all: BTreeMap<_, _> = all.iter().collect();
            let members = all.into_iter().map(|(name, value)| Some(format!("{}:{}", quoted(name)?, json(value)?)));
            Some(format!("{{{}}}", members.collect::<Option<Vec<_>>>()?.join(",")))
        }
        AttributeValue::Ss(all) => list(all.iter().map(quoted).collect()),
        AttributeValue::Ns(all) => list(Some(all.clone())),
        _ => None,
    }
}

/// The cell of a column of this type; `zone` is that of local times.
pub(crate) fn cell(kind: &str, value: Value, zone: &TimeZone) -> Option<Cell> {
    let is_json = matches!(kind, "json" | "jsonb") || kind.ends_with("[]");
    Some(match value {
        Value::Null => Cell::Null,
        Value::Bool(truth) => Cell::Bool(truth),
        Value::Number(text) => Cell::Number(text),
        Value::Text(text) if is_number(kind) => Cell::Number(value::number(&text)?),
        Value::Text(text) => Cell::Text(text),
        Value::Bytes(bytes) => Cell::Text(format!("\\x{}", crate::hex(&bytes))),
        Value::Instant(at) => match kind {
            "timestamp without time zone" => Cell::Text(at.to_zoned(zone.clone()).datetime().to_string()),
            "date" => Cell::Text(at.to_zoned(zone.clone()).date().to_string()),
            _ => Cell::Text(at.to_string()),
        },
        Value::Date(date) => Cell::Text(date.to_string()),
        Value::Json(text) if is_json => serde_json::from_str(&text).ok()?,
        Value::Json(text) => Cell::Text(text),
        value @ Value::Native(_) => {
            let json = json(&value.attribute()?)?;
            if is_json { serde_json::from_str(&json).ok()? } else { Cell::Text(json) }
        }
    })
}
