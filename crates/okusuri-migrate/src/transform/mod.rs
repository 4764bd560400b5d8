//! Rows become items: always the same of the same, in whatever order they come.

mod item;
mod reject;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::run::Folder;
use crate::source::Row;
use crate::{Failure, Kind, Report};

pub use item::Item;
pub use reject::{Reason, Reject};

/// Which run, and how.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: Folder,
}

/// What the items of a row depend on beside the row.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the clock showed that wrote times without an offset.
    pub source_zone: TimeZone,
    /// Where the users live: in which zone a log's moment is a date, and their profiles' zone.
    pub log_zone: TimeZone,
    /// When the rows were read: what has expired by then is not carried over.
    pub as_of: Timestamp,
}

/// The items of a row, or why it has none. Knows only this row: whose user is gone, or which row is older than another of the same key, is for the caller to see.
///
/// # Errors
/// When the row cannot be carried over, or need not be.
pub fn items_of(_row: &Row, _options: &Options) -> Result<Vec<Item>, Reject> {
    Ok(Vec::new())
}

/// The command.
pub(crate) fn run(arguments: Arguments) -> Result<Report, Failure> {
    Err(Kind::RunIncomplete.because(arguments.folder.run.display()))
}
