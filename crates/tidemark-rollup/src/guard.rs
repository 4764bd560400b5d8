//! Refuses a declaration or a stream that would make right statistics wrong.
//!
//! One partition of the table has an item for each rollup: the declaration that its statistics were
//! counted with, and the tables whose streams were counted. A checkpoint has the fingerprint of the
//! declaration, so a batch reads those items only if its shard is new, or if the declaration has
//! changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::aggregator::Aggregator;
use crate::declaration::Policy;
use crate::declared::Declared;
use crate::error::{StoreError, unless_condition_failed};
use crate::event::Record;
use crate::quarantine;
use crate::report::AggregateError;
use crate::shard::{Checkpoint, Shard};
use crate::table::{Item, Table};

/// The partition of the items. A name of a rollup contains no `#`, so no other item has this key.
pub(crate) const DECLARATIONS: &str = "ROLLUP#DECLARATIONS";

const DECLARATION: &str = "declaration";
const VERSION: &str = "revision";

/// How often an item is written again because another instance has written it.
const TRIES_MAX: usize = 5;

/// Why an aggregator does not count with its declaration, or from a stream. It has counted nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CountRefusal {
    /// The declaration is not the one that the statistics were counted with.
    #[error(
        "the declaration of `{rollup}` has changed ({}), so the statistics would become wrong: recount with a repair, \
         which accepts the new declaration, or declare changed_declaration(Keep) to count on at once",
        changes.join(", ")
    )]
    ChangedDeclaration {
        /// The rollup.
        rollup: String,
        /// What has changed.
        changes: Vec<String>,
    },
    /// The declaration is the same, but an item that could not be read can be read now. Its
    /// deletion would take back what was never counted.
    #[error(
        "`{rollup}` can read an item that it has put into quarantine (record {record}), so its reader has changed: raise \
         version(), then recount with a repair, or declare changed_declaration(Keep) to count on at once"
    )]
    ChangedReader {
        /// The rollup.
        rollup: String,
        /// The id of the record in quarantine.
        record: String,
    },
    /// Another rollup of the table keeps statistics under the same keys.
    #[error(
        "group `{group}` of `{rollup}` has the keys of group `{other_group}` of the rollup `{other}`: a rollup keeps its \
         name, and two rollups have different keys. If `{other}` is gone for good, delete its statistics and the item \
         {DECLARATIONS} {other}"
    )]
    OtherRollup {
        /// The rollup.
        rollup: String,
        /// Its group.
        group: String,
        /// The other rollup.
        other: String,
        /// The group of the other rollup.
        other_group: String,
    },
    /// The stream of another table than before. Most often it is a replica of the table in another
    /// region, whose stream has the same changes.
    #[error(
        "`{rollup}` has counted the stream of {}, and this one is of {table_arn}: count a global table in one region. \
         If its items are others, name the table with Aggregator::also_counting",
        counted.join(", ")
    )]
    OtherTable {
        /// The rollup.
        rollup: String,
        /// The ARN of the stream's table.
        table_arn: String,
        /// The tables that were counted.
        counted: Vec<String>,
    },
}

/// What the statistics of a rollup were counted with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) declared: Declared,
    /// The ARNs of the tables whose streams were counted.
    pub(crate) tables: BTreeSet<String>,
    /// When the declaration was accepted. Items that were quarantined before do not tell of a
    /// changed reader.
    since: Timestamp,
    #[serde(skip)]
    version: u64,
}

/// The ARN of a stream's table.
pub(crate) fn table_arn(stream_arn: &str) -> &str {
    stream_arn.split_once("/stream/").map_or(stream_arn, |(table, _)| table)
}

/// The entries of all rollups of a table, by name.
pub(crate) async fn entries(table: &Table) -> Result<BTreeMap<String, Entry>, StoreError> {
    let entry = |item: Item| {
        let (_, name) = table.key_of(&item)?;
        let text = item.get(DECLARATION)?.as_s().ok()?;
        let version = item.get(VERSION)?.as_n().ok()?.parse().ok()?;
        Some((name, Entry { version, ..serde_json::from_str(text).ok()? }))
    };
    let unreadable = || StoreError::Unreadable(format!("an item of {DECLARATIONS}"));
    table.partition(DECLARATIONS, None).await?.into_iter().map(|item| entry(item).ok_or_else(unreadable)).collect()
}

impl Entry {
    /// The item of a new rollup without its key, to know its size.
    pub(crate) fn sample(declared: Declared) -> Item {
        let tables = ["arn:aws:dynamodb:us-east-1:123456789012:table/table".to_owned()].into();
        let entry = Self { declared, tables, since: Timestamp::UNIX_EPOCH, version: 0 };
        let text = AttributeValue::S(serde_json::to_string(&entry).unwrap_or_default());
        [(DECLARATION.to_owned(), text), (VERSION.to_owned(), AttributeValue::N("1".to_owned()))].into()
    }

    /// The entry with another declaration.
    #[cfg(feature = "recount")]
    pub(crate) fn accepting(self, declared: Declared, since: Timestamp) -> Self {
        Self { declared, since, ..self }
    }

    /// Writes the entry; `false` if another instance has written one since it was read.
    pub(crate) async fn write(&self, table: &Table, rollup: &str) -> Result<bool, StoreError> {
        let text = serde_json::to_string(self).map_err(|error| StoreError::Refused(error.to_string()))?;
        let number = |number: u64| AttributeValue::N(number.to_string());
        let request = table.update_item(table.key(DECLARATIONS, rollup));
        let request = request.update_expression("SET #declaration = :declaration, #version = :next");
        // Stops two instances with different declarations or streams from both being accepted.
        let request = match self.version {
            0 => request.condition_expression("attribute_not_exists(#version)"),
            read => request.condition_expression("#version = :read").expression_attribute_values(":read", number(read)),
        };
        let request = request
            .expression_attribute_names("#declaration", DECLARATION)
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_values(":declaration", AttributeValue::S(text))
            .expression_attribute_values(":next", number(self.version + 1));
        Ok(unless_condition_failed(request.send().await)?.is_some())
    }
}

impl<T> Aggregator<T> {
    /// Allows the streams of more tables than the one that was counted first, by the ARNs of the
    /// tables. Their items must be others: the replicas of a global table have the same changes, so
    /// a global table is counted in one region.
    pub fn also_counting<A: Into<String>>(mut self, table_arns: impl IntoIterator<Item = A>) -> Self {
        self.also_counting.extend(table_arns.into_iter().map(Into::into));
        self
    }

    /// Lets the shard's records be counted with this declaration, or refuses. Requests are only
    /// made for a shard that was not counted with it yet, and once if records wait in quarantine.
    pub(crate) async fn admit(
        &self,
        shard: &Shard,
        checkpoint: &mut Checkpoint,
        now: Timestamp,
    ) -> Result<(), AggregateError> {
        let is_known = checkpoint.declaration.as_ref() == Some(&self.fingerprint);
        if is_known && (!checkpoint.has_quarantined || self.is_reader_known.load(Ordering::Relaxed)) {
            return Ok(());
        }
        let entry = self.enter(shard, now).await?;
        if self.rollup.on_modify == Policy::Retract && !self.is_reader_known.load(Ordering::Relaxed) {
            checkpoint.has_quarantined |= self.check_reader(&entry).await?;
            self.is_reader_known.store(true, Ordering::Relaxed);
        }
        checkpoint.declaration = Some(self.fingerprint.clone());
        Ok(())
    }

    /// The entry of this rollup, which has this declaration and the shard's table.
    async fn enter(&self, shard: &Shard, now: Timestamp) -> Result<Entry, AggregateError> {
        let (table, rollup) = (&self.table, &self.rollup);
        for _ in 0..TRIES_MAX {
            let mut all = entries(table).await?;
            let stored = all.remove(&rollup.name);
            let entry = match &stored {
                None => self.first_entry(shard, &all, now)?,
                Some(stored) => self.next_entry(shard, stored.clone(), now)?,
            };
            let is_stored =
                stored.is_some_and(|stored| stored.declared == entry.declared && stored.tables == entry.tables);
            if is_stored || entry.write(table, &rollup.name).await? {
                return Ok(entry);
            }
        }
        Err(StoreError::Busy(format!("the item {DECLARATIONS} {} changes all the time", rollup.name)).into())
    }

    /// The entry of a rollup that has none: a new one, or one of an earlier version of the crate.
    fn first_entry(
        &self,
        shard: &Shard,
        others: &BTreeMap<String, Entry>,
        now: Timestamp,
    ) -> Result<Entry, CountRefusal> {
        let declared = self.declared.clone();
        for (other, entry) in others {
            let Some((group, other_group)) = declared.shared_keys(&entry.declared) else { continue };
            if self.guards_declaration() {
                let (group, other_group) = (group.to_owned(), other_group.to_owned());
                let rollup = self.rollup.name.clone();
                return Err(CountRefusal::OtherRollup { rollup, group, other: other.clone(), other_group });
            }
        }
        let tables = [table_arn(shard.stream_arn()).to_owned()].into();
        Ok(Entry { declared, tables, since: now, version: 0 })
    }

    fn next_entry(&self, shard: &Shard, mut entry: Entry, now: Timestamp) -> Result<Entry, CountRefusal> {
        let rollup = || self.rollup.name.clone();
        if entry.declared != self.declared {
            let changes = self.declared.changes_since(&entry.declared);
            if self.guards_declaration() {
                return Err(CountRefusal::ChangedDeclaration { rollup: rollup(), changes });
            }
            tracing::warn!(rollup = rollup(), ?changes, "the declaration has changed, and is counted with");
            entry = Entry { declared: self.declared.clone(), since: now, ..entry };
        }
        let table_arn = table_arn(shard.stream_arn()).to_owned();
        if !entry.tables.contains(&table_arn) {
            if self.rules.guards_tables() && !self.also_counting.contains(&table_arn) {
                let counted = entry.tables.into_iter().collect();
                return Err(CountRefusal::OtherTable { rollup: rollup(), table_arn, counted });
            }
            entry.tables.insert(table_arn);
        }
        Ok(entry)
    }

    fn guards_declaration(&self) -> bool {
        self.rules.guards_declaration() && self.rollup.changed_declaration == Policy::Retract
    }

    /// Reads what waits in quarantine once more: an item that can be read now was not counted, but
    /// its next change would take it back. Returns whether records wait.
    async fn check_reader(&self, entry: &Entry) -> Result<bool, CountRefusal> {
        // A failed read refuses nothing; the next instance tries again.
        let waiting = quarantine::waiting(&self.table, &self.rollup.name).await.unwrap_or_default();
        for record in waiting.iter().filter(|_| self.guards_declaration()) {
            let is_new = record.quarantined_at.parse().is_ok_and(|at: Timestamp| at >= entry.since);
            // Of a record without a number, the reader may always have read the item.
            let is_of_item = !record.sequence_number.is_empty();
            let read = |record: &str| {
                let record: Record<'_> = serde_json::from_str(record).ok()?;
                let image: &RawValue = record.change.new_image?;
                self.read(image).ok().flatten()
            };
            if is_new && is_of_item && read(&record.record).is_some() {
                let (rollup, record) = (self.rollup.name.clone(), record.id.clone());
                return Err(CountRefusal::ChangedReader { rollup, record });
            }
        }
        Ok(!waiting.is_empty())
    }
}
