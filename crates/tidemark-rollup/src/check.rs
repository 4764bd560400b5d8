//! The mistakes of a declaration, and how they are found.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::declaration::{CheckedGroup, RESERVED_PREFIX};
use crate::group::{Dimension, Group};
use crate::key::{Template, TemplateError, list};
use crate::measure::Measure;

/// Why a declaration cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeclarationError {
    /// Names become parts of keys and attributes.
    #[error("{0}: a name has 1 to 64 letters, digits, `-` or `_`")]
    Name(String),
    /// Two of a kind have one name.
    #[error("{0} is declared twice")]
    Twice(String),
    /// Without measures or groups there is nothing to keep.
    #[error("the rollup has no {0}")]
    Nothing(&'static str),
    /// Two things would be stored in one attribute.
    #[error("group `{group}`: two values would be stored in the attribute `{attribute}`")]
    Attribute {
        /// The group.
        group: String,
        /// The attribute.
        attribute: String,
    },
    /// A group keeps a measure that is not declared.
    #[error("group `{group}`: there is no measure `{measure}`; there are {known}")]
    UnknownMeasure {
        /// The group.
        group: String,
        /// The missing measure.
        measure: String,
        /// The measures of the rollup.
        known: String,
    },
    /// A group says nothing about its keys.
    #[error("group `{0}` has no key")]
    NoKey(String),
    /// A template cannot be used.
    #[error("group `{group}`, {part}: {error}")]
    Template {
        /// The group.
        group: String,
        /// `partition key`, `sort key` or the attribute.
        part: String,
        /// The mistake.
        error: TemplateError,
    },
    /// Two statistics of the group would have one key.
    #[error("group `{group}`: the key does not contain `{{{dimension}}}`, so different statistics would share it")]
    MissingDimension {
        /// The group.
        group: String,
        /// The dimension.
        dimension: String,
    },
    /// The values of two dimensions could be divided in two ways.
    #[error("group `{0}`: two dimensions of the key need a `#` between them")]
    Neighbours(String),
    /// Items of the crate have these keys.
    #[error("group `{0}`: a partition key must not begin with `{RESERVED_PREFIX}`")]
    Reserved(String),
    /// Every item of the table could be a statistic.
    #[error("group `{0}`: the key needs a fixed text, so that a statistic differs from other items")]
    NoText(String),
    /// A statistic would have to be in two windows at once.
    #[error("group `{0}` has two windows")]
    TwoWindows(String),
    /// Two groups would write one item.
    #[error("groups `{0}` and `{1}` may have the same keys: put different texts into them")]
    SameKeys(String, String),
    /// A modification could touch more statistics than one transaction can write.
    #[error("the rollup has {0} groups; at most {1} are possible")]
    TooManyGroups(usize, usize),
    /// A deletion would take back the last image, but the first one was counted.
    #[error("on_modify(Keep) needs {0}(Keep): a deletion would take back values that were never counted")]
    KeptModifications(&'static str),
    /// The measure cannot have so many decimals.
    #[error("measure `{measure}`: {decimals} decimals; at most {max} are possible")]
    Decimals {
        /// The measure.
        measure: String,
        /// The decimals.
        decimals: u8,
        /// How many it may have.
        max: u8,
    },
    /// Without a count, nobody knows when a statistic is empty.
    #[error("group `{0}`: an empty statistic can be removed only if the group counts its items")]
    NoCount(String),
}

pub(crate) fn check_name(of: &str, name: &str) -> Result<(), DeclarationError> {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "-_".contains(character);
    let is_valid = (1..=64).contains(&name.len()) && name.chars().all(is_allowed);
    if is_valid { Ok(()) } else { Err(DeclarationError::Name(of.to_owned())) }
}

pub(crate) fn check_group<T>(
    group: Group<T>,
    all_measures: &[(String, Measure<T>)],
) -> Result<CheckedGroup<T>, DeclarationError> {
    let name = group.name.clone();
    check_name(&format!("group `{name}`"), &name)?;
    let mut known = HashSet::new();
    for (dimension, _) in &group.dimensions {
        check_name(&format!("group `{name}`, dimension `{dimension}`"), dimension)?;
        if !known.insert(dimension.as_str()) {
            return Err(DeclarationError::Twice(format!("group `{name}`, dimension `{dimension}`")));
        }
    }
    if group.dimensions.iter().filter(|(_, dimension)| matches!(dimension, Dimension::Window(..))).count() > 1 {
        return Err(DeclarationError::TwoWindows(name));
    }

    let dimensions: Vec<_> = group.dimensions.iter().map(|(dimension, _)| dimension.as_str()).collect();
    let parse = |part: &str, text: &str| {
        let error = |error| DeclarationError::Template { group: name.clone(), part: part.to_owned(), error };
        Template::parse(text, &dimensions).map_err(error)
    };
    let (partition_text, sort_text) = group.key.as_ref().ok_or_else(|| DeclarationError::NoKey(name.clone()))?;
    let (partition, sort) = (parse("partition key", partition_text)?, parse("sort key", sort_text)?);
    if partition_text.starts_with(RESERVED_PREFIX) {
        return Err(DeclarationError::Reserved(name));
    }
    if partition.has_neighbours() || sort.has_neighbours() {
        return Err(DeclarationError::Neighbours(name));
    }
    if !partition.has_text() && !sort.has_text() && group.window_dimension().is_none() {
        return Err(DeclarationError::NoText(name));
    }
    for (index, dimension) in dimensions.iter().enumerate() {
        if !partition.has(index) && !sort.has(index) {
            return Err(DeclarationError::MissingDimension { group: name, dimension: (*dimension).to_owned() });
        }
    }
    let attributes: Vec<_> = group
        .attributes
        .iter()
        .map(|(attribute, text)| Ok((attribute.clone(), parse(&format!("attribute `{attribute}`"), text)?)))
        .collect::<Result<_, DeclarationError>>()?;

    let measures = match &group.measures {
        None => (0..all_measures.len()).collect(),
        Some(names) => names
            .iter()
            .map(|wanted| {
                let names: Vec<_> = all_measures.iter().map(|(name, _)| name.as_str()).collect();
                let unknown = || DeclarationError::UnknownMeasure {
                    group: name.clone(),
                    measure: wanted.clone(),
                    known: list(&names),
                };
                names.iter().position(|name| name == wanted).ok_or_else(unknown)
            })
            .collect::<Result<Vec<_>, _>>()?,
    };
    let mut stored = HashSet::new();
    let of_measures = measures.iter().filter_map(|index| all_measures.get(*index));
    let of_measures = of_measures.flat_map(|(name, measure)| measure.attributes(name));
    for attribute in of_measures.chain(attributes.iter().map(|(attribute, _)| attribute.clone())) {
        if !stored.insert(attribute.clone()) {
            return Err(DeclarationError::Attribute { group: name, attribute });
        }
    }
    Ok(CheckedGroup { partition, sort, attributes, measures, group })
}

impl<T> CheckedGroup<T> {
    /// The forms that the keys of the group's statistics have.
    pub(crate) fn key_forms(&self) -> KeyForms {
        KeyForms([&self.partition, &self.sort].map(|template| {
            let mark = |(_, dimension): &(String, Dimension<T>)| match dimension {
                Dimension::Window(window, _) => format!("{{{window:?}}}"),
                Dimension::Attribute(_) => "{}".to_owned(),
            };
            let marks: Vec<_> = self.group.dimensions.iter().map(mark).collect();
            template.render(&marks)
        }))
    }
}

/// A partition key and a sort key with `{Day}` in place of a label and `{}` in place of another
/// value. No template has braces beside these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyForms([String; 2]);

impl KeyForms {
    /// Whether a statistic with one form may have the key of one with the other.
    pub(crate) fn may_equal(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| may_equal(mine, theirs))
    }
}

/// A value contains no `#`, so texts are equal only if their segments are.
fn may_equal(mine: &str, theirs: &str) -> bool {
    // The labels of two kinds of window never look alike; a label and another text may.
    let is_window =
        |segment: &str| segment.len() > 2 && segment.starts_with('{') && segment.find('}') == Some(segment.len() - 1);
    let is_fixed = |segment: &str| !segment.contains('{');
    let is_digit_first = |segment: &str| segment.starts_with(|first: char| first.is_ascii_digit());
    let alike = |(a, b): (&str, &str)| {
        let differ = is_fixed(a) && is_fixed(b) || is_window(a) && is_window(b);
        // A label begins with the year.
        let differ = differ || is_window(a) && is_fixed(b) && !is_digit_first(b);
        a == b || !(differ || is_window(b) && is_fixed(a) && !is_digit_first(a))
    };
    mine.split('#').count() == theirs.split('#').count() && mine.split('#').zip(theirs.split('#')).all(alike)
}
