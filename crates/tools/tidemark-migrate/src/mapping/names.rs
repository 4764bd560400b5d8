//! Resolves the names in expressions, and checks conversions and comparisons.

use super::code::{Code, Conversion};
use super::conversions::builtin;
use super::evaluate::Signature;
use super::file::ParameterKind;
use super::syntax::{SyntaxError, error};
use super::table::{Column, ColumnType};
use super::value::Value;

/// The names that an expression may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'s> {
    pub(super) columns: &'s dyn Columns,
    /// The named values so far.
    pub(super) values: &'s [(String, Code)],
    pub(super) joins: &'s [String],
    /// The names of the owner's own row.
    pub(super) of_owner: Option<&'s Scope<'s>>,
    /// Whether the rows have an owner.
    pub(super) has_owner: bool,
    pub(super) parameters: &'s [(String, ParameterKind)],
    pub(super) conversions: &'s [Signature],
}

/// Finds columns by their names in the mapping.
pub(super) trait Columns: std::fmt::Debug {
    fn find(&self, name: &str) -> Option<Column>;
}

impl Columns for std::collections::BTreeMap<String, Column> {
    fn find(&self, name: &str) -> Option<Column> {
        self.get(name).cloned()
    }
}

/// Every name is a column of any type: the attributes of an item, or the columns of a joined row.
#[derive(Debug)]
pub(super) struct AnyName;

impl Columns for AnyName {
    fn find(&self, name: &str) -> Option<Column> {
        Some(Column { names: vec![name.to_owned()], kind: ColumnType::Any, is_optional: true })
    }
}

impl<'s> Scope<'s> {
    /// A scope of rows with an owner.
    pub(super) fn new(
        columns: &'s dyn Columns,
        parameters: &'s [(String, ParameterKind)],
        conversions: &'s [Signature],
    ) -> Self {
        Self { columns, values: &[], joins: &[], of_owner: None, has_owner: true, parameters, conversions }
    }
}

impl Scope<'_> {
    pub(super) fn field(&self, join: &str, field: &str, at: usize) -> Result<Code, SyntaxError> {
        match self.joins.iter().any(|known| known == join) {
            true => Ok(Code::Field(join.to_owned(), field.to_owned())),
            false => error(at, format!("there is no join {join:?}")),
        }
    }

    pub(super) fn of_owner(&self, name: &str, at: usize) -> Result<Code, SyntaxError> {
        match self.of_owner {
            Some(owner) => Ok(Code::OfOwner(Box::new(owner.name(name, at)?))),
            None => error(at, "the rows of this table have no owner with a row of its own"),
        }
    }

    pub(super) fn name(&self, name: &str, at: usize) -> Result<Code, SyntaxError> {
        if let Some(place) = self.values.iter().position(|(known, _)| known == name) {
            return Ok(Code::Named(place));
        }
        match self.columns.find(name) {
            Some(column) => Ok(Code::Column(column.names)),
            None => error(at, format!("there is no column and no value {name:?} before this one")),
        }
    }

    pub(super) fn variable(&self, name: &str, at: usize) -> Result<Code, SyntaxError> {
        Ok(match name {
            "owner" if self.has_owner => Code::Owner,
            "owner" => return error(at, "the rows of this table have no owner"),
            "as_of" => Code::AsOf,
            "type" => Code::Type,
            _ => match self.parameters.iter().find(|(known, _)| known == name) {
                // A secret is no value, so that it cannot reach an item by mistake.
                Some((_, ParameterKind::Secret)) => {
                    return error(at, format!("${name} is a secret, which only an extension reads"));
                }
                Some(_) => Code::Parameter(name.to_owned()),
                None => return error(at, format!("there is no parameter {name:?}")),
            },
        })
    }

    /// Names a conversion that earlier versions had, before its arguments are read.
    pub(super) fn refuse_gone(name: &str, at: usize) -> Result<(), SyntaxError> {
        match ["encrypt", "base64", "bool", "epoch_ms", "json_text", "max_bytes"].contains(&name) {
            true => error(at, format!("`{name}` is gone: a program of your own converts in its `Extension`")),
            false => Ok(()),
        }
    }

    /// `described` is the input as the mapping has it, for the message that its value is missing.
    pub(super) fn conversion(
        &self,
        (input, described): (Code, &str),
        name: &str,
        arguments: Vec<Code>,
        at: usize,
    ) -> Result<Code, SyntaxError> {
        let extension = self.conversions.iter().position(|conversion| conversion.name == name);
        let (conversion, (least, most)) = match (name, extension, builtin(name)) {
            ("required", ..) => (Conversion::Required(described.to_owned()), (0, 0)),
            ("default", ..) => (Conversion::Default, (1, 2)),
            ("or_reject", ..) => match arguments.first() {
                Some(Code::Constant(Value::Text(reason))) => (Conversion::OrReject(reason.clone()), (1, 1)),
                _ => return error(at, "`or_reject` takes a reason in quotes"),
            },
            (_, Some(place), _) => (Conversion::Extension(place), self.conversions[place].arguments),
            (_, _, Some(builtin)) => (Conversion::Builtin(builtin), builtin.arguments),
            _ => return error(at, format!("there is no conversion {name:?}")),
        };
        if !(least..=most).contains(&arguments.len()) {
            return error(at, format!("`{name}` takes another number of arguments than {}", arguments.len()));
        }
        Ok(Code::Convert(conversion, Box::new(input), arguments))
    }

    pub(super) fn check_kinds(&self, left: &Code, right: &Code, at: usize) -> Result<(), SyntaxError> {
        match (self.kind(left), self.kind(right)) {
            (Some(left), Some(right)) if left != right => {
                error(at, format!("{left} is compared with {right}; convert one of them"))
            }
            _ => Ok(()),
        }
    }

    /// What kind of value an expression has, as far as it is known before any row is read.
    fn kind(&self, code: &Code) -> Option<&'static str> {
        match code {
            Code::Constant(Value::Null) => None,
            Code::Constant(value) => Some(value.kind()),
            Code::AsOf => Some("an instant"),
            Code::Type | Code::Owner => Some("a text"),
            Code::Column(names) => match self.columns.find(names.first()?)?.kind {
                ColumnType::Text | ColumnType::Time | ColumnType::Date | ColumnType::Bytes => Some("a text"),
                ColumnType::Integer | ColumnType::Number => Some("a number"),
                ColumnType::Boolean => Some("a boolean"),
                ColumnType::Json | ColumnType::Array | ColumnType::Key | ColumnType::Any => None,
            },
            Code::Named(place) => self.kind(&self.values.get(*place)?.1),
            Code::Convert(Conversion::Builtin(builtin), ..) => match builtin.name {
                "instant" => Some("an instant"),
                "date" => Some("a date"),
                "number" | "epoch" | "length" | "shard" => Some("a number"),
                "text" | "lower" | "upper" | "trim" | "pad" | "prefix" | "sha256" | "sortable" => Some("a text"),
                _ => None,
            },
            Code::Convert(Conversion::Required(_) | Conversion::OrReject(_), inner, _) => self.kind(inner),
            Code::Fallback(left, _) => self.kind(left),
            Code::IsNull(_) | Code::Not(_) | Code::And(..) | Code::Or(..) | Code::Compare(..) => Some("a boolean"),
            _ => None,
        }
    }
}
