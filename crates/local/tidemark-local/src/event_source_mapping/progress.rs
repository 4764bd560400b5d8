//! The progress of a mapping's shards, for the health route.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::Serialize;

/// The shards that a mapping currently reads.
#[derive(Debug, Default)]
pub struct Progress {
    shards: Mutex<BTreeMap<String, NotedProgress>>,
    lost_at: Mutex<Option<Timestamp>>,
}

#[derive(Debug, Clone)]
struct NotedProgress {
    sequence_number: Option<String>,
    waiting: usize,
    oldest_ms: Option<i64>,
    caught_up: bool,
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
    /// Records a shard's progress; `oldest_ms` is the creation time of the oldest waiting record.
    pub fn note(
        &self,
        shard_id: &str,
        sequence_number: Option<&str>,
        waiting: usize,
        oldest_ms: Option<i64>,
        caught_up: bool,
    ) {
        let noted =
            NotedProgress { sequence_number: sequence_number.map(str::to_owned), waiting, oldest_ms, caught_up };
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).insert(shard_id.to_owned(), noted);
    }

    /// When the mapping last lost records, until somebody says that it is mended.
    #[must_use]
    pub fn lost_at(&self) -> Option<Timestamp> {
        *self.lost_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_lost_at(&self, lost_at: Option<Timestamp>) {
        *self.lost_at.lock().unwrap_or_else(PoisonError::into_inner) = lost_at;
    }

    /// Removes a drained shard.
    pub fn forget(&self, shard_id: &str) {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).remove(shard_id);
    }

    /// All shards that are currently read.
    #[must_use]
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
