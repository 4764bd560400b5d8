//! The progress of a mapping's shards, for the health route.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::Serialize;

/// The shards that a mapping currently reads.
#[derive(Debug, Default)]
pub struct Progress {
    shards: Mutex<BTreeMap<String, NotedProgress>>,
    lost_at: Mutex<Option<Timestamp>>,
    /// Whether each readable shard is among them.
    is_listed: AtomicBool,
}

/// The progress of a shard, as its worker notes it.
#[derive(Debug, Clone, Default)]
pub(super) struct NotedProgress {
    /// The checkpoint.
    pub(super) sequence_number: Option<String>,
    /// The number of records that were read and are not delivered yet.
    pub(super) waiting: usize,
    /// The creation time of the oldest of them, milliseconds since the epoch.
    pub(super) oldest_ms: Option<i64>,
    /// The last poll found nothing, and all earlier records are settled.
    pub(super) caught_up: bool,
    /// The last poll that somebody wanted, if the worker had nothing to do after it.
    pub(super) rests: Option<u64>,
}

/// One shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShardProgress {
    /// The checkpoint.
    pub sequence_number: Option<String>,
    /// Records that were read and are not delivered yet.
    pub waiting_records: usize,
    /// The age of the oldest of them, milliseconds: Lambda's `IteratorAge`.
    pub iterator_age_ms: i64,
    /// The last poll found nothing, and all earlier records are settled.
    pub caught_up: bool,
}

impl Progress {
    /// Records a shard's progress.
    pub(super) fn note(&self, shard_id: &str, noted: NotedProgress) {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).insert(shard_id.to_owned(), noted);
    }

    /// When the mapping last lost records, until somebody says that it is mended.
    pub fn lost_at(&self) -> Option<Timestamp> {
        *self.lost_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_lost_at(&self, lost_at: Option<Timestamp>) {
        *self.lost_at.lock().unwrap_or_else(PoisonError::into_inner) = lost_at;
    }

    /// Whether no shard has anything to do since this poll, which somebody wanted.
    pub(super) fn rests_since(&self, wanted: u64) -> bool {
        let rests = |noted: &NotedProgress| noted.rests.is_some_and(|rests| rests >= wanted);
        self.is_listed.load(Ordering::SeqCst)
            && self.shards.lock().unwrap_or_else(PoisonError::into_inner).values().all(rests)
    }

    /// Notes that each readable shard has its worker.
    pub(super) fn set_listed(&self) {
        self.is_listed.store(true, Ordering::SeqCst);
    }

    /// Removes a drained shard. Its children have no worker yet.
    pub(super) fn forget(&self, shard_id: &str) {
        self.is_listed.store(false, Ordering::SeqCst);
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).remove(shard_id);
    }

    /// All shards that are currently read.
    pub fn shards(&self) -> BTreeMap<String, ShardProgress> {
        let now_ms = Timestamp::now().as_millisecond();
        let shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        let progress_of = |noted: &NotedProgress| ShardProgress {
            sequence_number: noted.sequence_number.clone(),
            waiting_records: noted.waiting,
            // Computed now, not when it was recorded: a batch under retry grows older meanwhile.
            iterator_age_ms: noted.oldest_ms.map_or(0, |oldest_ms| now_ms.saturating_sub(oldest_ms).max(0)),
            caught_up: noted.caught_up,
        };
        shards.iter().map(|(id, noted)| (id.clone(), progress_of(noted))).collect()
    }
}
