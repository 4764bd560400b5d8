//! Markers: who saw a user first in a month, and on each of its days.
//!
//! One item for each user and month, with an attribute `m` for the month and `d01` to `d31` for its days. Each holds the claim
//! that stands, in 25 bytes, so that a month of daily visits still fits the one kilobyte that a write unit pays for.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use domain::clicks::{Claim, LaneId, SequenceNumber, Standing, Visit};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::civil::Date;

use super::keys::{Item, PARTITION_KEY, SORT_KEY, key, marker_partition};
use crate::{BATCH_GET_MAX, StoreError, Table};

/// How many requests of one batch are under way at once.
pub(super) const REQUESTS_MAX: usize = 32;

/// How many users' months an instance remembers: about ten megabytes.
const KNOWN_MARKERS_MAX: usize = 50_000;

/// A period within a marker: 0 is the month, 1 to 31 are its days.
pub(super) type Slot = u8;

pub(super) const MONTH: Slot = 0;

pub(super) fn slot_of(day: Date) -> Slot {
    day.day().unsigned_abs()
}

fn attribute(slot: Slot) -> String {
    match slot {
        MONTH => "m".to_owned(),
        day => format!("d{day:02}"),
    }
}

fn read_slot(attribute: &str) -> Option<Slot> {
    match attribute {
        "m" => Some(MONTH),
        day => day.strip_prefix('d')?.parse().ok(),
    }
}

/// 8 bytes of lane, 17 of sequence number.
fn write_claim(claim: Claim) -> AttributeValue {
    let mut bytes = claim.lane.0.to_vec();
    bytes.extend(claim.sequence_number.to_bytes());
    AttributeValue::B(Blob::new(bytes))
}

fn read_claim(value: &AttributeValue) -> Option<Claim> {
    let (lane, number) = value.as_b().ok()?.as_ref().split_at_checked(8)?;
    let sequence_number = SequenceNumber::from_bytes(number.try_into().ok()?);
    Some(Claim { lane: LaneId(lane.try_into().ok()?), sequence_number })
}

pub(super) fn read_claims(marker: &Item) -> impl Iterator<Item = (Slot, Claim)> {
    marker.iter().filter_map(|(name, value)| Some((read_slot(name)?, read_claim(value)?)))
}

/// Claims that stand, as far as this instance has seen. A claim that stands never changes, so what is known stays true; whether
/// it has been *counted* is for [`Claim::is_uncounted_by`] to say, each time anew.
#[derive(Debug, Default)]
pub struct KnownClaims {
    markers: HashMap<MarkerKey, HashMap<Slot, Claim>>,
}

/// Partition and sort key of a marker.
pub(super) type MarkerKey = (String, String);

fn marker_key(visit: &Visit<'_>) -> MarkerKey {
    (marker_partition(visit.user_id), visit.month.to_string())
}

impl KnownClaims {
    fn learn(&mut self, key: MarkerKey, marker: &Item) {
        if self.markers.len() >= KNOWN_MARKERS_MAX {
            self.markers.clear();
        }
        self.markers.entry(key).or_default().extend(read_claims(marker));
    }

    /// Whether `lane` still has to ask for a period of a visit.
    fn is_open(&self, key: &MarkerKey, slot: Slot, lane: LaneId, checkpoint: Option<SequenceNumber>) -> bool {
        let claim = self.markers.get(key).and_then(|claims| claims.get(&slot));
        claim.is_none_or(|claim| claim.is_uncounted_by(lane, checkpoint))
    }
}

/// Claims visits. Its requests are `UpdateItem` and `BatchGetItem`.
#[derive(Debug, Clone)]
pub struct Markers {
    pub(super) table: Table,
}

impl Markers {
    /// The markers in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Claims for `lane` whatever of the visits nobody has claimed, and tells for each the claims that stand.
    ///
    /// What `known` or a batched read shows to be counted already, or another lane's, is not asked again; those are hints, and
    /// only a write decides. An own claim that is still uncounted is never skipped, however it is known.
    pub async fn claim(
        &self,
        known: &mut KnownClaims,
        lane: LaneId,
        checkpoint: Option<SequenceNumber>,
        visits: &[Visit<'_>],
    ) -> Result<Vec<Standing>, StoreError> {
        let keys: Vec<_> = visits.iter().map(marker_key).collect();
        self.read_unknown(known, &keys).await?;

        let open: Vec<Vec<(Slot, Claim)>> = visits
            .iter()
            .zip(&keys)
            .map(|(visit, key)| {
                let days = visit.days.iter().map(|(day, first)| (slot_of(*day), *first));
                std::iter::once((MONTH, visit.first))
                    .chain(days)
                    .filter(|(slot, _)| known.is_open(key, *slot, lane, checkpoint))
                    .map(|(slot, sequence_number)| (slot, Claim { lane, sequence_number }))
                    .collect()
            })
            .collect();
        let writes = open.iter().zip(&keys).enumerate().filter(|(_, (claims, _))| !claims.is_empty());
        let markers: Vec<(usize, Item)> = stream::iter(writes)
            .map(|(index, (claims, key))| async move { Ok::<_, StoreError>((index, self.write(key, claims).await?)) })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;

        let settled = |visit: &Visit<'_>| Standing { month: None, days: vec![None; visit.days.len()] };
        let mut standing: Vec<_> = visits.iter().map(settled).collect();
        for (index, marker) in markers {
            let claims: HashMap<_, _> = read_claims(&marker).collect();
            let stands =
                |slot: Slot| open[index].iter().any(|(asked, _)| *asked == slot).then(|| claims.get(&slot).copied());
            standing[index].month = stands(MONTH).flatten();
            for ((day, _), claim) in visits[index].days.iter().zip(&mut standing[index].days) {
                *claim = stands(slot_of(*day)).flatten();
            }
            known.learn(keys[index].clone(), &marker);
        }
        Ok(standing)
    }

    /// Reads the markers of visitors that this instance has not met. An eventually consistent read of a marker costs a tenth
    /// of what claiming in vain does.
    async fn read_unknown(&self, known: &mut KnownClaims, keys: &[MarkerKey]) -> Result<(), StoreError> {
        let unknown: Vec<_> = keys.iter().filter(|key| !known.markers.contains_key(*key)).collect();
        let markers: Vec<Vec<Item>> = stream::iter(unknown.chunks(BATCH_GET_MAX))
            .map(|keys| {
                self.table.batch_get(keys.iter().map(|(partition, month)| key(partition, month)).collect(), false)
            })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;
        for marker in markers.iter().flatten() {
            let text = |name| marker.get(name).and_then(|value| value.as_s().ok()).cloned();
            if let (Some(partition), Some(month)) = (text(PARTITION_KEY), text(SORT_KEY)) {
                known.learn((partition, month), marker);
            }
        }
        Ok(())
    }

    pub(super) async fn write(
        &self,
        (partition, month): &MarkerKey,
        claims: &[(Slot, Claim)],
    ) -> Result<Item, StoreError> {
        let mut request = self.table.update_item(key(partition, month));
        let mut sets = Vec::with_capacity(claims.len());
        for (slot, claim) in claims {
            let name = attribute(*slot);
            // Stops two lanes from both counting a visitor: the first claim stands, and everybody reads back the same one.
            sets.push(format!("{name} = if_not_exists({name}, :{name})"));
            request = request.expression_attribute_values(format!(":{name}"), write_claim(*claim));
        }
        let request = request.update_expression(format!("SET {}", sets.join(", "))).return_values(ReturnValue::AllNew);
        let marker = request.send().await?.attributes.unwrap_or_default();
        let stands = |slot: &Slot| marker.get(&attribute(*slot)).and_then(read_claim).is_some();
        if !claims.iter().all(|(slot, _)| stands(slot)) {
            return Err(StoreError::unreadable("a marker without the claim that was just made"));
        }
        Ok(marker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_takes_25_bytes_and_reads_back() {
        let claim = Claim { lane: LaneId([7; 8]), sequence_number: "9".repeat(40).parse().expect("digits") };
        let written = write_claim(claim);
        assert_eq!(written.as_b().map(|blob| blob.as_ref().len()), Ok(25));
        assert_eq!(read_claim(&written), Some(claim));
        assert_eq!(read_claim(&AttributeValue::S("x".to_owned())), None);
        assert_eq!(read_claim(&AttributeValue::B(Blob::new([0; 24]))), None);
    }
}
