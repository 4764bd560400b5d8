//! The mapping file as it is written, in TOML. docs/mapping.md describes each entry.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// A text with its place in the file.
pub(super) type Text = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MappingFile {
    pub(super) target: TargetFile,
    #[serde(default)]
    pub(super) parameters: BTreeMap<Text, Parameter>,
    #[serde(default)]
    pub(super) owners: BTreeMap<Text, OwnerFile>,
    pub(super) tables: BTreeMap<Text, TableFile>,
    #[serde(default)]
    pub(super) markers: Vec<MarkerFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetFile {
    /// The names of the key attributes: of the partition, and of the sort key if there is one.
    pub(super) key: Vec<Text>,
    #[serde(rename = "type", default = "type_attribute")]
    pub(super) kind: String,
    #[serde(default = "owner_attribute")]
    pub(super) owner: String,
    pub(super) updated_at: Option<String>,
    pub(super) ttl: Option<String>,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, Spanned<AttributeFile>>,
}

fn type_attribute() -> String {
    "Type".to_owned()
}

fn owner_attribute() -> String {
    "MigratedOwner".to_owned()
}

/// A parameter of the mapping.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// What it is.
    pub kind: ParameterKind,
    /// Says what to give.
    pub about: String,
    /// Whether it may be left out.
    #[serde(default, rename = "optional")]
    pub is_optional: bool,
}

/// What a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterKind {
    /// A name of the IANA time zone database.
    Zone,
    /// The content of a file, which is stored nowhere.
    Secret,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnerFile {
    pub(super) table: Text,
    #[serde(default)]
    pub(super) prefix: String,
    /// The partitions that hold only items of one owner.
    #[serde(default)]
    pub(super) partitions: Vec<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableFile {
    #[serde(default = "id")]
    pub(super) key: Vec<Text>,
    pub(super) owner: Option<TableOwnerFile>,
    pub(super) columns: BTreeMap<Text, Spanned<ColumnFile>>,
    #[serde(default)]
    pub(super) ignore: Vec<String>,
    #[serde(default)]
    pub(super) secret: Vec<Text>,
    #[serde(default)]
    pub(super) joins: BTreeMap<Text, JoinFile>,
    #[serde(default)]
    pub(super) values: BTreeMap<Text, Text>,
    #[serde(default)]
    pub(super) reject: Vec<RejectFile>,
    pub(super) version: Option<Text>,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, Spanned<AttributeFile>>,
    #[serde(default)]
    pub(super) items: Vec<ItemFile>,
}

fn id() -> Vec<Text> {
    vec![Spanned::new(0..0, "id".to_owned())]
}

/// The column with a row's owner.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TableOwnerFile {
    pub(super) kind: Text,
    pub(super) column: Text,
    /// The table whose row the column names, and whose owner is this row's owner.
    pub(super) through: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected the type of a column, or a table with `type` and `names`")]
pub(super) enum ColumnFile {
    /// `"text"`, or `"text?"` for a column that need not exist.
    Type(String),
    Detailed(ColumnDetails),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnDetails {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// The names that the column may have in PostgreSQL.
    #[serde(default)]
    pub(super) names: Vec<String>,
}

/// Rows of another table that are read together with a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JoinFile {
    pub(super) table: Text,
    /// The other table's columns, and the columns of this table that they equal.
    pub(super) on: BTreeMap<Text, Text>,
    #[serde(default)]
    pub(super) order: Vec<Text>,
    /// There is one such row at most.
    #[serde(default)]
    pub(super) one: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RejectFile {
    pub(super) reason: String,
    pub(super) when: Text,
    /// Nothing of value is lost, so nobody needs to look at it.
    #[serde(default)]
    pub(super) expected: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ItemFile {
    #[serde(rename = "type")]
    pub(super) kind: Text,
    pub(super) key: KeyFile,
    pub(super) when: Option<Text>,
    #[serde(default)]
    pub(super) on_error: OnErrorFile,
    pub(super) on_conflict: Option<OnConflictFile>,
    pub(super) reason: Option<String>,
    #[serde(default)]
    pub(super) prefer: Vec<Text>,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, Spanned<AttributeFile>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OnErrorFile {
    #[default]
    RejectRow,
    LeaveOut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OnConflictFile {
    RejectRow,
    LeaveOut,
    Merge,
}

#[derive(Debug)]
pub(super) enum AttributeFile {
    Template(String),
    Bool(bool),
    Number(String),
    Detailed(AttributeDetails),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttributeDetails {
    pub(super) value: Option<Text>,
    pub(super) when: Option<Text>,
    #[serde(default)]
    pub(super) on_error: OnErrorFile,
    /// The join whose rows become a list of maps.
    pub(super) each: Option<Text>,
    #[serde(default)]
    pub(super) attributes: BTreeMap<String, Spanned<AttributeFile>>,
}

/// An item that leads to another one, for example from an address to its user.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MarkerFile {
    /// The types of both items.
    pub(super) marker: Text,
    pub(super) of: Text,
    /// The marker's key, from the attributes of the item that it leads to.
    pub(super) key: KeyFile,
    /// The key of the item that it leads to, from the marker's attributes.
    pub(super) leads_to: KeyFile,
    /// Several items may ask for the marker, and one has it.
    #[serde(default)]
    pub(super) contested: bool,
}

/// The templates of the key attributes, by their names.
pub(super) type KeyFile = Spanned<BTreeMap<String, Text>>;

impl<'de> Deserialize<'de> for AttributeFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfAttribute;
        impl<'de> Visitor<'de> for OfAttribute {
            type Value = AttributeFile;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a template, true, false, a number, or a table with `value` or `each`")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<AttributeFile, E> {
                Ok(AttributeFile::Template(text.to_owned()))
            }
            fn visit_bool<E: serde::de::Error>(self, truth: bool) -> Result<AttributeFile, E> {
                Ok(AttributeFile::Bool(truth))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<AttributeFile, E> {
                Ok(AttributeFile::Number(number.to_string()))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<AttributeFile, E> {
                Ok(AttributeFile::Number(number.to_string()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<AttributeFile, A::Error> {
                let details = AttributeDetails::deserialize(MapAccessDeserializer::new(map))?;
                if details.value.is_some() == details.each.is_some() {
                    return Err(A::Error::custom("an attribute has either `value` or `each`"));
                }
                Ok(AttributeFile::Detailed(details))
            }
        }
        deserializer.deserialize_any(OfAttribute)
    }
}
