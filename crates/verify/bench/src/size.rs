//! The size of the upload of each function.

use std::path::Path;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::DeflateEncoder;

use crate::report::{Better, Row};
use crate::{Folders, NODE};

const SECTION: &str = "Size of each function, zipped";

const MIB_MAX: f64 = 2.5;

/// One row for each function.
pub(crate) fn rows(folders: &Folders) -> Result<Vec<Row>> {
    let row = |function: &str| {
        let own = zipped_mib(&folders.functions.join(function))?;
        let node = zipped_mib(&folders.node.join(function))?;
        Ok(Row::count(SECTION, function, "MiB", own).beside(Better::Lower, NODE, node).at_most(MIB_MAX))
    };
    ["click-writer", "stats-aggregator", "stats-reader"].into_iter().map(row).collect()
}

/// Deflated as zip does it; the archive's own headers are some hundred bytes.
fn zipped_mib(file: &Path) -> Result<f64> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let mut file = std::fs::File::open(file).with_context(|| format!("{} is missing", file.display()))?;
    std::io::copy(&mut file, &mut encoder)?;
    Ok(encoder.finish()?.len() as f64 / (1024.0 * 1024.0))
}
