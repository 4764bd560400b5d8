//! Reads the header of a file: the meaning of each column.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail};
use clap::ValueEnum;
use csv::StringRecord;
use domain::Attributes;

/// The kind of time series in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeriesKind {
    /// Products, each with its first price.
    Products,
    /// Changes of prices.
    Prices,
    /// Movements of stock.
    Stock,
    /// Activities of users.
    Activities,
    /// Entries of journal streams.
    Journal,
}

/// The prefix of an attribute's column; the rest of the column's name is the attribute's name.
const ATTRIBUTE: &str = "attributes.";

/// The additional columns of a reject file. They are ignored, so that a corrected reject file can
/// be imported as it is.
pub(super) const REJECT_COLUMNS: [&str; 2] = ["line", "problem"];

impl SeriesKind {
    fn needed(self) -> &'static [&'static str] {
        match self {
            Self::Products => &["productId", "name", "price", "currency"],
            Self::Prices => &["productId", "price", "currency", "time"],
            Self::Stock => &["productId", "type", "quantity", "time"],
            Self::Activities => &["userId", "action", "time"],
            Self::Journal => &["stream", "message", "time"],
        }
    }

    fn optional(self) -> &'static [&'static str] {
        match self {
            Self::Products => &["time", "stock", "lowStockThreshold", "changedBy"],
            Self::Prices => &["reason", "changedBy", "key"],
            Self::Stock => &["orderId", "reason", "changedBy", "key"],
            Self::Activities => &["productId", "id"],
            Self::Journal => &["id"],
        }
    }

    fn has(self, name: &str) -> bool {
        let has_attributes = matches!(self, Self::Activities | Self::Journal);
        let is_attribute = has_attributes && name.strip_prefix(ATTRIBUTE).is_some_and(|name| !name.is_empty());
        is_attribute || self.needed().contains(&name) || self.optional().contains(&name)
    }
}

/// `--map theirs=ours`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    theirs: String,
    /// Empty if the column is to be ignored.
    ours: String,
}

impl std::str::FromStr for Mapping {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Splits at the last `=`: the file's column names may contain `=`, ours do not.
        let (theirs, ours) =
            text.rsplit_once('=').ok_or("expected a mapping such as `sku=productId`, or `note=` to ignore a column")?;
        Ok(Self { theirs: theirs.to_owned(), ours: ours.to_owned() })
    }
}

/// The index of each of our columns in a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Columns(BTreeMap<String, usize>);

impl Columns {
    /// Reads a header. An unknown column is refused and not ignored, because it may be misspelled.
    pub(super) fn new(kind: SeriesKind, header: &StringRecord, mappings: &[Mapping]) -> Result<Self> {
        let names: Vec<_> = header.iter().map(|name| name.trim_start_matches('\u{feff}').trim()).collect();
        for Mapping { theirs, ours } in mappings {
            if !names.contains(&theirs.as_str()) {
                bail!("--map {theirs}={ours}: the file has no column `{theirs}`");
            }
            if !ours.is_empty() && !kind.has(ours) {
                bail!("--map {theirs}={ours}: there is no column `{ours}`; {}", known(kind));
            }
        }
        let (mut columns, mut unknown) = (BTreeMap::new(), Vec::new());
        for (index, name) in names.into_iter().enumerate() {
            let mapping = mappings.iter().find(|mapping| mapping.theirs == name);
            let ours = mapping.map_or(name, |mapping| &mapping.ours);
            let is_left_out = mapping.is_some_and(|mapping| mapping.ours.is_empty()) || REJECT_COLUMNS.contains(&ours);
            if is_left_out {
                continue;
            }
            if !kind.has(ours) {
                unknown.push(format!("`{name}`"));
            } else if columns.insert(ours.to_owned(), index).is_some() {
                bail!("two columns have the meaning `{ours}`");
            }
        }
        if !unknown.is_empty() {
            let unknown = unknown.join(", ");
            bail!(
                "unknown columns: {unknown}. {}; --map theirs=ours gives a column its meaning, --map theirs= ignores it",
                known(kind)
            );
        }
        let missing: BTreeSet<_> = kind.needed().iter().filter(|name| !columns.contains_key(**name)).collect();
        match missing.first() {
            Some(name) => bail!("the file has no column `{name}`; --map theirs={name} names the right one"),
            None => Ok(Self(columns)),
        }
    }

    /// The fields of a line.
    pub(super) fn of<'a>(&'a self, record: &'a StringRecord) -> Fields<'a> {
        Fields { columns: self, record }
    }
}

fn known(kind: SeriesKind) -> String {
    let names: Vec<_> = kind.needed().iter().chain(kind.optional()).copied().collect();
    format!(
        "Known columns are {}{}",
        names.join(", "),
        if kind.has("attributes.x") { " and attributes.<name>" } else { "" }
    )
}

/// A line with our column names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a> {
    columns: &'a Columns,
    record: &'a StringRecord,
}

impl<'a> Fields<'a> {
    /// A field; `None` if it is empty or its column is missing.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.record.get(*self.columns.0.get(name)?).map(str::trim).filter(|text| !text.is_empty())
    }

    /// A field, parsed by `parse`.
    pub(super) fn read<T, E: ToString>(
        &self,
        name: &str,
        parse: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Result<Option<T>, String> {
        let read = self.text(name).map(parse).transpose();
        read.map_err(|error| format!("`{name}`: {}", error.to_string()))
    }

    /// The same for a field that must not be empty.
    pub(super) fn needed<T, E: ToString>(
        &self,
        name: &str,
        parse: impl FnOnce(&'a str) -> Result<T, E>,
    ) -> Result<T, String> {
        self.read(name, parse)?.ok_or_else(|| format!("`{name}` is empty"))
    }

    /// The attributes; empty fields are omitted.
    pub(super) fn attributes(&self) -> Result<Attributes, String> {
        let names = self.columns.0.keys().filter_map(|name| Some((name, name.strip_prefix(ATTRIBUTE)?)));
        let pairs = names.filter_map(|(name, attribute)| Some((attribute.to_owned(), self.text(name)?.to_owned())));
        Attributes::new(pairs.collect()).map_err(|error| format!("attributes: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(kind: SeriesKind, header: &str, mappings: &[&str]) -> Result<BTreeMap<String, usize>, String> {
        let mappings: Vec<_> = mappings.iter().map(|text| text.parse().expect("a mapping")).collect();
        let header = StringRecord::from(header.split(',').collect::<Vec<_>>());
        Columns::new(kind, &header, &mappings).map(|columns| columns.0).map_err(|error| error.to_string())
    }

    fn places<const N: usize>(places: [(&str, usize); N]) -> Result<BTreeMap<String, usize>, String> {
        Ok(places.map(|(name, index)| (name.to_owned(), index)).into())
    }

    #[test]
    fn columns_are_found_by_their_names_in_any_order() {
        let expected = places([("currency", 1), ("price", 0), ("productId", 3), ("time", 2)]);
        assert_eq!(columns(SeriesKind::Prices, "\u{feff}price, currency,time,productId", &[]), expected);
        assert_eq!(columns(SeriesKind::Prices, "cents,currency,time,sku", &["cents=price", "sku=productId"]), expected);
        assert_eq!(columns(SeriesKind::Prices, "price,currency,time,productId,note", &["note="]), expected);
        // A corrected reject file.
        assert_eq!(columns(SeriesKind::Prices, "price,currency,time,productId,line,problem", &[]), expected);
    }

    #[test]
    fn an_unknown_column_is_refused_by_name() {
        let error =
            columns(SeriesKind::Stock, "productId,type,quantity,time,resaon,x", &[]).expect_err("unknown columns");
        assert!(error.starts_with("unknown columns: `resaon`, `x`. Known columns are productId, type,"), "{error}");
        let error = columns(SeriesKind::Stock, "productId,type,time", &[]).expect_err("a column is missing");
        assert!(error.contains("no column `quantity`"), "{error}");
        for (mapping, why) in [("a=price", "no column `a`"), ("sku=prise", "no column `prise`")] {
            let error = columns(SeriesKind::Prices, "sku,price,currency,time,productId", &[mapping])
                .expect_err("a bad mapping");
            assert!(error.contains(why), "{error}");
        }
        let error =
            columns(SeriesKind::Journal, "stream,message,time,text", &["text=message"]).expect_err("two of a kind");
        assert_eq!(error, "two columns have the meaning `message`");
    }

    #[test]
    fn each_attribute_has_its_own_column() {
        let header = StringRecord::from(vec!["userId", "action", "time", "attributes.page", "attributes.from"]);
        let columns = Columns::new(SeriesKind::Activities, &header, &[]).expect("columns");
        let line = StringRecord::from(vec!["ann", "view", "2026-01-01", " 2 ", ""]);
        let attributes = columns.of(&line).attributes().expect("attributes");
        assert_eq!(attributes.pairs(), &BTreeMap::from([("page".to_owned(), "2".to_owned())]));
        assert!(!SeriesKind::Prices.has("attributes.page") && !SeriesKind::Journal.has("attributes."));
    }
}
