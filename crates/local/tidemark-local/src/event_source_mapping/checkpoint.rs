//! The progress of each mapping in each shard; it survives restarts.
//!
//! A checkpoint is replaced by writing a new file and renaming it over the old one, so a crash
//! leaves either the old or the new file. A checkpoint moves only after its records are settled:
//! after a crash, records are delivered again, and none is lost.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::window::OpenWindow;
use crate::private_files;

/// The file beside the checkpoints of a mapping that has lost records.
const LOST: &str = "lost";

/// A mapping's progress in a shard.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Checkpoint {
    /// The stream. A recreated table has a new stream, so the old checkpoint does not apply.
    pub stream_arn: String,
    /// The last settled record.
    pub sequence_number: Option<String>,
    /// Older records are skipped: the start time of a mapping with `LATEST`, milliseconds since the
    /// epoch.
    pub since_ms: Option<i64>,
    /// The shard is closed and all its records are settled; its children may be read.
    pub drained: bool,
    /// The open tumbling window.
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
    /// Opens the mapping's folder below `data`; without `data`, checkpoints are in memory.
    pub(super) fn open(data: Option<&Path>, mapping: &str) -> std::io::Result<Self> {
        let Some(data) = data else { return Ok(Self { storage: CheckpointStorage::Memory(Mutex::default()) }) };
        let folder = data.join("checkpoints").join(mapping);
        private_files::folder(&folder)?;
        Ok(Self { storage: CheckpointStorage::Folder(folder) })
    }

    /// The checkpoint of a shard of that stream. An unreadable checkpoint is ignored with a
    /// warning; its records are delivered again.
    pub(super) fn load(&self, stream_arn: &str, shard_id: &str) -> Option<Checkpoint> {
        let checkpoint = match &self.storage {
            CheckpointStorage::Memory(all) => all.lock().unwrap_or_else(PoisonError::into_inner).get(shard_id).cloned(),
            CheckpointStorage::Folder(folder) => read(&file(folder, shard_id)),
        };
        checkpoint.filter(|checkpoint| checkpoint.stream_arn == stream_arn)
    }

    /// Whether that stream has any checkpoint, so that the mapping has run before.
    pub(super) fn any(&self, stream_arn: &str, shard_ids: &[&str]) -> bool {
        shard_ids.iter().any(|shard_id| self.load(stream_arn, shard_id).is_some())
    }

    /// When the mapping last lost records: the stream had trimmed them before they were read. Kept
    /// until somebody says that it is mended.
    pub(super) fn lost_at(&self) -> Option<Timestamp> {
        let CheckpointStorage::Folder(folder) = &self.storage else { return None };
        std::fs::read_to_string(folder.join(LOST)).ok()?.parse().ok()
    }

    /// Keeps, or with `None` forgets, when records were lost.
    pub(super) fn set_lost_at(&self, lost_at: Option<Timestamp>) -> std::io::Result<()> {
        let CheckpointStorage::Folder(folder) = &self.storage else { return Ok(()) };
        let path = folder.join(LOST);
        match lost_at {
            Some(at) => replace(&path, at.to_string().as_bytes()),
            None if path.exists() => std::fs::remove_file(path),
            None => Ok(()),
        }
    }

    /// Replaces the checkpoint of a shard.
    ///
    /// # Errors
    /// When the file cannot be written; the old checkpoint then remains.
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
    // Ids of other engines may contain characters that a file name cannot have.
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
    // Sync before the rename: otherwise a power failure could leave an empty file under this name.
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
    async fn the_last_checkpoint_survives_a_restart() {
        let data = tempfile::tempdir().expect("a folder");
        let checkpoints = Checkpoints::open(Some(data.path()), "f-e").expect("opened");
        checkpoints.save("shardId-1", &checkpoint("5")).await.expect("saved");
        checkpoints.save("shardId-1", &checkpoint("6")).await.expect("saved");
        let again = Checkpoints::open(Some(data.path()), "f-e").expect("opened");
        assert_eq!(again.load("arn:a", "shardId-1"), Some(checkpoint("6")));
        assert_eq!(again.load("arn:a", "shardId-2"), None);
    }

    #[tokio::test]
    async fn a_checkpoint_of_another_stream_is_ignored() {
        let data = tempfile::tempdir().expect("a folder");
        let checkpoints = Checkpoints::open(Some(data.path()), "f-e").expect("opened");
        checkpoints.save("shardId-1", &checkpoint("5")).await.expect("saved");
        assert_eq!(checkpoints.load("arn:b", "shardId-1"), None);
        assert!(checkpoints.any("arn:a", &["shardId-0", "shardId-1"]));
        assert!(!checkpoints.any("arn:b", &["shardId-0", "shardId-1"]));
    }

    #[tokio::test]
    async fn an_invalid_checkpoint_file_restarts_the_shard() {
        let data = tempfile::tempdir().expect("a folder");
        let checkpoints = Checkpoints::open(Some(data.path()), "f-e").expect("opened");
        checkpoints.save("shardId-1", &checkpoint("5")).await.expect("saved");
        std::fs::write(data.path().join("checkpoints/f-e/shardId-1.json"), "").expect("written");
        assert_eq!(checkpoints.load("arn:a", "shardId-1"), None);
    }
}
