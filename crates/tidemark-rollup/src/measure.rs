//! Measures: the numbers that are kept for each group.

use std::fmt;

type Extract<T, V> = Box<dyn Fn(&T) -> Option<V> + Send + Sync>;

/// A number that is kept for each group. Made by [`count`], [`sum`], [`decimal_sum`], [`average`],
/// [`distinct`], [`minimum`] and [`maximum`].
pub struct Measure<T>(pub(crate) MeasureKind<T>);

pub(crate) enum MeasureKind<T> {
    Count,
    Sum { scale: u8, value: Extract<T, i64> },
    Average { value: Extract<T, i64> },
    Distinct { value: Extract<T, String> },
    Minimum { value: Extract<T, i64> },
    Maximum { value: Extract<T, i64> },
}

/// The number of items.
pub fn count<T>() -> Measure<T> {
    Measure(MeasureKind::Count)
}

/// The sum of an integer. `None` adds nothing.
pub fn sum<T, V: Into<Option<i64>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    decimal_sum(0, value)
}

/// The sum of a fixed-point decimal, which `value` gives in units of 10<sup>-scale</sup>: with a
/// scale of 2, 1999 is 19.99. The attribute has the decimal.
pub fn decimal_sum<T, V: Into<Option<i64>>>(scale: u8, value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure(MeasureKind::Sum { scale, value: Box::new(move |item| value(item).into()) })
}

/// The average of an integer, kept as two attributes: `<name>Sum` and `<name>Count`. An item
/// without a value counts in neither.
pub fn average<T, V: Into<Option<i64>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure(MeasureKind::Average { value: Box::new(move |item| value(item).into()) })
}

/// The exact number of different values, such as users. `None` is no value.
pub fn distinct<T, V: Into<Option<String>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure(MeasureKind::Distinct { value: Box::new(move |item| value(item).into()) })
}

/// The smallest value. It cannot be taken back, so it needs a rollup that retracts nothing.
pub fn minimum<T, V: Into<Option<i64>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure(MeasureKind::Minimum { value: Box::new(move |item| value(item).into()) })
}

/// The largest value. It cannot be taken back, so it needs a rollup that retracts nothing.
pub fn maximum<T, V: Into<Option<i64>>>(value: impl Fn(&T) -> V + Send + Sync + 'static) -> Measure<T> {
    Measure(MeasureKind::Maximum { value: Box::new(move |item| value(item).into()) })
}

impl<T> MeasureKind<T> {
    /// What it is called in a declaration.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum { .. } => "sum",
            Self::Average { .. } => "average",
            Self::Distinct { .. } => "distinct",
            Self::Minimum { .. } => "minimum",
            Self::Maximum { .. } => "maximum",
        }
    }

    /// The attributes of a statistic that hold the measure.
    pub(crate) fn attributes(&self, name: &str) -> Vec<String> {
        match self {
            Self::Average { .. } => vec![format!("{name}Sum"), format!("{name}Count")],
            _ => vec![name.to_owned()],
        }
    }

    /// The number of decimals of its attribute.
    pub(crate) fn scale(&self) -> u8 {
        if let Self::Sum { scale, .. } = self { *scale } else { 0 }
    }

    /// Whether the measure forgets which item gave its value, so that none can be taken back.
    pub(crate) fn is_extreme(&self) -> bool {
        matches!(self, Self::Minimum { .. } | Self::Maximum { .. })
    }
}

impl<T> fmt::Debug for Measure<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}
