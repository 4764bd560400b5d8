//! Files of lines, whose digest says whether they were changed since they were written.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{failed, options};
use crate::{Failure, FailureKind};

/// The digest of a finished file of lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    /// The number of lines.
    pub lines: u64,
    /// SHA-256 of the whole file, in lower-case hexadecimal.
    pub sha256: String,
}

/// Writes a file line by line, and computes its hash.
#[derive(Debug)]
pub struct LineWriter {
    path: PathBuf,
    file: BufWriter<File>,
    hash: Sha256,
    lines: u64,
}

impl LineWriter {
    /// Creates a file, or overwrites an existing one.
    pub fn create(path: PathBuf) -> Result<Self, Failure> {
        let file = options().write(true).create(true).truncate(true).open(&path).map_err(failed(&path))?;
        Ok(Self { path, file: BufWriter::with_capacity(1 << 16, file), hash: Sha256::new(), lines: 0 })
    }

    /// Appends a line.
    pub fn write(&mut self, line: &str) -> Result<(), Failure> {
        for part in [line.as_bytes(), b"\n"] {
            self.hash.update(part);
            self.file.write_all(part).map_err(failed(&self.path))?;
        }
        self.lines += 1;
        Ok(())
    }

    /// Appends a value as a line of JSON.
    pub fn write_json<T: Serialize>(&mut self, value: &T) -> Result<(), Failure> {
        self.write(&serde_json::to_string(value).map_err(|error| FailureKind::RunFolder.because(error))?)
    }

    /// Makes sure that all data is on disk.
    pub fn finish(mut self) -> Result<FileDigest, Failure> {
        self.file.flush().and_then(|()| self.file.get_ref().sync_all()).map_err(failed(&self.path))?;
        Ok(FileDigest { lines: self.lines, sha256: hex(&self.hash.finalize()) })
    }
}

/// Reads the lines of a finished file; at the end the file must match its digest.
#[derive(Debug)]
pub struct LineReader {
    path: PathBuf,
    file: BufReader<File>,
    hash: Sha256,
    lines: u64,
    written: FileDigest,
    buffer: Vec<u8>,
}

impl LineReader {
    /// Opens the file.
    pub fn open(path: PathBuf, written: &FileDigest) -> Result<Self, Failure> {
        let file = File::open(&path).map_err(failed(&path))?;
        let file = BufReader::with_capacity(1 << 16, file);
        Ok(Self { path, file, hash: Sha256::new(), lines: 0, written: written.clone(), buffer: Vec::new() })
    }

    /// The next line, without the line end.
    pub fn next_line(&mut self) -> Result<Option<&str>, Failure> {
        self.buffer.clear();
        let changed = |path: &Path| {
            FailureKind::RunChanged.because(format!("{} was changed since it was written", path.display()))
        };
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
    use super::*;

    #[test]
    fn a_changed_file_is_refused() {
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
