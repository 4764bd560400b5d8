//! How far each mapping has come in each shard, kept over restarts.
//!
//! A checkpoint is replaced by writing a new file and renaming it over the old one, so that a reader after a crash finds
//! either the old or the new one. It moves only after its records are settled: after a crash, records come again, none is lost.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::window::OpenWindow;
use crate::private_files;

/// How far a mapping has come in a shard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Checkpoint {
    /// The stream; a table that was made anew has another one, and its records another story.
    pub stream_arn: String,
    /// The last record that is settled.
    pub sequence_number: Option<String>,
    /// Records older than this are passed over: where a mapping with `LATEST` began, milliseconds of the Unix epoch.
    pub since_ms: Option<i64>,
    /// The shard is closed and all its records are settled; its children may be read.
    pub drained: bool,
    /// The tumbling window that is open.
    pub window: Option<OpenWindow>,
}

/// The checkpoints of one mapping.
#[derive(Debug)]
pub(super) struct Checkpoints {
    storage: CheckpointStorage,
}

#[derive(Debug)]
enum CheckpointStorage {
    Folder(PathBuf),
    Memory(Mutex<BTreeMap<String, Checkpoint>>),
}

impl Checkpoints {
    /// Checkpoints in a folder of their own below `data`; without `data`, in memory.
    ///
    /// # Errors
    /// When the folder cannot be made.
    pub(super) fn open(data: Option<&Path>, mapping: &str) -> std::io::Result<Self> {
        let Some(data) = data else { return Ok(Self { storage: CheckpointStorage::Memory(Mutex::default()) }) };
        let folder = data.join("checkpoints").join(mapping);
        private_files::folder(&folder)?;
        Ok(Self { storage: CheckpointStorage::Folder(folder) })
    }

    /// The checkpoint of a shard of that stream. One that cannot be read counts as none, with a warning: records come again.
    #[must_use]
    pub(super) fn load(&self, stream_arn: &str, shard_id: &str) -> Option<Checkpoint> {
        let checkpoint = match &self.storage {
            CheckpointStorage::Memory(all) => all.lock().unwrap_or_else(PoisonError::into_inner).get(shard_id).cloned(),
            CheckpointStorage::Folder(folder) => read(&file(folder, shard_id)),
        };
        checkpoint.filter(|checkpoint| checkpoint.stream_arn == stream_arn)
    }

    /// Whether there is any checkpoint of that stream: the mapping has run before.
    #[must_use]
    pub(super) fn any(&self, stream_arn: &str, shard_ids: &[&str]) -> bool {
        shard_ids.iter().any(|shard_id| self.load(stream_arn, shard_id).is_some())
    }

    /// Replaces the checkpoint of a shard.
    ///
    /// # Errors
    /// When the disk refuses; the old checkpoint then still stands.
    pub(super) async fn save(&self, shard_id: &str, checkpoint: &Checkpoint) -> std::io::Result<()> {
        let path = match &self.storage {
            CheckpointStorage::Memory(all) => {
                all.lock().unwrap_or_else(PoisonError::into_inner).insert(shard_id.to_owned(), checkpoint.clone());
                return Ok(());
            }
            CheckpointStorage::Folder(folder) => file(folder, shard_id),
        };
        let bytes = serde_json::to_vec(checkpoint)?;
        tokio::task::spawn_blocking(move || replace(&path, &bytes)).await.map_err(std::io::Error::other)?
    }
}

fn file(folder: &Path, shard_id: &str) -> PathBuf {
    // Ids of other engines may hold characters that are no file name.
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    folder.join(format!("{}.json", shard_id.chars().map(safe).collect::<String>()))
}

fn read(path: &Path) -> Option<Checkpoint> {
    let bytes = std::fs::read(path).ok()?;
    serde_json::from_slice(&bytes)
        .inspect_err(|error| {
            tracing::warn!("{} is not a checkpoint ({error}): the shard is read from its beginning", path.display());
        })
        .ok()
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    let mut file = private_files::empty_file(&new)?;
    file.write_all(bytes)?;
    // Before the rename, or a power cut could leave the name on an empty file.
    file.sync_data()?;
    std::fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(sequence_number: &str) -> Checkpoint {
        Checkpoint {
            stream_arn: "arn:a".to_owned(),
            sequence_number: Some(sequence_number.to_owned()),
            ..Checkpoint::default()
        }
    }

    #[tokio::test]
    async fn a_checkpoint_survives_and_the_last_one_counts() {
        let data = tempfile::tempdir().expect("a folder");
        let checkpoints = Checkpoints::open(Some(data.path()), "f-e").expect("opened");
        checkpoints.save("shardId-1", &checkpoint("5")).await.expect("saved");
        checkpoints.save("shardId-1", &checkpoint("6")).await.expect("saved");
        let again = Checkpoints::open(Some(data.path()), "f-e").expect("opened");
        assert_eq!(again.load("arn:a", "shardId-1"), Some(checkpoint("6")));
        assert_eq!(again.load("arn:a", "shardId-2"), None);
    }

    #[tokio::test]
    async fn a_checkpoint_of_another_stream_does_not_count() {
        let data = tempfile::tempdir().expect("a folder");
        let checkpoints = Checkpoints::open(Some(data.path()), "f-e").expect("opened");
        checkpoints.save("shardId-1", &checkpoint("5")).await.expect("saved");
        assert_eq!(checkpoints.load("arn:b", "shardId-1"), None);
        assert!(checkpoints.any("arn:a", &["shardId-0", "shardId-1"]));
        assert!(!checkpoints.any("arn:b", &["shardId-0", "shardId-1"]));
    }

    #[tokio::test]
    async fn a_file_that_is_no_checkpoint_makes_the_shard_start_over() {
        let data = tempfile::tempdir().expect("a folder");
        let checkpoints = Checkpoints::open(Some(data.path()), "f-e").expect("opened");
        checkpoints.save("shardId-1", &checkpoint("5")).await.expect("saved");
        std::fs::write(data.path().join("checkpoints/f-e/shardId-1.json"), "").expect("written");
        assert_eq!(checkpoints.load("arn:a", "shardId-1"), None);
    }
}
