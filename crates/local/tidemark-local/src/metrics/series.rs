//! One metric over time: slots with count, sum and maximum, and a histogram for percentiles.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

use super::SLOTS;

/// Histogram buckets per doubling of the value: a percentile is at most 9 % too high.
const BUCKETS_PER_DOUBLING: f64 = 8.0;

/// Values below this share the first bucket.
const VALUE_MIN: f64 = 0.01;

/// A metric's values in the last [`SLOTS`] slots.
#[derive(Debug, Default)]
pub(super) struct Series {
    /// Oldest first; slots without values are absent.
    slots: VecDeque<Slot>,
}

#[derive(Debug, Default)]
struct Slot {
    number: u64,
    count: u64,
    sum: f64,
    maximum: f64,
    /// The number of values in each bucket.
    histogram: BTreeMap<u8, u64>,
}

/// A metric as the admin routes return it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeriesView {
    /// The number of values in all slots: CloudWatch's `SampleCount`.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The largest value.
    pub maximum: f64,
    /// The median, at most 9 % too high.
    pub p50: f64,
    /// The 99th percentile, at most 9 % too high.
    pub p99: f64,
    /// Slots with values, oldest first.
    pub points: Vec<Point>,
}

/// The values of one slot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The slot's position: 0 is the oldest kept slot, [`SLOTS`] − 1 the current one.
    pub slot: u64,
    /// The number of values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The largest value.
    pub maximum: f64,
    /// The 99th percentile.
    pub p99: f64,
}

impl Series {
    /// Adds a value to the slot `number`; slot numbers never decrease.
    pub(super) fn add(&mut self, number: u64, value: f64) {
        if !value.is_finite() {
            return;
        }
        if self.slots.back().is_none_or(|last| last.number < number) {
            self.slots.push_back(Slot { number, maximum: f64::NEG_INFINITY, ..Slot::default() });
            while self.slots.front().is_some_and(|first| first.number + SLOTS <= number) {
                self.slots.pop_front();
            }
        }
        let Some(slot) = self.slots.back_mut() else { return };
        slot.count += 1;
        slot.sum += value;
        slot.maximum = slot.maximum.max(value);
        *slot.histogram.entry(bucket(value)).or_default() += 1;
    }

    /// The kept values, if `now` is the current slot.
    pub(super) fn view(&self, now: u64) -> SeriesView {
        let kept = || self.slots.iter().filter(|slot| slot.number + SLOTS > now);
        let mut histogram = BTreeMap::new();
        for (bucket, count) in kept().flat_map(|slot| &slot.histogram) {
            *histogram.entry(*bucket).or_default() += count;
        }
        let count = kept().map(|slot| slot.count).sum();
        let maximum = kept().map(|slot| slot.maximum).reduce(f64::max).unwrap_or_default();
        SeriesView {
            count,
            sum: kept().map(|slot| slot.sum).sum(),
            maximum,
            p50: percentile(&histogram, count, maximum, 0.5),
            p99: percentile(&histogram, count, maximum, 0.99),
            points: kept()
                .map(|slot| Point {
                    slot: (slot.number + SLOTS - 1).saturating_sub(now),
                    count: slot.count,
                    sum: slot.sum,
                    maximum: slot.maximum,
                    p99: percentile(&slot.histogram, slot.count, slot.maximum, 0.99),
                })
                .collect(),
        }
    }
}

fn bucket(value: f64) -> u8 {
    // The cast saturates: small values go into the first bucket, large ones into the last.
    ((value.max(VALUE_MIN) / VALUE_MIN).log2() * BUCKETS_PER_DOUBLING).ceil() as u8
}

/// The upper end of the bucket that contains the percentile, limited to `maximum`.
fn percentile(histogram: &BTreeMap<u8, u64>, count: u64, maximum: f64, share: f64) -> f64 {
    let wanted = (count as f64 * share).ceil() as u64;
    let mut seen = 0;
    for (bucket, count) in histogram {
        seen += count;
        if seen >= wanted {
            let end = if *bucket == 0 { 0.0 } else { VALUE_MIN * (f64::from(*bucket) / BUCKETS_PER_DOUBLING).exp2() };
            return end.min(maximum);
        }
    }
    maximum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_slot_is_a_point_with_count_sum_and_maximum() {
        let mut series = Series::default();
        for (slot, value) in [(7, 3.0), (7, 5.0), (9, 1.0)] {
            series.add(slot, value);
        }
        let view = series.view(9);
        let points: Vec<_> =
            view.points.iter().map(|point| (point.slot, point.count, point.sum, point.maximum)).collect();
        assert_eq!(points, [(SLOTS - 3, 2, 8.0, 5.0), (SLOTS - 1, 1, 1.0, 1.0)]);
        assert_eq!((view.count, view.sum, view.maximum), (3, 9.0, 5.0));
    }

    #[test]
    fn old_values_are_dropped_even_without_new_values() {
        let mut series = Series::default();
        series.add(0, 1.0);
        assert_eq!(series.view(SLOTS - 1).points[0].slot, 0);
        assert_eq!(series.view(SLOTS).count, 0);
        for slot in 0..10 * SLOTS {
            series.add(slot, 1.0);
        }
        assert_eq!(series.slots.len() as u64, SLOTS);
    }

    #[test]
    fn an_empty_series_is_zero_and_invalid_numbers_are_ignored() {
        let mut series = Series::default();
        series.add(1, f64::NAN);
        series.add(1, f64::INFINITY);
        let view = series.view(1);
        assert_eq!((view.count, view.sum, view.maximum, view.p50, view.p99), (0, 0.0, 0.0, 0.0, 0.0));
        series.add(1, 0.0);
        assert_eq!(series.view(1).p99, 0.0);
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_exact_value_or_slightly_more(
            mut values in proptest::collection::vec(0.02..1e6, 1..200),
            slots in proptest::collection::vec(0..SLOTS, 200),
        ) {
            let mut slots = slots[..values.len()].to_vec();
            slots.sort_unstable();
            let mut series = Series::default();
            for (slot, value) in slots.iter().zip(&values) {
                series.add(*slot, *value);
            }
            values.sort_by(f64::total_cmp);
            let view = series.view(SLOTS - 1);
            for (share, reported) in [(0.5, view.p50), (0.99, view.p99)] {
                let exact = values[(values.len() as f64 * share).ceil() as usize - 1];
                prop_assert!((exact * 0.999..=exact * 1.0906).contains(&reported), "{reported} for {exact}");
            }
            prop_assert_eq!(view.maximum, values[values.len() - 1]);
        }
    }
}
