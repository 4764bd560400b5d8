//! The rejected lines, written beside their file so that they can be corrected.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use csv::{ByteRecord, Writer};

use super::columns::REJECT_COLUMNS;

/// The reject file of `prices.csv` is `prices.csv.rejects.csv`.
pub(super) fn path_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".rejects.csv");
    name.into()
}

/// The rejected lines by line number, each with its problem.
#[derive(Debug, Default)]
pub(super) struct Rejects(BTreeMap<u64, (ByteRecord, String)>);

impl Rejects {
    pub(super) fn add(&mut self, line: u64, record: ByteRecord, problem: String) {
        self.0.insert(line, (record, problem));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        self.0.iter().map(|(line, (_, problem))| (*line, problem.as_str()))
    }

    /// Writes the lines in the order of the file, with its header, line numbers and problems.
    /// Removes the file of an earlier run if there are none.
    pub(super) fn write(&self, header: &ByteRecord, path: &Path) -> Result<()> {
        if self.0.is_empty() {
            return match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("{} cannot be removed", path.display()))
                }
                _ => Ok(()),
            };
        }
        let write = || -> Result<(), csv::Error> {
            // A line with too many fields keeps them; a line with too few is padded.
            let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(File::create(path)?);
            let kept: Vec<_> = (0..header.len()).filter(|index| !is_reject_column(&header[*index])).collect();
            let own = |record: &ByteRecord| -> ByteRecord {
                let is_whole = record.len() == header.len();
                let fields = record.iter().enumerate().filter(|(index, _)| !is_whole || kept.contains(index));
                fields.map(|(_, field)| field).collect()
            };
            let mut first = own(header);
            REJECT_COLUMNS.iter().for_each(|name| first.push_field(name.as_bytes()));
            writer.write_byte_record(&first)?;
            for (line, (record, problem)) in &self.0 {
                let mut record = own(record);
                (record.len()..kept.len()).for_each(|_| record.push_field(b""));
                record.push_field(line.to_string().as_bytes());
                record.push_field(problem.as_bytes());
                writer.write_byte_record(&record)?;
            }
            Writer::flush(&mut writer).map_err(Into::into)
        };
        write().with_context(|| format!("{} cannot be written", path.display()))
    }
}

/// Whether a column was added by a reject file. If a reject file is imported, these columns are
/// written anew.
fn is_reject_column(name: &[u8]) -> bool {
    REJECT_COLUMNS.iter().any(|known| known.as_bytes() == name)
}
