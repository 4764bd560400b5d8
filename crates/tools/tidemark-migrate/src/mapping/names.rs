//! Resolves the names in expressions, and checks conversions and comparisons.

use super::code::{Code, Conversion, Piece, Template};
use super::conversions::builtin;
use super::evaluate::Signature;
use super::file::ParameterKind;
use super::syntax::{self, Expression, Node, Part, SyntaxError};
use super::table::{Column, ColumnType};
use super::value::Value;

/// The names that an expression may use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'s> {
    pub(super) columns: &'s dyn Columns,
    /// The named values so far.
    pub(super) values: &'s [(String, Code)],
    /// The names of the joins.
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

fn error<T>(at: usize, why: impl Into<String>) -> Result<T, SyntaxError> {
    Err(SyntaxError { at, why: why.into() })
}

impl Scope<'_> {
    /// Parses and checks an expression.
    pub(super) fn expression(&self, text: &str) -> Result<Code, SyntaxError> {
        self.code(&syntax::expression(text, 0)?)
    }

    /// Parses and checks a template.
    pub(super) fn template(&self, text: &str) -> Result<Template, SyntaxError> {
        let piece = |part| match part {
            Part::Text(text) => Ok(Piece::Text(text)),
            Part::Placeholder(expression) => self.code(&expression).map(Piece::Code),
        };
        syntax::template(text)?.0.into_iter().map(piece).collect::<Result<_, _>>().map(Template)
    }

    fn code(&self, expression: &Expression) -> Result<Code, SyntaxError> {
        let at = expression.at;
        let boxed = |inner: &Expression| self.code(inner).map(Box::new);
        let all = |all: &[Expression]| all.iter().map(|one| self.code(one)).collect::<Result<Vec<_>, _>>();
        Ok(match &expression.node {
            Node::Text(text) => Code::Constant(Value::Text(text.clone())),
            Node::Number(text) => match super::value::number(text) {
                Some(number) => Code::Constant(Value::Number(number)),
                None => return error(at, format!("{text} is not a number that DynamoDB stores")),
            },
            Node::Bool(truth) => Code::Constant(Value::Bool(*truth)),
            Node::Null => Code::Constant(Value::Null),
            Node::Name(name) => self.name(name, at)?,
            Node::Field(join, field) => match self.joins.contains(join) {
                true => Code::Field(join.clone(), field.clone()),
                false => return error(at, format!("there is no join {join:?}")),
            },
            Node::Variable(name) => self.variable(name, at)?,
            Node::OfOwner(name) => match self.of_owner {
                Some(owner) => Code::OfOwner(Box::new(owner.name(name, at)?)),
                None => return error(at, "the rows of this table have no owner with a row of its own"),
            },
            Node::Convert(input, name, arguments) => self.conversion(input, name, arguments, at)?,
            Node::Fallback(left, right) => Code::Fallback(boxed(left)?, boxed(right)?),
            Node::Compare(left, comparison, right) => {
                let (left, right) = (boxed(left)?, boxed(right)?);
                self.check_kinds(&left, &right, at)?;
                Code::Compare(left, *comparison, right)
            }
            Node::IsNull(inner) => Code::IsNull(boxed(inner)?),
            Node::In(inner, list) => {
                let (inner, list) = (boxed(inner)?, all(list)?);
                list.iter().try_for_each(|one| self.check_kinds(&inner, one, at))?;
                Code::In(inner, list)
            }
            Node::Not(inner) => Code::Not(boxed(inner)?),
            Node::And(left, right) => Code::And(boxed(left)?, boxed(right)?),
            Node::Or(left, right) => Code::Or(boxed(left)?, boxed(right)?),
        })
    }

    fn name(&self, name: &str, at: usize) -> Result<Code, SyntaxError> {
        if let Some(place) = self.values.iter().position(|(known, _)| known == name) {
            return Ok(Code::Named(place));
        }
        match self.columns.find(name) {
            Some(column) => Ok(Code::Column(column.names)),
            None => error(at, format!("there is no column and no value {name:?} before this one")),
        }
    }

    fn variable(&self, name: &str, at: usize) -> Result<Code, SyntaxError> {
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

    fn conversion(
        &self,
        input: &Expression,
        name: &str,
        arguments: &[Expression],
        at: usize,
    ) -> Result<Code, SyntaxError> {
        if ["encrypt", "base64", "epoch_ms", "json_text", "max_bytes"].contains(&name) {
            return error(at, format!("`{name}` is gone: a program of your own converts in its `Extension`"));
        }
        let code = Box::new(self.code(input)?);
        let codes = arguments.iter().map(|argument| self.code(argument)).collect::<Result<Vec<_>, _>>()?;
        let extension = self.conversions.iter().position(|conversion| conversion.name == name);
        let (conversion, (least, most)) = match (name, extension, builtin(name)) {
            ("required", ..) => (Conversion::Required(described(input)), (0, 0)),
            ("default", ..) => (Conversion::Default, (1, 2)),
            ("or_reject", ..) => match codes.first() {
                Some(Code::Constant(Value::Text(reason))) => (Conversion::OrReject(reason.clone()), (1, 1)),
                _ => return error(at, "`or_reject` takes a reason in quotes"),
            },
            (_, Some(place), _) => (Conversion::Extension(place), self.conversions[place].arguments),
            (_, _, Some(builtin)) => (Conversion::Builtin(builtin), builtin.arguments),
            _ => return error(at, format!("there is no conversion {name:?}")),
        };
        if !(least..=most).contains(&codes.len()) {
            return error(at, format!("`{name}` takes another number of arguments than {}", codes.len()));
        }
        Ok(Code::Convert(conversion, code, codes))
    }

    fn check_kinds(&self, left: &Code, right: &Code, at: usize) -> Result<(), SyntaxError> {
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
                "bool" => Some("a boolean"),
                "text" | "lower" | "upper" | "trim" | "pad" | "prefix" | "sha256" | "sortable" => Some("a text"),
                _ => None,
            },
            Code::Convert(Conversion::Required(_) | Conversion::OrReject(_), inner, _) => self.kind(inner),
            Code::Fallback(left, _) => self.kind(left),
            Code::IsNull(_) | Code::In(..) | Code::Not(_) | Code::And(..) | Code::Or(..) | Code::Compare(..) => {
                Some("a boolean")
            }
            _ => None,
        }
    }
}

/// The names in an expression, for the message that its value is missing.
fn described(expression: &Expression) -> String {
    match &expression.node {
        Node::Name(name) => name.clone(),
        Node::Field(join, field) => format!("{join}.{field}"),
        Node::OfOwner(name) => format!("the owner's {name}"),
        Node::Variable(name) => format!("${name}"),
        Node::Convert(input, ..) => described(input),
        Node::Fallback(left, right) => format!("{} and {}", described(left), described(right)),
        _ => "a value".to_owned(),
    }
}
