//! When a batch is added to the statistics.

use std::str::FromStr;

/// When a batch is added to the statistics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Layout {
    /// At once, in one transaction with the checkpoint. It costs two write units for each statistic
    /// that the batch touches.
    #[default]
    Sums,
    /// At the end of the tumbling window. Until then the checkpoint's item keeps the sums, so a
    /// batch costs one write unit for each kilobyte of that item, and shards do not wait for each
    /// other at a statistic that all of them add to.
    Buffers,
}

/// Parses `sums` or `buffers`.
impl FromStr for Layout {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sums" => Ok(Self::Sums),
            "buffers" => Ok(Self::Buffers),
            _ => Err("expected `sums` or `buffers`"),
        }
    }
}
