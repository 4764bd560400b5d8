//! Metrics of functions, streams, tables and the HTTP API for the last quarter of an hour, with
//! CloudWatch's names and units.
//!
//! CloudWatch keeps a point per minute for months; the stack keeps a point per ten seconds, as many
//! as a chart shows. The memory is bounded, however long the stack runs and whatever metrics the
//! functions log.

mod embedded;
mod series;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidemark_engine::{TableOrIndex, Usage};

pub(crate) use series::SeriesView;

use series::Series;

/// The length of a slot; the values of one slot form one point.
pub(crate) const SLOT: Duration = Duration::from_secs(10);

/// Number of kept slots: 15 minutes.
pub(crate) const SLOTS: u64 = 90;

/// Maximum number of series. The suite has about 200; the limit protects against functions that
/// generate metric names.
const SERIES_MAX: usize = 1_000;

/// The subject of a metric: CloudWatch's namespace and dimension.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// `AWS/ApiGateway` with `ApiId`; a stack has one subject for all its APIs.
    Api,
    /// `AWS/Lambda`, or the function's own namespace, with `FunctionName`.
    Function(String),
    /// `AWS/Lambda` with `EventSourceMappingUUID`; here the mapping's name.
    Mapping(String),
    /// `AWS/DynamoDB` with `TableName`, and `GlobalSecondaryIndexName` for an index.
    Table(String, Option<String>),
}

/// The collector.
#[derive(Debug)]
pub struct Metrics {
    start: Instant,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    series: BTreeMap<(Subject, String), Series>,
    /// The last reading of the engine's meter.
    usage: BTreeMap<TableOrIndex, Usage>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { start: Instant::now(), recorded: Mutex::default() }
    }
}

impl Metrics {
    /// Records a value of a metric: a duration in milliseconds, or a count.
    pub fn record(&self, subject: &Subject, metric: &str, value: f64) {
        let slot = self.slot();
        self.lock().add(slot, subject, metric, value);
    }

    /// Records the metrics of a log line in CloudWatch's embedded metric format.
    pub fn record_embedded(&self, function: &str, line: &str) {
        let (slot, subject) = (self.slot(), Subject::Function(function.to_owned()));
        let mut recorded = self.lock();
        for (metric, values) in embedded::read(line) {
            for value in values {
                recorded.add(slot, &subject, &metric, value);
            }
        }
    }

    /// Records the consumption since the last reading of a meter that only grows.
    pub fn record_usage(&self, usage: BTreeMap<TableOrIndex, Usage>) {
        let slot = self.slot();
        let mut recorded = self.lock();
        for (place, now) in &usage {
            let before = recorded.usage.get(place).copied().unwrap_or_default();
            let subject = Subject::Table(place.0.clone(), place.1.clone());
            let throttled = now.throttled.saturating_sub(before.throttled) as f64;
            for (metric, value) in [
                ("ConsumedReadCapacityUnits", now.read_units - before.read_units),
                ("ConsumedWriteCapacityUnits", now.write_units - before.write_units),
                ("ThrottledRequests", throttled),
            ] {
                if value > 0.0 {
                    recorded.add(slot, &subject, metric, value);
                }
            }
        }
        recorded.usage = usage;
    }

    /// The kept metrics of a subject, by name.
    pub fn of(&self, subject: &Subject) -> BTreeMap<String, SeriesView> {
        let slot = self.slot();
        let recorded = self.lock();
        let all = recorded.series.iter().filter(|((of, _), _)| of == subject);
        all.map(|((_, metric), series)| (metric.clone(), series.view(slot)))
            .filter(|(_, view)| view.count > 0)
            .collect()
    }

    /// The tables and indexes with metrics.
    pub fn tables(&self) -> Vec<TableOrIndex> {
        let recorded = self.lock();
        let mut places: Vec<TableOrIndex> = recorded
            .series
            .keys()
            .filter_map(|(subject, _)| match subject {
                Subject::Table(table, index) => Some((table.clone(), index.clone())),
                _ => None,
            })
            .collect();
        places.dedup();
        places
    }

    fn slot(&self) -> u64 {
        self.start.elapsed().as_secs() / SLOT.as_secs()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorded {
    fn add(&mut self, slot: u64, subject: &Subject, metric: &str, value: f64) {
        let key = (subject.clone(), metric.to_owned());
        if self.series.len() >= SERIES_MAX && !self.series.contains_key(&key) {
            return;
        }
        self.series.entry(key).or_default().add(slot, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function() -> Subject {
        Subject::Function("f".to_owned())
    }

    #[test]
    fn metrics_are_kept_by_subject_and_name() {
        let metrics = Metrics::default();
        metrics.record(&function(), "Duration", 4.0);
        metrics.record(&function(), "Errors", 1.0);
        metrics.record(&Subject::Api, "Count", 1.0);
        let of = metrics.of(&function());
        assert_eq!(of.keys().collect::<Vec<_>>(), ["Duration", "Errors"]);
        assert_eq!((of["Duration"].count, of["Duration"].maximum), (1, 4.0));
        assert!(metrics.of(&Subject::Mapping("f".to_owned())).is_empty());
    }

    #[test]
    fn the_growth_of_a_meter_is_recorded_once() {
        let metrics = Metrics::default();
        let place = || ("t".to_owned(), None);
        let usage =
            |write_units, throttled| BTreeMap::from([(place(), Usage { read_units: 0.0, write_units, throttled })]);
        for usage in [usage(2.0, 0), usage(2.0, 0), usage(5.0, 3)] {
            metrics.record_usage(usage);
        }
        assert_eq!(metrics.tables(), [place()]);
        let of = metrics.of(&Subject::Table("t".to_owned(), None));
        assert_eq!(of.keys().collect::<Vec<_>>(), ["ConsumedWriteCapacityUnits", "ThrottledRequests"]);
        assert_eq!((of["ConsumedWriteCapacityUnits"].sum, of["ThrottledRequests"].sum), (5.0, 3.0));
    }

    #[test]
    fn a_function_that_generates_metric_names_fills_no_memory() {
        let metrics = Metrics::default();
        for n in 0..2 * SERIES_MAX {
            metrics.record(&function(), &n.to_string(), 1.0);
        }
        metrics.record(&function(), "0", 1.0);
        let of = metrics.of(&function());
        assert_eq!(of.len(), SERIES_MAX);
        assert_eq!(of["0"].count, 2, "existing series still record values");
    }
}
