//! A run's folder: the files that each phase leaves for the next. Each file is either complete or
//! absent.
//!
//! | file | by | what |
//! |---|---|---|
//! | `run.json` | export, or cutover | the run's id, and its database |
//! | `manifest.json` | export | the snapshot, the schema, and the rows and hash of each file of `export/` |
//! | `export/<table>.jsonl` | export | one row per line, from `row_to_json` |
//! | `items.json` | transform | its options, its export, and the items and hash of each file of `items/` |
//! | `items/<nn>.jsonl` | transform | one item per line, in DynamoDB's JSON, sorted by key |
//! | `rejects.jsonl` | transform | each row, or item of a row, that is not migrated, and why |
//! | `load.json` | load | how far each file of `items/` is loaded |
//! | `check/` | check | the table's items; gone at its end |
//! | `differences.jsonl` | check | each difference |
//! | `set-aside.jsonl` | repair | changes that one side refused |
//! | `report-<phase>.json` | all | the phase's report |
//!
//! From dual on, `cutover`, `repair` and `rollback` need only the files `*.json` directly in the
//! folder.
//!
//! The folder holds personal data and tokens, so only its owner may access it.

mod lines;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Failure, FailureKind, Report};

pub(crate) use lines::hex;
pub use lines::{FileDigest, LineReader, LineWriter};

/// The folder of a run.
#[derive(Debug, Clone, Args)]
pub struct RunFolderArgument {
    /// The folder of the run. It will hold personal data, so choose a place that is allowed for
    /// that.
    #[arg(long, value_name = "FOLDER")]
    pub run: PathBuf,
}

/// A run's folder. No other process works in it.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    /// Held until the process ends.
    lock: File,
}

/// The name of the file with the run's id.
pub(crate) const IDENTITY: &str = "run.json";

/// The id of a run, and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunIdentity {
    /// Every item that the run writes carries it.
    pub run: String,
    /// See [`crate::source::database_identity`].
    pub database: Option<String>,
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| {
        let next = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ". Free space, and run the same command again",
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                ". Give a folder with --run that you can write"
            }
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => ". --run takes a folder",
            _ => "",
        };
        FailureKind::RunFolder.because(format!("{path}: {error}{next}"))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Closing the file is not enough: a child process that is just being started still has the
        // file open until it executes its program.
        let _ = self.lock.unlock();
    }
}

impl Run {
    /// Opens a run, or creates one.
    pub fn open(folder: &RunFolderArgument) -> Result<Self, Failure> {
        let folder = folder.run.clone();
        create_folder(&folder)?;
        let path = folder.join("lock");
        let lock = options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, lock }),
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(FailureKind::RunBusy.because(format!("another process works in {}", folder.display())))
            }
            Err(std::fs::TryLockError::Error(error)) => Err(failed(&path)(error)),
        }
    }

    /// The run's id; `None` if the folder has no run.
    pub(crate) fn identity(&self) -> Result<Option<RunIdentity>, Failure> {
        self.read(IDENTITY)
    }

    /// Begins a run on this database, with a new id.
    pub(crate) fn begin(&self, database: Option<String>) -> Result<RunIdentity, Failure> {
        let identity = RunIdentity { run: format!("{:016x}", fastrand::u64(..)), database };
        self.write(IDENTITY, &identity)?;
        Ok(identity)
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Removes a subfolder, if it exists.
    pub(crate) fn remove_folder(&self, name: &str) -> Result<(), Failure> {
        let path = self.path(name);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Creates an empty subfolder.
    pub fn fresh_folder(&self, name: &str) -> Result<PathBuf, Failure> {
        self.remove_folder(name)?;
        let path = self.path(name);
        create_folder(&path)?;
        Ok(path)
    }

    /// A file of JSON; `None` if there is no such file.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let path = self.path(name);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path)(error)),
        };
        let value = serde_json::from_slice(&text);
        value.map(Some).map_err(|error| FailureKind::RunChanged.because(format!("{}: {error}", path.display())))
    }

    /// Writes a file of JSON. The file gets its name only when it is complete and on disk.
    pub fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Failure> {
        let mut lines = LineWriter::create(self.path(&format!("{name}.new")))?;
        lines.write(&serde_json::to_string_pretty(value).map_err(|error| FailureKind::RunFolder.because(error))?)?;
        lines.finish()?;
        self.rename(&format!("{name}.new"), name)
    }

    /// Appends a line of JSON to a file; the line is on disk when this returns.
    pub(crate) fn append<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Failure> {
        let path = self.path(name);
        let line = serde_json::to_string(value).map_err(|error| FailureKind::RunFolder.because(error))? + "\n";
        let mut file = options().append(true).create(true).open(&path).map_err(failed(&path))?;
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed(&path))
    }

    /// The values of a file with JSON in each line; of a missing file, none.
    pub(crate) fn read_lines<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<impl Iterator<Item = Result<T, Failure>> + use<T>, Failure> {
        let path = self.path(name);
        let file = match File::open(&path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&path)(error)),
        };
        let lines = file.into_iter().flat_map(|file| BufReader::new(file).lines());
        Ok(lines.map(move |line| {
            let line = line.map_err(failed(&path))?;
            let value = serde_json::from_str(&line);
            value.map_err(|error| FailureKind::RunChanged.because(format!("{}: {error}", path.display())))
        }))
    }

    /// Renames a file or folder.
    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        let (from, to) = (self.path(from), self.path(to));
        std::fs::rename(&from, &to).map_err(failed(&from))?;
        // The new name must be on disk, too.
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed(&self.folder))
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Failure> {
        let path = self.path(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Stores the report of a phase.
    pub(crate) fn write_report(&self, phase: &str, report: &Report) -> Result<(), Failure> {
        self.write(&report_file(phase), &report.json)
    }

    /// Whether a phase has stored its report.
    pub(crate) fn has_report(&self, phase: &str) -> bool {
        self.path(&report_file(phase)).exists()
    }

    /// Removes the report of a phase that starts again.
    pub(crate) fn remove_report(&self, phase: &str) -> Result<(), Failure> {
        self.remove(&report_file(phase))
    }
}

fn report_file(phase: &str) -> String {
    format!("report-{phase}.json")
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn create_folder(path: &Path) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_folder_is_open_to_one_process_and_owner() {
        let temp = tempfile::tempdir().unwrap();
        let folder = RunFolderArgument { run: temp.path().join("run") };
        let run = Run::open(&folder).unwrap();
        assert_eq!(Run::open(&folder).unwrap_err().kind, FailureKind::RunBusy);
        run.write("manifest.json", &7).unwrap();
        for (path, mode) in [(folder.run.clone(), 0o700), (run.path("manifest.json"), 0o600)] {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
        drop(run);
        assert_eq!(Run::open(&folder).unwrap().read::<u8>("manifest.json").unwrap(), Some(7));
    }
}
