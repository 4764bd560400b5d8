//! Files that each take the lines of some hashes, so that memory holds one part at a time.

use crate::Failure;
use crate::run::{FileDigest, LineReader, LineWriter, Run};

/// The most parts. Each has an open file while it is written.
const PARTS_MAX: u64 = 256;

/// The number of parts for so many lines: a power of two.
pub(crate) fn parts_for(lines: u64, lines_per_part: u64) -> usize {
    let parts = lines.div_ceil(lines_per_part).next_power_of_two().clamp(1, PARTS_MAX);
    usize::try_from(parts).unwrap_or(1)
}

/// The parts that are being written.
#[derive(Debug)]
pub(crate) struct Parts {
    names: Vec<String>,
    files: Vec<LineWriter>,
}

impl Parts {
    /// Creates the files, whose names in the run's folder start with `name`.
    pub(crate) fn create(run: &Run, name: &str, parts: usize) -> Result<Self, Failure> {
        let names: Vec<_> = (0..parts).map(|n| format!("{name}-{n:03}.jsonl")).collect();
        let files = names.iter().map(|name| LineWriter::create(run.path(name))).collect::<Result<_, _>>()?;
        Ok(Self { names, files })
    }

    /// The first byte of the hash chooses the part, so the parts in order are sorted by the hash,
    /// too.
    pub(crate) fn write(&mut self, hash: u128, line: &str) -> Result<(), Failure> {
        self.write_to((hash >> 120) as usize * self.files.len() / 256, line)
    }

    pub(crate) fn write_to(&mut self, part: usize, line: &str) -> Result<(), Failure> {
        self.files.get_mut(part).map_or(Ok(()), |lines| lines.write(line))
    }

    pub(crate) fn finish(self) -> Result<Vec<Part>, Failure> {
        let files = self.names.into_iter().zip(self.files);
        files.map(|(name, lines)| Ok(Part { name, written: lines.finish()? })).collect()
    }
}

/// A finished part.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) written: FileDigest,
}

impl Part {
    pub(crate) fn open(&self, run: &Run) -> Result<LineReader, Failure> {
        LineReader::open(run.path(&self.name), &self.written)
    }

    /// Reads the lines, sorted, and removes the file.
    pub(crate) fn into_sorted(self, run: &Run) -> Result<Vec<String>, Failure> {
        let mut unsorted = self.open(run)?;
        let mut all = Vec::new();
        while let Some(line) = unsorted.next_line()? {
            all.push(line.to_owned());
        }
        all.sort_unstable();
        run.remove(&self.name)?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn part_count_grows_with_lines_up_to_a_limit() {
        assert_eq!(
            [0, 50_000, 50_001, 1_000_000, u64::MAX / 2].map(|lines| parts_for(lines, 50_000)),
            [1, 1, 2, 32, 256]
        );
    }
}
