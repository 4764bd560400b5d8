//! Measures: the numbers that are kept for each group.

use std::fmt;

use jiff::Timestamp;

use crate::amount::Amount;

type Extract<T, V> = Box<dyn Fn(&T) -> Option<V> + Send + Sync>;

/// The most decimals of a measure: an `i64` has 19 digits.
pub(crate) const DECIMALS_MAX: u8 = 18;

/// A number that is kept for each group. Made by [`count`], [`sum`], [`average`], [`distinct`],
/// [`minimum`], [`maximum`], [`first`] and [`last`].
pub struct Measure<T> {
    pub(crate) kind: MeasureKind<T>,
    /// The number of decimals.
    pub(crate) scale: u8,
    /// Whether an item of the table records each value, in the order of the values. The first or
    /// the last of those that items still hold is the number. Set when the rollup is built.
    pub(crate) is_ranked: bool,
}

pub(crate) enum MeasureKind<T> {
    Count,
    Sum(Extract<T, i64>),
    Average(Extract<T, i64>),
    Distinct(Extract<T, String>),
    Minimum(Extract<T, i64>),
    Maximum(Extract<T, i64>),
    First(Extract<T, (Timestamp, i64)>),
    Last(Extract<T, (Timestamp, i64)>),
}

/// The number of items.
pub fn count<T>() -> Measure<T> {
    Measure::of(MeasureKind::Count)
}

/// The sum of a number. `None` adds nothing.
pub fn sum<T, V: Into<Option<i64>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure::of(MeasureKind::Sum(Box::new(move |item| value(item).into())))
}

/// The average of a number, kept as two attributes: `<name>Sum` and `<name>Count`. An item without
/// a value counts in neither.
pub fn average<T, V: Into<Option<i64>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure::of(MeasureKind::Average(Box::new(move |item| value(item).into())))
}

/// The exact number of different values, such as users. `None` is no value.
pub fn distinct<T, V: Into<Option<String>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure::of(MeasureKind::Distinct(Box::new(move |item| value(item).into())))
}

/// The smallest number. In a rollup that takes values back, each value has an item, and the
/// smallest one that an item of the table still has is read with a query. The attribute
/// `<name>Values` then has the number of different values. A rollup that takes nothing back keeps
/// the number in the statistic.
pub fn minimum<T, V: Into<Option<i64>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure::of(MeasureKind::Minimum(Box::new(move |item| value(item).into())))
}

/// The largest number, kept like a [`minimum`].
pub fn maximum<T, V: Into<Option<i64>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure::of(MeasureKind::Maximum(Box::new(move |item| value(item).into())))
}

/// The number of the earliest item. Each time has an item, like the values of a [`minimum`]. Of two
/// numbers at one time, the smaller one is first.
pub fn first<T, V: Into<Option<(Timestamp, i64)>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure::of(MeasureKind::First(Box::new(move |item| value(item).into())))
}

/// The number of the latest item, kept like the [`first`]. Of two numbers at one time, the larger
/// one is last.
pub fn last<T, V: Into<Option<(Timestamp, i64)>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure::of(MeasureKind::Last(Box::new(move |item| value(item).into())))
}

impl<T> Measure<T> {
    fn of(kind: MeasureKind<T>) -> Self {
        let is_ranked = matches!(kind, MeasureKind::First(_) | MeasureKind::Last(_));
        Self { kind, scale: 0, is_ranked }
    }

    /// The measure is a decimal, which its closure gives in units of 10<sup>-decimals</sup>: with
    /// two decimals, 1999 is 19.99. The attribute has the decimal.
    pub fn decimals(self, decimals: u8) -> Self {
        Self { scale: decimals, ..self }
    }

    /// What it is called in a declaration.
    pub(crate) fn kind_name(&self) -> &'static str {
        match self.kind {
            MeasureKind::Count => "count",
            MeasureKind::Sum(_) => "sum",
            MeasureKind::Average(_) => "average",
            MeasureKind::Distinct(_) => "distinct",
            MeasureKind::Minimum(_) => "minimum",
            MeasureKind::Maximum(_) => "maximum",
            MeasureKind::First(_) => "first",
            MeasureKind::Last(_) => "last",
        }
    }

    /// The attributes of a statistic that hold the measure.
    pub(crate) fn attributes(&self, name: &str) -> Vec<String> {
        match self.kind {
            MeasureKind::Average(_) => vec![format!("{name}Sum"), format!("{name}Count")],
            _ if self.is_ranked => vec![format!("{name}Values")],
            _ => vec![name.to_owned()],
        }
    }

    /// The number of decimals that the measure may have.
    pub(crate) fn decimals_max(&self) -> u8 {
        if matches!(self.kind, MeasureKind::Count | MeasureKind::Distinct(_)) { 0 } else { DECIMALS_MAX }
    }

    /// Whether the statistic has the extreme itself, which forgets the item that gave its value.
    pub(crate) fn is_stored_extreme(&self) -> bool {
        self.is_extreme() && !self.is_ranked
    }

    pub(crate) fn is_extreme(&self) -> bool {
        matches!(self.kind, MeasureKind::Minimum(_) | MeasureKind::Maximum(_))
    }

    /// Whether the number is the first one of its ranks, and not the last one.
    pub(crate) fn is_first(&self) -> bool {
        matches!(self.kind, MeasureKind::Minimum(_) | MeasureKind::First(_))
    }

    /// The rank of an item's value among the others, as a text that sorts like them.
    pub(crate) fn rank(&self, item: &T) -> Option<String> {
        match &self.kind {
            MeasureKind::Minimum(value) | MeasureKind::Maximum(value) => Some(sorted(value(item)?)),
            MeasureKind::First(value) | MeasureKind::Last(value) => {
                let (at, value) = value(item)?;
                Some(format!("{:032x}-{}", at.as_nanosecond().cast_unsigned() ^ (1 << 127), sorted(value)))
            }
            _ => None,
        }
    }

    /// The number of a rank.
    pub(crate) fn ranked(&self, rank: &str) -> Option<Amount> {
        let value = rank.rsplit('-').next().filter(|value| value.len() == 16)?;
        let units = (u64::from_str_radix(value, 16).ok()? ^ (1 << 63)).cast_signed();
        Some(Amount { units: units.into(), scale: self.scale })
    }
}

/// 16 hexadecimal digits that sort like the number.
fn sorted(value: i64) -> String {
    format!("{:016x}", value.cast_unsigned() ^ (1 << 63))
}

impl<T> fmt::Debug for Measure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_sort_like_times_and_values(a in any::<(i32, i64)>(), b in any::<(i32, i64)>()) {
            let at = |(second, value): (i32, i64)| {
                (Timestamp::from_second(second.into()).expect("a time"), value)
            };
            let (last, highest) = (last(move |item| at(*item)), maximum(|(_, value): &(i32, i64)| *value));
            let ranks = |item| (last.rank(&item).expect("a value"), highest.rank(&item).expect("a value"));
            let (ranks_a, ranks_b) = (ranks(a), ranks(b));
            prop_assert_eq!(ranks_a.0.cmp(&ranks_b.0), a.cmp(&b));
            prop_assert_eq!(ranks_a.1.cmp(&ranks_b.1), a.1.cmp(&b.1));
            for rank in [&ranks_a.0, &ranks_a.1] {
                prop_assert_eq!(last.ranked(rank), Some(Amount { units: a.1.into(), scale: 0 }));
            }
        }
    }
}
