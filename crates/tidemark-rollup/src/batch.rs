//! Sorts the records of a batch: changes to count, unreadable records, and records to ignore.

use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::SequenceNumber;
use crate::contribution::{Change, Contribution, StatKey};
use crate::declaration::{Policy, Rollup};
use crate::event::Record;
use crate::rules::Rules;
use crate::table::Table;

/// Why an item cannot be counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// A stable name of the reason, for example for a metric: `price-missing`.
    pub code: String,
    /// The reason, for people.
    pub message: String,
}

impl DecodeError {
    /// An error with its stable code.
    pub fn new(code: impl Into<String>, message: impl fmt::Display) -> Self {
        Self { code: code.into(), message: message.to_string() }
    }
}

/// Reads an image; `None` for an item that is not counted.
pub(crate) type Decode<T> = Box<dyn Fn(&RawValue) -> Result<Option<T>, DecodeError> + Send + Sync>;

/// Reads an image as any type that serde can deserialize.
pub(crate) fn decode_item<T: DeserializeOwned>(image: &RawValue) -> Result<Option<T>, DecodeError> {
    let item: serde_dynamo::Item =
        serde_json::from_str(image.get()).map_err(|error| DecodeError::new("image", error))?;
    serde_dynamo::from_item(item).map(Some).map_err(|error| DecodeError::new("item", error))
}

/// What the records of a batch are read with.
pub(crate) struct Reader<'r, T> {
    pub(crate) rollup: &'r Rollup<T>,
    pub(crate) table: &'r Table,
    pub(crate) decode: &'r Decode<T>,
    pub(crate) rules: Rules,
}

/// A batch, sorted by the kinds of work.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    /// In the order of the shard, without duplicates.
    pub(crate) changes: Vec<CountedChange>,
    pub(crate) unreadable: Vec<Unreadable<'a>>,
    /// Records that change no statistic.
    pub(crate) ignored: u64,
    /// The numbers of all records, of any kind.
    pub(crate) numbers: Vec<SequenceNumber>,
    /// The last record of the batch, of any kind.
    pub(crate) last: Option<SequenceNumber>,
}

/// A record that changes statistics.
#[derive(Debug)]
pub(crate) struct CountedChange {
    pub(crate) number: SequenceNumber,
    /// The number as Lambda spells it.
    spelled: String,
    made_at: Option<Timestamp>,
    pub(crate) contributions: Contributions,
}

/// What a change adds to each statistic.
pub(crate) type Contributions = BTreeMap<StatKey, Contribution>;

/// A record that goes to quarantine.
#[derive(Debug)]
pub(crate) struct Unreadable<'a> {
    /// `None` if it cannot be read either.
    pub(crate) number: Option<(SequenceNumber, String)>,
    pub(crate) why: DecodeError,
    pub(crate) raw: &'a RawValue,
}

/// The stream does not have the images that the policies need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MissingImage;

impl<'a> Batch<'a> {
    pub(crate) fn of<T>(reader: &Reader<'_, T>, records: &[&'a RawValue]) -> Result<Self, MissingImage> {
        let mut batch = Self { changes: Vec::with_capacity(records.len()), ..Self::default() };
        for raw in records {
            batch.add(reader, raw)?;
        }
        // Lambda promises the shard's order. Sorting costs almost nothing while that holds.
        batch.changes.sort_by_key(|change| change.number);
        batch.changes.dedup_by_key(|change| change.number);
        Ok(batch)
    }

    fn add<T>(&mut self, reader: &Reader<'_, T>, raw: &'a RawValue) -> Result<(), MissingImage> {
        let record: Record<'_> = match serde_json::from_str(raw.get()) {
            Ok(record) => record,
            Err(error) => {
                let why = DecodeError::new("record", error);
                self.unreadable.push(Unreadable { number: None, why, raw });
                return Ok(());
            }
        };
        let Ok(number) = record.change.sequence_number.parse() else {
            let why = DecodeError::new("sequence-number", "the sequence number is not 1 to 40 digits");
            self.unreadable.push(Unreadable { number: None, why, raw });
            return Ok(());
        };
        self.last = self.last.max(Some(number));
        self.numbers.push(number);
        let spelled = || record.change.sequence_number.to_string();
        let (contributions, unreadable) = reader.contributions(&record)?;
        if contributions.is_empty() {
            self.ignored += u64::from(unreadable.is_none());
        } else {
            let made_at = record.change.made_at();
            self.changes.push(CountedChange { number, spelled: spelled(), made_at, contributions });
        }
        if let Some(why) = unreadable {
            self.unreadable.push(Unreadable { number: Some((number, spelled())), why, raw });
        }
        Ok(())
    }

    /// The first record after `checkpoint` that is to be counted or quarantined, as Lambda spells
    /// it.
    pub(crate) fn first_after(&self, checkpoint: Option<SequenceNumber>) -> Option<String> {
        let changes = self.changes.iter().map(|change| (change.number, &change.spelled));
        let unreadable = self.unreadable.iter().filter_map(|record| record.number.as_ref());
        let all = changes.chain(unreadable.map(|(number, spelled)| (*number, spelled)));
        let new = all.filter(|(number, _)| checkpoint.is_none_or(|checkpoint| *number > checkpoint));
        new.min_by_key(|(number, _)| *number).map(|(_, spelled)| spelled.clone())
    }

    /// How long the first change after `checkpoint` has been in the table.
    pub(crate) fn lag(&self, checkpoint: Option<SequenceNumber>, now: Timestamp) -> Option<SignedDuration> {
        let mut new = self.changes.iter().filter(|change| checkpoint.is_none_or(|at| change.number > at));
        new.next()?.made_at.map(|made_at| now.duration_since(made_at))
    }
}

impl<T> Reader<'_, T> {
    /// What a record changes, and why its new image cannot be read.
    fn contributions(&self, record: &Record<'_>) -> Result<(Contributions, Option<DecodeError>), MissingImage> {
        let [partition_key, sort_key] = self.table.key_names();
        let key = record.change.key(partition_key).zip(record.change.key(sort_key));
        if key.is_some_and(|(partition, sort)| self.rollup.owns(&partition, &sort)) {
            return Ok(Default::default());
        }
        let is_expiry = record.is_expiry();
        let (needs_old, needs_new) = match &*record.event_name {
            "INSERT" => (false, true),
            "MODIFY" if self.rollup.on_modify == Policy::Retract => (true, true),
            "REMOVE" if is_expiry => (self.rollup.on_ttl == Policy::Retract, false),
            "REMOVE" => (self.rollup.on_remove == Policy::Retract, false),
            _ => (false, false),
        };
        let old = needs_old.then(|| record.change.old_image.ok_or(MissingImage)).transpose()?;
        let new = needs_new.then(|| record.change.new_image.ok_or(MissingImage)).transpose()?;
        // An item that could not be read was not counted, so there is nothing to take back.
        let old = old.and_then(|image| self.read(image).ok().flatten());
        let (new, unreadable) = match new.map(|image| self.read(image)) {
            Some(Err(why)) => (None, Some(why)),
            Some(Ok(new)) => (new, None),
            None => (None, None),
        };
        let change = match (old, new) {
            (Some(old), Some(new)) => Change::Modify { old, new },
            (None, Some(new)) => Change::Insert(new),
            (Some(old), None) if needs_new => Change::Withdraw(old),
            (Some(old), None) if is_expiry => Change::Expire(old),
            (Some(old), None) => Change::Remove(old),
            (None, None) => return Ok((Contributions::new(), unreadable)),
        };
        Ok((self.rules.contributions(self.rollup, change), unreadable))
    }

    pub(crate) fn read(&self, image: &RawValue) -> Result<Option<T>, DecodeError> {
        let item = (self.decode)(image)?;
        if let Some(item) = &item {
            self.rollup.check(item).map_err(|error| DecodeError::new(error.code(), error))?;
        }
        Ok(item)
    }
}
