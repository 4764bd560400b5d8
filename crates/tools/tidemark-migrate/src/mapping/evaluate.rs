//! Evaluates checked expressions over a row.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use secrecy::SecretString;
use store_base::StoreError;

use super::Mapping;
use super::code::{Attribute, Code, Comparison, Content, Conversion, Piece, Template};
use super::table::{Join, Table};
use super::value::Value;
use crate::item::Key;
use crate::reject::{Reason, Reject};
use crate::row::{Cell, Columns};

/// The name of a conversion of an extension, and the least and greatest number of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The name in the mapping.
    pub name: &'static str,
    /// The least and the greatest number of arguments.
    pub arguments: (usize, usize),
}

/// What a mapping cannot say.
pub trait Extension: fmt::Debug + Send + Sync {
    /// Converts a value that is not null. `conversion` is the place of its [`Signature`].
    fn convert(&self, conversion: usize, input: &Value, arguments: &[Value]) -> Result<Value, Reject>;

    /// A value that [`Extension::convert`] turns into `output`, for the way back to PostgreSQL;
    /// `None` if there is none.
    fn invert(&self, _conversion: usize, _output: &Value, _arguments: &[Value]) -> Option<Value> {
        None
    }

    /// Called before items of an owner are written during a cutover. Items that the application
    /// derives from these, such as a summary, are outdated then.
    fn before_write<'a>(&'a self, _table: &'a store_base::Table, _owner: &'a str, _keys: &'a [Key]) -> Writing<'a> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// The result of [`Extension::before_write`].
pub type Writing<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

/// The parameters of a run.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// Zones by name.
    pub texts: BTreeMap<String, String>,
    /// Secrets by name; those that were left out are missing.
    pub secrets: BTreeMap<String, SecretString>,
}

/// Everything besides the rows that determines the items.
#[derive(Debug, Clone)]
pub struct World {
    /// The mapping.
    pub mapping: Arc<Mapping>,
    /// The conversions that the mapping lacks.
    pub extension: Option<Arc<dyn Extension>>,
    /// The run's id, which each item carries.
    pub run: String,
    /// When the rows were read.
    pub as_of: Timestamp,
    /// The zone of times without an offset.
    pub source_zone: TimeZone,
    /// The parameters of the mapping.
    pub parameters: Parameters,
    /// The columns of the types `json` and `jsonb`, by table: a text in them is a JSON string.
    pub json_columns: JsonColumns,
}

impl World {
    /// A world whose columns are not known yet.
    pub fn new(
        mapping: Arc<Mapping>,
        extension: Option<Arc<dyn Extension>>,
        (run, as_of): (&str, Timestamp),
        source_zone: TimeZone,
        parameters: Parameters,
    ) -> Self {
        let (run, json_columns) = (run.to_owned(), JsonColumns::new());
        Self { mapping, extension, run, as_of, source_zone, parameters, json_columns }
    }
}

/// Columns by table, by PostgreSQL's names.
pub type JsonColumns = BTreeMap<String, BTreeSet<String>>;

/// A row under evaluation.
pub(crate) struct Evaluation<'e> {
    pub(crate) world: &'e World,
    pub(crate) row: &'e Columns,
    json_columns: Option<&'e BTreeSet<String>>,
    joins: &'e [Join],
    values: &'e [(String, Code)],
    /// The results of the named values so far.
    known: RefCell<Vec<Option<Result<Value, Reject>>>>,
    pub(crate) owner: Option<&'e str>,
    pub(crate) of_owner: Option<(&'e Table, &'e Columns)>,
    /// The type of the item that is made.
    kind: RefCell<String>,
    /// Parts of the row that are left out, and why.
    pub(crate) left_out: RefCell<Vec<Reject>>,
}

impl<'e> Evaluation<'e> {
    pub(crate) fn new(world: &'e World, values: &'e [(String, Code)], row: &'e Columns) -> Self {
        let known = RefCell::new(vec![None; values.len()]);
        let (kind, left_out) = Default::default();
        Self { world, row, json_columns: None, joins: &[], values, known, owner: None, of_owner: None, kind, left_out }
    }

    /// The evaluation of a row of a table.
    pub(crate) fn of_table(world: &'e World, table: &'e Table, row: &'e Columns) -> Self {
        let json_columns = world.json_columns.get(&table.name);
        Self { json_columns, joins: &table.joins, ..Self::new(world, &table.values, row) }
    }

    /// The value of a column; a JSON column's text stays JSON.
    fn column(&self, name: &str) -> Option<Value> {
        let cell = self.row.get(name)?;
        let is_json = self.json_columns.is_some_and(|columns| columns.contains(name));
        match cell {
            Cell::Text(_) if is_json => serde_json::to_string(cell).ok().map(Value::Json),
            cell => Some(Value::of_cell(cell)),
        }
    }

    /// From here on items of this type are made.
    pub(crate) fn begin(&self, kind: &str) {
        kind.clone_into(&mut self.kind.borrow_mut());
    }

    /// Records why a part of the row is left out, once.
    pub(crate) fn leave_out(&self, reject: Reject) {
        let mut left_out = self.left_out.borrow_mut();
        if !left_out.contains(&reject) {
            left_out.push(reject);
        }
    }

    pub(crate) fn value(&self, code: &Code) -> Result<Value, Reject> {
        Ok(match code {
            Code::Constant(value) => value.clone(),
            Code::Column(names) => names.iter().find_map(|name| self.column(name)).unwrap_or(Value::Null),
            Code::Named(place) => return self.named(*place),
            Code::Field(join, field) => self.field(join, field)?,
            Code::Owner => self.owner.map_or(Value::Null, |owner| Value::Text(owner.to_owned())),
            Code::OfOwner(inner) => return self.of_owner(inner),
            Code::AsOf => Value::Instant(self.world.as_of),
            Code::Type => Value::Text(self.kind.borrow().clone()),
            Code::Parameter(name) => {
                self.world.parameters.texts.get(name).map_or(Value::Null, |text| Value::Text(text.clone()))
            }
            Code::Convert(conversion, input, arguments) => return self.convert(conversion, input, arguments),
            Code::Fallback(left, right) => match self.value(left)? {
                Value::Null => self.value(right)?,
                value => value,
            },
            Code::Compare(left, comparison, right) => {
                Value::Bool(compare(&self.value(left)?, *comparison, &self.value(right)?)?)
            }
            Code::IsNull(inner) => Value::Bool(self.value(inner)? == Value::Null),
            Code::Not(inner) => Value::Bool(!self.truth(inner)?),
            Code::And(left, right) => Value::Bool(self.truth(left)? && self.truth(right)?),
            Code::Or(left, right) => Value::Bool(self.truth(left)? || self.truth(right)?),
        })
    }

    /// A condition; null counts as false.
    pub(crate) fn truth(&self, code: &Code) -> Result<bool, Reject> {
        match self.value(code)? {
            Value::Bool(truth) => Ok(truth),
            Value::Null => Ok(false),
            other => Err(invalid(format!("{} is not a condition", other.kind()))),
        }
    }

    fn named(&self, place: usize) -> Result<Value, Reject> {
        if let Some(Some(known)) = self.known.borrow().get(place) {
            return known.clone();
        }
        let found = self.values.get(place).map_or(Ok(Value::Null), |(_, code)| self.value(code));
        if let Some(known) = self.known.borrow_mut().get_mut(place) {
            *known = Some(found.clone());
        }
        found
    }

    fn of_owner(&self, code: &Code) -> Result<Value, Reject> {
        let Some((table, row)) = self.of_owner else { return Ok(Value::Null) };
        let mut owner = Evaluation::of_table(self.world, table, row);
        owner.owner = self.owner;
        owner.value(code)
    }

    fn field(&self, join: &str, field: &str) -> Result<Value, Reject> {
        let Some(Cell::Json(json)) = self.row.get(join) else { return Ok(Value::Null) };
        let row: Columns = serde_json::from_str(json).map_err(|error| invalid(format!("{join}: {error}")))?;
        Ok(self.of_joined(join, &row).column(field).unwrap_or(Value::Null))
    }

    /// The evaluation of a joined row, which has no named values.
    fn of_joined<'r>(&'r self, join: &str, row: &'r Columns) -> Evaluation<'r> {
        let table = self.joins.iter().find(|known| known.name == join).map(|join| &join.table);
        let json_columns = table.and_then(|table| self.world.json_columns.get(table));
        Evaluation { json_columns, owner: self.owner, of_owner: self.of_owner, ..Evaluation::new(self.world, &[], row) }
    }

    fn convert(&self, conversion: &Conversion, input: &Code, arguments: &[Code]) -> Result<Value, Reject> {
        let value = match (conversion, self.value(input)) {
            (Conversion::OrReject(reason), Err(reject)) => {
                return Err(Reject { reason: Reason::named(reason.clone()), ..reject });
            }
            (_, value) => value?,
        };
        match (conversion, &value) {
            (Conversion::Required(name), Value::Null) => {
                return Err(Reject::because(Reason::MISSING_VALUE, format!("{name} is null")));
            }
            (Conversion::Default, Value::Null) => {
                if let Some(reason) = arguments.get(1) {
                    let reason = self.value(reason)?.text().unwrap_or_default();
                    self.leave_out(Reject::decided(Reason::named(reason), "a default is stored in place of null"));
                }
                return arguments.first().map_or(Ok(Value::Null), |default| self.value(default));
            }
            (_, Value::Null) | (Conversion::Required(_) | Conversion::Default | Conversion::OrReject(_), _) => {
                return Ok(value);
            }
            _ => {}
        }
        let arguments = arguments.iter().map(|argument| self.value(argument)).collect::<Result<Vec<_>, _>>()?;
        match conversion {
            Conversion::Builtin(builtin) => (builtin.convert)(&value, &arguments, &self.world.source_zone),
            Conversion::Extension(place) => match &self.world.extension {
                Some(extension) => extension.convert(*place, &value, &arguments),
                None => Err(invalid("the extension is missing")),
            },
            _ => Ok(value),
        }
    }

    /// The value of a template: that of its only placeholder, or a text. Null in a text makes all
    /// of it null.
    pub(crate) fn template(&self, template: &Template) -> Result<Value, Reject> {
        if let [Piece::Code(code)] = template.0.as_slice() {
            return self.value(code);
        }
        let mut text = String::new();
        for piece in &template.0 {
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Code(code) => match self.value(code)? {
                    Value::Null => return Ok(Value::Null),
                    value => match value.text() {
                        Some(value) => text.push_str(&value),
                        None => return Err(invalid(format!("{} has no text", value.kind()))),
                    },
                },
            }
        }
        Ok(Value::Text(text))
    }

    /// The attributes that are not null.
    pub(crate) fn attributes(&self, all: &[Attribute]) -> Result<HashMap<String, AttributeValue>, Reject> {
        let mut made = HashMap::with_capacity(all.len() + 8);
        for attribute in all {
            let value = self.attribute(attribute);
            match value {
                Ok(Some(value)) => drop(made.insert(attribute.name.clone(), value)),
                Ok(None) => {}
                Err(reject) if attribute.is_optional => self.leave_out(reject),
                Err(reject) => {
                    let detail = format!("{}: {}", attribute.name, reject.detail);
                    return Err(Reject { detail, ..reject });
                }
            }
        }
        Ok(made)
    }

    fn attribute(&self, attribute: &Attribute) -> Result<Option<AttributeValue>, Reject> {
        if let Some(when) = &attribute.when
            && !self.truth(when)?
        {
            return Ok(None);
        }
        match &attribute.content {
            Content::Template(template) => self.template(template).map(Value::attribute),
            Content::Each(join, attributes) => {
                let Some(Cell::Json(json)) = self.row.get(join) else { return Ok(None) };
                let rows: Vec<Columns> =
                    serde_json::from_str(json).map_err(|error| invalid(format!("{join}: {error}")))?;
                let list = rows.iter().map(|row| {
                    let one = self.of_joined(join, row);
                    one.begin(&self.kind.borrow());
                    let made = one.attributes(attributes);
                    one.left_out.into_inner().into_iter().for_each(|reject| self.leave_out(reject));
                    made.map(AttributeValue::M)
                });
                list.collect::<Result<_, _>>().map(|list| Some(AttributeValue::L(list)))
            }
        }
    }
}

fn invalid(detail: impl Into<String>) -> Reject {
    Reject::because(Reason::INVALID_VALUE, detail)
}

/// Null equals nothing, and is neither less nor greater than anything.
fn compare(left: &Value, comparison: Comparison, right: &Value) -> Result<bool, Reject> {
    if matches!(left, Value::Null) || matches!(right, Value::Null) {
        // `<>` alone is true of both.
        return Ok(comparison(Ordering::Less) && comparison(Ordering::Greater));
    }
    let order = left.compare(right);
    let order = order.ok_or_else(|| invalid(format!("{} is compared with {}", left.kind(), right.kind())))?;
    Ok(comparison(order))
}
