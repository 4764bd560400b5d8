//! Reads first-seen records for a recount, and writes the missing ones for a repair.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use backon::Retryable;
use domain::calendar::YearMonth;
use domain::clicks::{FirstSeen, Period, Visitor};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::first_seen::{FirstSeenKey, FirstSeenRecords, MONTH, REQUESTS_MAX, Slot, decode_record, slot_of};
use super::keys::{Item, PARTITION_KEY, SORT_KEY, first_seen_partition, is_first_seen_partition, key};
use crate::{BATCH_GET_MAX, StoreError, patient_backoff};

/// The entries of the first-seen records that a recount has read.
#[derive(Debug, Default)]
pub(super) struct FirstSeenScan(HashMap<FirstSeenKey, Vec<(Slot, FirstSeen)>>);

impl FirstSeenScan {
    /// Adds an item if it is a first-seen record.
    pub(super) fn learn(&mut self, item: &Item) {
        let text = |name| item.get(name).and_then(|value: &AttributeValue| value.as_s().ok());
        if let (Some(partition), Some(month)) = (text(PARTITION_KEY), text(SORT_KEY))
            && is_first_seen_partition(partition)
        {
            self.0.insert((partition.clone(), month.clone()), decode_record(item).collect());
        }
    }

    /// The entry of a user for a day or a month.
    pub(super) fn get(&self, period: Period, user_id: &str) -> Option<FirstSeen> {
        let (slot, month) = slot_and_month(period)?;
        let entries = self.0.get(&(first_seen_partition(user_id), month.to_string()))?;
        entries.iter().find(|(of, _)| *of == slot).map(|(_, first_seen)| *first_seen)
    }
}

/// The entry and the month of a period. The total has none.
fn slot_and_month(period: Period) -> Option<(Slot, YearMonth)> {
    match period {
        Period::Day(day) => Some((slot_of(day), YearMonth::of(day))),
        Period::Month(month) => Some((MONTH, month)),
        Period::Total => None,
    }
}

impl FirstSeenRecords {
    /// Reads the first-seen records of some users in some months, strongly consistently. `read` is
    /// called after each request, with its records and its read units.
    pub(super) async fn read(
        &self,
        users: &BTreeSet<(&str, YearMonth)>,
        mut read: impl FnMut(&[Item], f64),
    ) -> Result<(), StoreError> {
        let keys = users.iter().map(|(user_id, month)| key(first_seen_partition(user_id), month.to_string()));
        let keys: Vec<_> = keys.collect();
        let mut answers = stream::iter(keys.chunks(BATCH_GET_MAX))
            .map(|keys| self.table.batch_get_metered(keys.to_vec(), true, ReturnConsumedCapacity::Total))
            .buffer_unordered(REQUESTS_MAX);
        while let Some((first_seen_records, read_units)) = answers.try_next().await? {
            read(&first_seen_records, read_units);
        }
        Ok(())
    }

    /// Writes `first_seen` for visitors without an entry. Returns the visitors for whom another
    /// entry was written in the meantime.
    pub(super) async fn insert_missing(
        &self,
        first_seen: FirstSeen,
        visitors: &[Visitor],
    ) -> Result<Vec<Visitor>, StoreError> {
        let mut first_seen_records: BTreeMap<FirstSeenKey, Vec<(Slot, &Visitor)>> = BTreeMap::new();
        for visitor in visitors {
            let Some((slot, month)) = slot_and_month(visitor.0) else { continue };
            let key = (first_seen_partition(&visitor.1), month.to_string());
            first_seen_records.entry(key).or_default().push((slot, visitor));
        }
        let recorded_since = stream::iter(&first_seen_records).map(|(key, visitors)| async move {
            let entries: Vec<_> = visitors.iter().map(|(slot, _)| (*slot, first_seen)).collect();
            let record_item =
                (|| self.write(key, &entries)).retry(patient_backoff()).when(StoreError::is_transient).await?;
            let entries_read: HashMap<_, _> = decode_record(&record_item).collect();
            let others = visitors.iter().filter(|(slot, _)| entries_read.get(slot) != Some(&first_seen));
            Ok::<Vec<Visitor>, StoreError>(others.map(|(_, visitor)| Visitor::clone(visitor)).collect())
        });
        Ok(recorded_since.buffer_unordered(REQUESTS_MAX).try_collect::<Vec<_>>().await?.concat())
    }
}
