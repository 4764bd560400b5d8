//! A run's folder: what each phase leaves for the next, written so that it is there whole or not at
//! all.
//!
//! | file | by | what |
//! |---|---|---|
//! | `manifest.json` | export | the snapshot, the schema, and rows and hash of each file of `export/` |
//! | `export/<table>.jsonl` | export | a row a line, as `row_to_json` gives it |
//! | `items.json` | transform | its options, the export it is of, and items and hash of each file of `items/` |
//! | `items/<nn>.jsonl` | transform | an item a line, as DynamoDB spells them in JSON, sorted by key |
//! | `rejects.jsonl` | transform | each row, or item of a row, that is not carried over, and why |
//! | `load.json` | load | how far each file of `items/` is loaded |
//! | `report-<phase>.json` | all | what the phase told in the end |
//!
//! It holds personal data and tokens: only its owner may look into it.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::{Failure, FailureKind, Report};

/// Where a run lies.
#[derive(Debug, Clone, Args)]
pub struct RunFolderArgument {
    /// The folder of the run. It will hold personal data: put it where that may be.
    #[arg(long, value_name = "FOLDER")]
    pub run: PathBuf,
}

/// A run's folder; one that was opened rather than looked into, nobody else works in.
#[derive(Debug)]
pub struct Run {
    folder: PathBuf,
    /// Held until the process ends, however it ends.
    lock: Option<File>,
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| FailureKind::RunFolder.because(format!("{path}: {error}"))
}

impl Drop for Run {
    fn drop(&mut self) {
        // To close the file is not enough: a program that is just being started from here holds it
        // too, until it has become that program.
        drop(self.lock.as_ref().map(File::unlock));
    }
}

impl Run {
    /// Opens a run, or begins one.
    ///
    /// # Errors
    /// `run-folder`, and `run-busy` when another process has it.
    pub fn open(folder: &RunFolderArgument) -> Result<Self, Failure> {
        let folder = folder.run.clone();
        create_folder(&folder)?;
        let path = folder.join("lock");
        let lock = options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, lock: Some(lock) }),
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(FailureKind::RunBusy.because(format!("another process works in {}", folder.display())))
            }
            Err(std::fs::TryLockError::Error(error)) => Err(failed(&path)(error)),
        }
    }

    /// Looks into a run, whoever works in it.
    pub fn open_unlocked(folder: &RunFolderArgument) -> Self {
        Self { folder: folder.run.clone(), lock: None }
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes a folder in it, empty.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn fresh_folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let path = self.path(name);
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&path)(error)),
            _ => {}
        }
        create_folder(&path)?;
        Ok(path)
    }

    /// A file of JSON; none when there is no such file.
    ///
    /// # Errors
    /// `run-folder` if it cannot be read, `run-changed` if its content was changed.
    pub fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let path = self.path(name);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&path)(error)),
        };
        let value = serde_json::from_slice(&text);
        value.map(Some).map_err(|error| FailureKind::RunChanged.because(format!("{}: {error}", path.display())))
    }

    /// Writes a file of JSON: whole, and on the disk, before it has its name.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), Failure> {
        let mut lines = LineWriter::create(self.path(&format!("{name}.new")))?;
        lines.write(&serde_json::to_string_pretty(value).map_err(|error| FailureKind::RunFolder.because(error))?)?;
        lines.finish()?;
        self.rename(&format!("{name}.new"), name)
    }

    /// Gives a file or folder its name.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Failure> {
        let (from, to) = (self.path(from), self.path(to));
        std::fs::rename(&from, &to).map_err(failed(&from))?;
        // The name itself has to be on the disk too.
        File::open(&self.folder).and_then(|folder| folder.sync_all()).map_err(failed(&self.folder))
    }

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let path = self.path(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(&path)(error)),
            _ => Ok(()),
        }
    }

    /// Keeps the report of a phase.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn write_report(&self, phase: &str, report: &Report) -> Result<(), Failure> {
        self.write(&report_file(phase), &report.json)
    }

    /// Whether a phase has told how it ended.
    pub fn has_report(&self, phase: &str) -> bool {
        self.path(&report_file(phase)).exists()
    }

    /// Removes the report of a phase that begins anew.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn remove_report(&self, phase: &str) -> Result<(), Failure> {
        self.remove(&report_file(phase))
    }
}

pub(crate) fn report_file(phase: &str) -> String {
    format!("report-{phase}.json")
}

#[cfg(unix)]
fn options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn options() -> OpenOptions {
    OpenOptions::new()
}

fn create_folder(path: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(failed(path))
}

/// The size and the hash of a finished file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct FileDigest {
    /// Lines.
    pub lines: u64,
    /// SHA-256 of all of it, lower-case hexadecimal.
    pub sha256: String,
}

/// A file that is written line by line, and hashed on the way.
#[derive(Debug)]
pub struct LineWriter {
    path: PathBuf,
    file: BufWriter<File>,
    hash: Sha256,
    lines: u64,
}

impl LineWriter {
    /// Begins a file; one that is there is overwritten.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn create(path: PathBuf) -> Result<Self, Failure> {
        let file = options().write(true).create(true).truncate(true).open(&path).map_err(failed(&path))?;
        Ok(Self { path, file: BufWriter::with_capacity(1 << 16, file), hash: Sha256::new(), lines: 0 })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn write(&mut self, line: &str) -> Result<(), Failure> {
        for part in [line.as_bytes(), b"\n"] {
            self.hash.update(part);
            self.file.write_all(part).map_err(failed(&self.path))?;
        }
        self.lines += 1;
        Ok(())
    }

    /// Sees to it that all is on the disk.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn finish(mut self) -> Result<FileDigest, Failure> {
        self.file.flush().and_then(|()| self.file.get_ref().sync_all()).map_err(failed(&self.path))?;
        Ok(FileDigest { lines: self.lines, sha256: hex(&self.hash.finalize()) })
    }
}

/// The lines of a finished file, which at its end has to be what its manifest says.
#[derive(Debug)]
pub struct LineReader {
    path: PathBuf,
    file: std::io::BufReader<File>,
    hash: Sha256,
    lines: u64,
    written: FileDigest,
    buffer: Vec<u8>,
}

impl LineReader {
    /// Opens it.
    ///
    /// # Errors
    /// `run-folder`.
    pub fn open(path: PathBuf, written: &FileDigest) -> Result<Self, Failure> {
        let file = File::open(&path).map_err(failed(&path))?;
        let file = std::io::BufReader::with_capacity(1 << 16, file);
        Ok(Self { path, file, hash: Sha256::new(), lines: 0, written: written.clone(), buffer: Vec::new() })
    }

    /// The next line, without its end.
    ///
    /// # Errors
    /// `run-folder`; `run-changed` when the file ends and is not the one that was written.
    pub fn next_line(&mut self) -> Result<Option<&str>, Failure> {
        use std::io::BufRead;
        self.buffer.clear();
        let changed =
            |path: &Path| FailureKind::RunChanged.because(format!("{} is not what was written", path.display()));
        if self.file.read_until(b'\n', &mut self.buffer).map_err(failed(&self.path))? == 0 {
            let read = FileDigest { lines: self.lines, sha256: hex(&self.hash.finalize_reset()) };
            return if read == self.written { Ok(None) } else { Err(changed(&self.path)) };
        }
        self.hash.update(&self.buffer);
        self.lines += 1;
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        std::str::from_utf8(line).map(Some).map_err(|_| changed(&self.path))
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_folder_is_one_processes_at_a_time_and_its_owners_only() {
        let temp = tempfile::tempdir().unwrap();
        let folder = RunFolderArgument { run: temp.path().join("run") };
        let run = Run::open(&folder).unwrap();
        assert_eq!(Run::open(&folder).unwrap_err().kind, FailureKind::RunBusy);
        run.write("manifest.json", &7).unwrap();
        #[cfg(unix)]
        for (path, mode) in [(folder.run.clone(), 0o700), (run.path("manifest.json"), 0o600)] {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, mode);
        }
        drop(run);
        assert_eq!(Run::open(&folder).unwrap().read::<u8>("manifest.json").unwrap(), Some(7));
    }

    #[test]
    fn a_file_that_somebody_has_touched_is_not_believed() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lines");
        let mut lines = LineWriter::create(path.clone()).unwrap();
        lines.write("one").unwrap();
        lines.write("two").unwrap();
        let written = lines.finish().unwrap();
        let read = |written: &FileDigest| {
            let mut lines = LineReader::open(path.clone(), written)?;
            let mut all = Vec::new();
            while let Some(line) = lines.next_line()? {
                all.push(line.to_owned());
            }
            Ok::<_, Failure>(all)
        };
        assert_eq!(read(&written).unwrap(), ["one", "two"]);
        std::fs::write(&path, "one\ntwo!\n").unwrap();
        assert_eq!(read(&written).unwrap_err().kind, FailureKind::RunChanged);
        std::fs::write(&path, "one\n").unwrap();
        assert_eq!(read(&written).unwrap_err().kind, FailureKind::RunChanged);
    }
}
