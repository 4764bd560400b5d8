//! Reads statistics: one, a range of windows, the largest of a group, as pages or as CSV.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::civil::Date;

use crate::amount::Amount;
use crate::declaration::{CheckedGroup, Rollup};
use crate::error::StoreError;
use crate::group::Dimension;
use crate::measure::Measure;
use crate::rank;
use crate::table::{Item, Table};

const ZERO: Amount = Amount { units: 0, scale: 0 };

/// The lowest number of DynamoDB.
const LOWEST: &str = "-9.9999999999999999999999999999999999999E+125";

/// The most statistics of one page.
const PAGE_MAX: i32 = 1_000;

/// A statistic. One that was never written has zeros, and no extremes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// The values of the group's dimensions, in their order: a window's label, or an attribute.
    pub values: Vec<String>,
    /// The numbers by attribute; an average has a sum and a count. `None` is an extreme of nothing.
    pub(crate) numbers: BTreeMap<String, Option<Amount>>,
}

/// Some statistics, and the place where the next page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The statistics in the order of their keys.
    pub stats: Vec<Stat>,
    /// Pass it to [`Query::after`]. `None` on the last page.
    pub next: Option<String>,
}

/// Why a query cannot be sent, or a number cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The declaration has no such group, dimension, measure or attribute.
    #[error("there is no {0}")]
    Unknown(String),
    /// The partition key contains a dimension without a value.
    #[error("the key of group `{group}` needs a value for `{dimension}`")]
    MissingValue {
        /// The group.
        group: String,
        /// The dimension.
        dimension: String,
    },
    /// The window of the group is not the first part of the sort key that is open.
    #[error("group `{0}` cannot be read by a range: its sort key does not begin with the window")]
    NoRange(String),
    /// The range ends before it begins.
    #[error("the range from {0} to {1} ends before it begins")]
    ReversedRange(Date, Date),
    /// The number has decimals.
    #[error("`{0}` is not an integer: read it with `Stat::decimal`")]
    NotInteger(String),
    /// DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ReadError> for StoreError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => error,
            error => Self::Refused(error.to_string()),
        }
    }
}

/// Where a number of a statistic comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    /// Commits add to its attribute. Without the attribute it is 0.
    Added,
    /// The attribute has an extreme. Without the attribute there is none.
    Extreme,
    /// It is the first or the last of its ranks, and no attribute has it.
    Ranked,
}

/// A query of one group; see [`Rollup::query`].
pub struct Query<'r, T> {
    rollup: &'r Rollup<T>,
    group: String,
    values: BTreeMap<String, String>,
    range: Option<(Date, Date)>,
    limit: i32,
    descends: bool,
    after: Option<String>,
}

impl<T> Rollup<T> {
    /// A query of the statistics of a group.
    pub fn query(&self, group: impl Into<String>) -> Query<'_, T> {
        let (values, range, after) = (BTreeMap::new(), None, None);
        Query { rollup: self, group: group.into(), values, range, limit: PAGE_MAX, descends: false, after }
    }
}

impl Stat {
    /// A count, a sum of integers, or a distinct count. An extreme of an empty group is 0; see
    /// [`Self::extreme`].
    ///
    /// # Errors
    /// If the group has no such measure, or the number is not an integer.
    pub fn number(&self, measure: &str) -> Result<i128, ReadError> {
        let amount = self.decimal(measure)?;
        amount.to_integer().ok_or_else(|| ReadError::NotInteger(measure.to_owned()))
    }

    /// A minimum, a maximum, the first or the last number; `None` if no item has a value.
    ///
    /// # Errors
    /// If the group has no such measure.
    pub fn extreme(&self, measure: &str) -> Result<Option<Amount>, ReadError> {
        let amount = self.numbers.get(measure).copied();
        amount.ok_or_else(|| ReadError::Unknown(format!("measure `{measure}` in the statistic")))
    }

    /// A sum of decimals, or any other number.
    ///
    /// # Errors
    /// If the group has no such measure.
    pub fn decimal(&self, measure: &str) -> Result<Amount, ReadError> {
        Ok(self.extreme(measure)?.unwrap_or(ZERO))
    }

    /// An average; `None` if no item has a value.
    ///
    /// # Errors
    /// If the group has no such average.
    pub fn average(&self, measure: &str) -> Result<Option<f64>, ReadError> {
        let (sum, count) = (self.decimal(&format!("{measure}Sum"))?, self.number(&format!("{measure}Count"))?);
        // Exact up to 2^53.
        let one = 10_f64.powi(i32::from(sum.scale));
        Ok((count > 0).then(|| sum.units as f64 / one / count as f64))
    }
}

impl<T> Query<'_, T> {
    /// Only statistics with this value of a dimension.
    pub fn with(mut self, dimension: impl Into<String>, value: impl Into<String>) -> Self {
        self.values.insert(dimension.into(), value.into());
        self
    }

    /// Only windows that contain one of these days, or a day between them.
    pub fn between(self, from: Date, to: Date) -> Self {
        Self { range: Some((from, to)), ..self }
    }

    /// At most so many statistics in a page; 1,000 without it.
    pub fn limit(self, limit: u16) -> Self {
        Self { limit: i32::from(limit).clamp(1, PAGE_MAX), ..self }
    }

    /// The last ones first.
    pub fn descending(self) -> Self {
        Self { descends: true, ..self }
    }

    /// The page after [`Page::next`].
    pub fn after(self, next: impl Into<String>) -> Self {
        Self { after: Some(next.into()), ..self }
    }

    /// The statistic whose dimensions all have values.
    pub async fn one(&self, table: &Table) -> Result<Stat, ReadError> {
        let group = self.checked_group()?;
        let values = self.all_values(group)?;
        let key = table.key(group.partition.render(&values), group.sort.render(&values));
        let item = table.get(key).await?.unwrap_or_default();
        let mut stat = Stat { numbers: self.numbers(group, &item)?, values };
        rank::fill(self.rollup, table, group, std::slice::from_mut(&mut stat)).await?;
        Ok(stat)
    }

    /// A page of statistics, read strongly consistently. The group's partition key must be known
    /// from the values.
    pub async fn page(&self, table: &Table) -> Result<Page, ReadError> {
        let group = self.checked_group()?;
        if let Some((from, to)) = self.range.filter(|(from, to)| from > to) {
            return Err(ReadError::ReversedRange(from, to));
        }
        let known = self.known_values(group)?;
        let partition = group.partition.render_known(&known).map_err(|index| self.missing(group, index))?;
        let (begin, open) = group.sort.render_until(&known);
        let mut request = table.query().consistent_read(true).limit(self.limit).scan_index_forward(!self.descends);
        let [partition_key, sort_key] = table.key_names();
        request = request
            .expression_attribute_names("#pk", partition_key)
            .expression_attribute_values(":pk", AttributeValue::S(partition.clone()));
        let text = |text: String| AttributeValue::S(text);
        request = match (self.range, open) {
            (Some((from, to)), Some(index)) => {
                let Some((_, Dimension::Window(window, _))) = group.group.dimensions.get(index) else {
                    return Err(ReadError::NoRange(self.group.clone()));
                };
                // The text after the last label and everything that may follow it.
                let end = format!("{begin}{}\u{10ffff}", window.last_label_of(to));
                request
                    .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
                    .expression_attribute_values(":from", text(format!("{begin}{}", window.label_of(from))))
                    .expression_attribute_values(":to", text(end))
                    .expression_attribute_names("#sk", sort_key)
            }
            (Some(_), None) => return Err(ReadError::NoRange(self.group.clone())),
            (None, Some(_)) if begin.is_empty() => request.key_condition_expression("#pk = :pk"),
            (None, Some(_)) => request
                .key_condition_expression("#pk = :pk AND begins_with(#sk, :begin)")
                .expression_attribute_values(":begin", text(begin))
                .expression_attribute_names("#sk", sort_key),
            (None, None) => request
                .key_condition_expression("#pk = :pk AND #sk = :sk")
                .expression_attribute_values(":sk", text(begin))
                .expression_attribute_names("#sk", sort_key),
        };
        if let Some(after) = &self.after {
            request = request.set_exclusive_start_key(Some(table.key(partition, after)));
        }
        let answer = request.send().await.map_err(StoreError::from)?;
        let next = answer.last_evaluated_key.as_ref().and_then(|key| table.key_of(key)).map(|(_, sort)| sort);
        Ok(Page { stats: self.stats(group, table, answer.items.unwrap_or_default()).await?, next })
    }

    /// The statistics of a range without gaps: a window that was never written has zeros. All other
    /// dimensions must have values. Reads all pages.
    pub async fn series(mut self, table: &Table) -> Result<Vec<Stat>, ReadError> {
        let group = self.checked_group()?;
        let no_range = || ReadError::NoRange(self.group.clone());
        let (from, to) = self.range.ok_or_else(no_range)?;
        let (index, window) = group.group.window_dimension().ok_or_else(no_range)?;
        let mut values: Vec<String> = Vec::new();
        for (position, (name, _)) in group.group.dimensions.iter().enumerate() {
            let value = self.values.get(name).cloned();
            let value = if position == index { Some(String::new()) } else { value };
            values.push(value.ok_or_else(|| self.missing(group, position))?);
        }
        let (none, zone) = (self.numbers(group, &Item::new())?, group.group.zone.clone());
        let mut found: BTreeMap<String, Stat> = BTreeMap::new();
        loop {
            let page = self.page(table).await?;
            found.extend(page.stats.into_iter().filter_map(|stat| Some((stat.values.get(index)?.clone(), stat))));
            self.after = page.next;
            if self.after.is_none() {
                break;
            }
        }
        // An item with a civil time may be in an hour that the clocks skip.
        let mut labels = window.labels(from, to);
        labels.retain(|label| found.contains_key(label) || !window.is_skipped(label, &zone));
        let stat = |label: String| {
            found.remove(&label).unwrap_or_else(|| {
                let mut values = values.clone();
                values[index] = label;
                Stat { values, numbers: none.clone() }
            })
        };
        let mut all: Vec<_> = labels.into_iter().map(stat).collect();
        if self.descends {
            all.reverse();
        }
        Ok(all)
    }

    /// The statistics with the largest numbers of a measure, from a global secondary index.
    /// `attribute` is the partition key of the index, which [`crate::Group::set`] gives, and the
    /// attribute of the measure is its sort key: DynamoDB refuses an index with another one. The
    /// read is eventually consistent.
    pub async fn top(
        &self,
        table: &Table,
        index: &str,
        attribute: &str,
        measure: &str,
    ) -> Result<Vec<Stat>, ReadError> {
        let group = self.checked_group()?;
        let known = self.known_values(group)?;
        let unknown = |what: String| ReadError::Unknown(what);
        let template = group.attributes.iter().find(|(name, _)| name == attribute);
        let (_, template) = template.ok_or_else(|| unknown(format!("attribute `{attribute}` in `{}`", self.group)))?;
        let value = template.render_known(&known).map_err(|index| self.missing(group, index))?;
        if !self.numbers_of(group).iter().any(|(name, number)| name == measure && *number != Number::Ranked) {
            return Err(unknown(format!("measure `{measure}` in `{}`", self.group)));
        }
        let request = table
            .query()
            .index_name(index)
            .scan_index_forward(false)
            .limit(self.limit)
            // An index that sorts by another attribute would give other statistics.
            .key_condition_expression("#key = :key AND #measure >= :lowest")
            .expression_attribute_names("#key", attribute)
            .expression_attribute_names("#measure", measure)
            .expression_attribute_values(":key", AttributeValue::S(value))
            .expression_attribute_values(":lowest", AttributeValue::N(LOWEST.to_owned()));
        let answer = request.send().await.map_err(StoreError::from)?;
        self.stats(group, table, answer.items.unwrap_or_default()).await
    }

    /// Statistics as CSV (RFC 4180): the dimensions, then the attributes of the measures.
    pub fn csv(&self, stats: &[Stat]) -> Result<String, ReadError> {
        let group = self.checked_group()?;
        let attributes = self.numbers_of(group);
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
        let dimensions = group.group.dimensions.iter().map(|(name, _)| name.clone());
        let rows = stats.iter().map(|stat| {
            let numbers = attributes.iter().map(|(attribute, _)| match stat.numbers.get(attribute) {
                Some(Some(amount)) => amount.to_string(),
                _ => String::new(),
            });
            stat.values.iter().cloned().chain(numbers).collect::<Vec<_>>()
        });
        let header = dimensions.chain(attributes.iter().map(|(attribute, _)| attribute.clone())).collect();
        let wrong = |error: &dyn std::fmt::Display| StoreError::Refused(error.to_string());
        for row in std::iter::once(header).chain(rows) {
            writer.write_record(&row).map_err(|error| wrong(&error))?;
        }
        let bytes = writer.into_inner().map_err(|error| wrong(&error))?;
        Ok(String::from_utf8(bytes).map_err(|error| wrong(&error))?)
    }

    fn checked_group(&self) -> Result<&CheckedGroup<T>, ReadError> {
        let group = self.rollup.groups.iter().find(|group| group.group.name == self.group);
        group.ok_or_else(|| ReadError::Unknown(format!("group `{}`", self.group)))
    }

    /// The given values in the order of the dimensions.
    fn known_values(&self, group: &CheckedGroup<T>) -> Result<Vec<Option<String>>, ReadError> {
        let names: Vec<_> = group.group.dimensions.iter().map(|(name, _)| name).collect();
        if let Some(name) = self.values.keys().find(|name| !names.contains(name)) {
            return Err(ReadError::Unknown(format!("dimension `{name}` in `{}`", self.group)));
        }
        Ok(names.into_iter().map(|name| self.values.get(name).cloned()).collect())
    }

    fn all_values(&self, group: &CheckedGroup<T>) -> Result<Vec<String>, ReadError> {
        let known = self.known_values(group)?.into_iter().enumerate();
        known.map(|(index, value)| value.ok_or_else(|| self.missing(group, index))).collect()
    }

    fn missing(&self, group: &CheckedGroup<T>, index: usize) -> ReadError {
        let dimension = group.group.dimensions.get(index).map(|(name, _)| name.clone()).unwrap_or_default();
        ReadError::MissingValue { group: self.group.clone(), dimension }
    }

    /// The names of the group's numbers.
    fn numbers_of(&self, group: &CheckedGroup<T>) -> Vec<(String, Number)> {
        let measures = group.measures.iter().filter_map(|measure| self.rollup.measures.get(*measure));
        let numbers = measures.flat_map(|(name, of): &(String, Measure<T>)| {
            let ranked = of.is_ranked.then(|| (name.clone(), Number::Ranked));
            let stored = if of.is_stored_extreme() { Number::Extreme } else { Number::Added };
            ranked.into_iter().chain(of.attributes(name).into_iter().map(move |attribute| (attribute, stored)))
        });
        numbers.collect()
    }

    async fn stats(&self, group: &CheckedGroup<T>, table: &Table, items: Vec<Item>) -> Result<Vec<Stat>, ReadError> {
        let mut stats = Vec::with_capacity(items.len());
        for item in items {
            let no_key = || StoreError::Unreadable("a statistic without its two keys of type string".to_owned());
            let (partition, sort) = table.key_of(&item).ok_or_else(no_key)?;
            // Other clients may have put other items beside the statistics.
            if let Some(values) = group.values_of(&partition, &sort) {
                stats.push(Stat { values, numbers: self.numbers(group, &item)? });
            }
        }
        rank::fill(self.rollup, table, group, &mut stats).await?;
        Ok(stats)
    }

    fn numbers(&self, group: &CheckedGroup<T>, item: &Item) -> Result<BTreeMap<String, Option<Amount>>, ReadError> {
        let number = |(attribute, of): (String, Number)| {
            let number = item.get(&attribute).filter(|_| of != Number::Ranked);
            let Some(number) = number else { return Ok((attribute, (of == Number::Added).then_some(ZERO))) };
            let amount = number.as_n().ok().and_then(|number| number.parse().ok());
            let wrong = || StoreError::Unreadable(format!("{attribute} of a statistic is not a number"));
            let amount = Some(amount.ok_or_else(wrong)?);
            Ok((attribute, amount))
        };
        self.numbers_of(group).into_iter().map(number).collect()
    }
}
