//! Markers as a recount reads them, and as a repair makes them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use backon::Retryable;
use domain::calendar::YearMonth;
use domain::clicks::{Claim, Period, Visitor};
use futures::stream::{self, StreamExt, TryStreamExt};

use super::keys::{Item, PARTITION_KEY, SORT_KEY, is_marker_partition, key, marker_partition};
use super::markers::{MONTH, MarkerKey, Markers, REQUESTS_MAX, Slot, read_claims, slot_of};
use super::repair::patience;
use crate::{BATCH_GET_MAX, StoreError};

/// Claims that stand.
#[derive(Debug, Default)]
pub(super) struct Marks(HashMap<MarkerKey, Vec<(Slot, Claim)>>);

impl Marks {
    /// Takes an item in if it is a marker.
    pub(super) fn learn(&mut self, item: &Item) {
        let text = |name| item.get(name).and_then(|value: &AttributeValue| value.as_s().ok());
        if let (Some(partition), Some(month)) = (text(PARTITION_KEY), text(SORT_KEY))
            && is_marker_partition(partition)
        {
            self.0.insert((partition.clone(), month.clone()), read_claims(item).collect());
        }
    }

    /// The claim that stands for a user in a day or a month.
    pub(super) fn claim(&self, period: Period, user_id: &str) -> Option<Claim> {
        let (slot, month) = slot_and_month(period)?;
        let claims = self.0.get(&(marker_partition(user_id), month.to_string()))?;
        claims.iter().find(|(of, _)| *of == slot).map(|(_, claim)| *claim)
    }
}

/// Where a period's claims are; the total has none.
fn slot_and_month(period: Period) -> Option<(Slot, YearMonth)> {
    match period {
        Period::Day(day) => Some((slot_of(day), YearMonth::of(day))),
        Period::Month(month) => Some((MONTH, month)),
        Period::Total => None,
    }
}

impl Markers {
    /// Reads what is claimed by some users in some months, consistently. `read` hears of each request: its markers and its read units.
    pub(super) async fn read(
        &self,
        users: &BTreeSet<(&str, YearMonth)>,
        mut read: impl FnMut(&[Item], f64),
    ) -> Result<(), StoreError> {
        let keys = users.iter().map(|(user_id, month)| key(marker_partition(user_id), month.to_string()));
        let keys: Vec<_> = keys.collect();
        let mut answers = stream::iter(keys.chunks(BATCH_GET_MAX))
            .map(|keys| self.table.batch_get_metered(keys.to_vec(), true, ReturnConsumedCapacity::Total))
            .buffer_unordered(REQUESTS_MAX);
        while let Some((markers, read_units)) = answers.try_next().await? {
            read(&markers, read_units);
        }
        Ok(())
    }

    /// Makes `claim` for visitors that nobody has claimed, and tells whom somebody else has claimed after all.
    pub(super) async fn take(&self, claim: Claim, visitors: &[Visitor]) -> Result<Vec<Visitor>, StoreError> {
        let mut markers: BTreeMap<MarkerKey, Vec<(Slot, &Visitor)>> = BTreeMap::new();
        for visitor in visitors {
            let Some((slot, month)) = slot_and_month(visitor.0) else { continue };
            let key = (marker_partition(&visitor.1), month.to_string());
            markers.entry(key).or_default().push((slot, visitor));
        }
        let taken = stream::iter(&markers).map(|(key, visitors)| async move {
            let claims: Vec<_> = visitors.iter().map(|(slot, _)| (*slot, claim)).collect();
            let marker = (|| self.write(key, &claims)).retry(patience()).when(StoreError::is_transient).await?;
            let standing: HashMap<_, _> = read_claims(&marker).collect();
            let taken = visitors.iter().filter(|(slot, _)| standing.get(slot) != Some(&claim));
            Ok::<Vec<Visitor>, StoreError>(taken.map(|(_, visitor)| Visitor::clone(visitor)).collect())
        });
        Ok(taken.buffer_unordered(REQUESTS_MAX).try_collect::<Vec<_>>().await?.concat())
    }
}
