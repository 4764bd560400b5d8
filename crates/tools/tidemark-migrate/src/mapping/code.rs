//! Checked expressions, whose names are resolved.

use std::cmp::Ordering;

use super::conversions::Builtin;
use super::value::Value;

/// A checked expression.
#[derive(Debug, Clone)]
pub(crate) enum Code {
    Constant(Value),
    /// A column, by the names that it may have in PostgreSQL.
    Column(Vec<String>),
    /// A named value of the table, by its place.
    Named(usize),
    /// A column of a joined row.
    Field(String, String),
    Owner,
    /// An expression over the owner's own row.
    OfOwner(Box<Code>),
    /// When the rows were read.
    AsOf,
    Type,
    Parameter(String),
    Convert(Conversion, Box<Code>, Vec<Code>),
    Fallback(Box<Code>, Box<Code>),
    Compare(Box<Code>, Comparison, Box<Code>),
    IsNull(Box<Code>),
    Not(Box<Code>),
    And(Box<Code>, Box<Code>),
    Or(Box<Code>, Box<Code>),
}

/// Such as [`Ordering::is_le`].
pub(crate) type Comparison = fn(Ordering) -> bool;

#[derive(Debug, Clone)]
pub(crate) enum Conversion {
    Builtin(Builtin),
    /// Rejects the row if the value is null; the text names the column.
    Required(String),
    /// Another value in place of null. With a second argument, the row is reported with that
    /// reason.
    Default,
    /// Another reason for a value that cannot be converted.
    OrReject(String),
    /// A conversion of the extension, by its place.
    Extension(usize),
}

/// A checked template.
#[derive(Debug, Clone)]
pub(crate) struct Template(pub(crate) Vec<Piece>);

#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Text(String),
    Code(Code),
}

/// The value of an attribute.
#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) content: Content,
    pub(crate) when: Option<Code>,
    /// Whether the attribute is left out if its value cannot be made; otherwise the row is
    /// rejected.
    pub(crate) is_optional: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Template(Template),
    /// A list with a map for each joined row.
    Each(String, Vec<Attribute>),
}

impl Attribute {
    /// Calls a function for the expressions of the attribute.
    pub(crate) fn codes<'c>(&'c self, visit: &mut dyn FnMut(&'c Code)) {
        self.when.iter().for_each(&mut *visit);
        match &self.content {
            Content::Template(template) => template.codes().for_each(visit),
            Content::Each(_, attributes) => attributes.iter().for_each(|attribute| attribute.codes(visit)),
        }
    }
}

impl Template {
    pub(crate) fn codes(&self) -> impl Iterator<Item = &Code> {
        self.0.iter().filter_map(|piece| if let Piece::Code(code) = piece { Some(code) } else { None })
    }
}

impl Code {
    /// Calls a function for this expression and each of its parts.
    pub(crate) fn each<'c>(&'c self, visit: &mut impl FnMut(&'c Self)) {
        visit(self);
        match self {
            Self::Constant(_) | Self::Column(_) | Self::Named(_) | Self::Field(..) | Self::Owner => {}
            Self::AsOf | Self::Type | Self::Parameter(_) => {}
            Self::OfOwner(inner) | Self::IsNull(inner) | Self::Not(inner) => inner.each(visit),
            Self::Convert(_, input, all) => {
                input.each(visit);
                for code in all {
                    code.each(visit);
                }
            }
            Self::Fallback(left, right)
            | Self::Compare(left, _, right)
            | Self::And(left, right)
            | Self::Or(left, right) => {
                left.each(visit);
                right.each(visit);
            }
        }
    }
}
