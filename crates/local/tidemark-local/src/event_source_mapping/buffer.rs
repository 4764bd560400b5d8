//! Records that were read from a shard and wait for their batch.

use std::collections::VecDeque;

use super::record::StreamRecord;
use super::window::{Admission, Windows};

/// The undelivered records of a shard, in the shard's order.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    records: VecDeque<StreamRecord>,
    wanted: usize,
    size_bytes: usize,
}

/// Limits of a batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchLimits {
    /// `BatchSize`.
    pub records_max: usize,
    /// The space for records in the invocation's payload.
    pub size_bytes_max: usize,
}

/// The buffer's next output.
#[derive(Debug)]
pub(super) enum NextBatch {
    /// Records for one invocation.
    Batch(Batch),
    /// The filters dropped all records up to this sequence number.
    Skipped(String),
    /// The open window must end first; the waiting records belong to a later one.
    EndWindow,
    /// The buffer is empty.
    Nothing,
}

/// Records for one invocation.
#[derive(Debug)]
pub(super) struct Batch {
    /// The records that passed the filters; never empty.
    pub records: Vec<StreamRecord>,
    /// The checkpoint once all records are settled. It includes dropped records that follow them.
    pub through: String,
    /// The start of their tumbling window, milliseconds since the epoch; unused without windows.
    pub window_start_ms: i64,
}

impl Buffer {
    /// Appends a page of the shard.
    pub(super) fn extend(&mut self, records: impl IntoIterator<Item = StreamRecord>) {
        for record in records {
            self.wanted += usize::from(record.event.is_some());
            self.size_bytes += record.size_bytes();
            self.records.push_back(record);
        }
    }

    /// Whether a full batch is buffered.
    pub(super) fn is_full(&self, limits: BatchLimits) -> bool {
        self.wanted >= limits.records_max || self.size_bytes >= limits.size_bytes_max
    }

    /// Whether the buffer is empty; a record that the filters dropped counts as well.
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The number of waiting records that passed the filters, and the creation time of the first,
    /// milliseconds since the epoch.
    pub(super) fn waiting(&self) -> (usize, Option<i64>) {
        let first = self.records.iter().find(|record| record.event.is_some());
        (self.wanted, first.map(|record| record.created_ms))
    }

    /// Takes the next batch: in order, within the limits, and from one window.
    pub(super) fn take(&mut self, limits: BatchLimits, windows: Option<&Windows>) -> NextBatch {
        let mut batch: Vec<StreamRecord> = Vec::new();
        let mut through = None;
        let (mut size_bytes, mut window_start_ms) = (0, 0);
        while let Some(record) = self.records.front() {
            if record.event.is_some() {
                let is_full =
                    batch.len() >= limits.records_max || size_bytes + record.size_bytes() > limits.size_bytes_max;
                if is_full && !batch.is_empty() {
                    break;
                }
                match windows.map(|windows| windows.admit(record.created_ms)) {
                    Some(Admission::EndFirst) if batch.is_empty() && through.is_none() => return NextBatch::EndWindow,
                    Some(Admission::EndFirst) => break,
                    Some(Admission::Window(start_ms)) if !batch.is_empty() && start_ms > window_start_ms => break,
                    Some(Admission::Window(start_ms)) if batch.is_empty() => window_start_ms = start_ms,
                    Some(Admission::Window(_)) | None => {}
                }
            }
            let Some(record) = self.records.pop_front() else { break };
            through = Some(record.sequence_number.clone());
            if record.event.is_some() {
                size_bytes += record.size_bytes();
                self.wanted -= 1;
                batch.push(record);
            }
        }
        self.size_bytes -= size_bytes;
        match through {
            None => NextBatch::Nothing,
            Some(through) if batch.is_empty() => NextBatch::Skipped(through),
            Some(through) => NextBatch::Batch(Batch { records: batch, through, window_start_ms }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::value::RawValue;

    use super::*;

    const WIDE: BatchLimits = BatchLimits { records_max: 100, size_bytes_max: 1_000 };

    /// Sequence numbers count from 1. An upper-case letter is a record that passes the filters; the
    /// filters drop the others.
    fn buffer(records: &str, created_ms: impl Fn(usize) -> i64) -> Buffer {
        let mut buffer = Buffer::default();
        buffer.extend(records.chars().enumerate().map(|(at, letter)| StreamRecord {
            sequence_number: (at + 1).to_string(),
            created_ms: created_ms(at),
            event: letter.is_uppercase().then(|| RawValue::from_string("\"123456789\"".to_owned()).expect("JSON")),
        }));
        buffer
    }

    fn batch(taken: NextBatch) -> (Vec<String>, String) {
        match taken {
            NextBatch::Batch(batch) => {
                (batch.records.into_iter().map(|record| record.sequence_number).collect(), batch.through)
            }
            other => panic!("no batch: {other:?}"),
        }
    }

    #[test]
    fn a_batch_moves_past_the_dropped_records_around_it() {
        let mut buffer = buffer("aBcDee", |_| 0);
        assert_eq!(batch(buffer.take(WIDE, None)), (vec!["2".to_owned(), "4".to_owned()], "6".to_owned()));
        assert!(buffer.is_empty());
        assert!(matches!(buffer.take(WIDE, None), NextBatch::Nothing));
    }

    #[test]
    fn dropped_records_alone_are_skipped() {
        assert!(matches!(buffer("abc", |_| 0).take(WIDE, None), NextBatch::Skipped(through) if through == "3"));
    }

    #[test]
    fn a_batch_ends_at_its_number_of_records() {
        let mut buffer = buffer("ABC", |_| 0);
        let limits = BatchLimits { records_max: 2, ..WIDE };
        assert!(buffer.is_full(limits));
        assert_eq!(batch(buffer.take(limits, None)).1, "2");
        assert!(!buffer.is_full(limits));
        assert_eq!(batch(buffer.take(limits, None)).1, "3");
    }

    #[test]
    fn batch_respects_its_size_but_holds_at_least_one_record() {
        let mut buffer = buffer("ABC", |_| 0);
        assert_eq!(batch(buffer.take(BatchLimits { size_bytes_max: 25, ..WIDE }, None)).1, "2");
        assert_eq!(batch(buffer.take(BatchLimits { size_bytes_max: 1, ..WIDE }, None)).1, "3");
    }

    #[test]
    fn a_batch_holds_records_of_one_window() {
        let windows = Windows::new(Duration::from_secs(1), None);
        let mut buffer = buffer("ABCD", |at| [0, 999, 1_000, 500][at]);
        assert_eq!(batch(buffer.take(WIDE, Some(&windows))).1, "2");
        let NextBatch::Batch(next) = buffer.take(WIDE, Some(&windows)) else { panic!("a batch") };
        assert_eq!((next.window_start_ms, next.records.len()), (1_000, 2), "a late record joins the later window");
    }

    #[test]
    fn open_window_ends_before_records_of_a_later_window() {
        let mut windows = Windows::new(Duration::from_secs(1), None);
        windows.carry(0, serde_json::Map::new());
        let mut buffer = buffer("aBC", |_| 1_000);
        assert!(matches!(buffer.take(WIDE, Some(&windows)), NextBatch::Skipped(through) if through == "1"));
        assert!(matches!(buffer.take(WIDE, Some(&windows)), NextBatch::EndWindow));
        windows.end();
        assert_eq!(batch(buffer.take(WIDE, Some(&windows))).1, "3");
    }
}
