//! A token bucket, as DynamoDB's partitions and API Gateway's throttles have them.

/// Admits a request while tokens are left. A request may take the bucket into debt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    per_s: f64,
    level: f64,
}

impl Bucket {
    /// A bucket without saved tokens, for the long-run rate.
    pub(crate) fn new(per_s: f64) -> Self {
        Self { per_s, level: 0.0 }
    }

    /// One that has a second's worth.
    pub(crate) fn full(per_s: f64) -> Self {
        Self { per_s, level: per_s }
    }

    /// Some time goes by.
    pub(crate) fn refill(&mut self, seconds: f64) {
        self.level = (self.level + self.per_s * seconds).min(self.per_s);
    }

    /// Whether there is something left.
    pub(crate) fn has_room(&self) -> bool {
        self.level > 0.0
    }

    /// Takes what something costs.
    pub(crate) fn take(&mut self, units: f64) {
        self.level -= units;
    }
}
