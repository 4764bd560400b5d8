//! Back to PostgreSQL, from wherever a run is.

use clap::Args;

use crate::{Failure, Kind, Report};

/// Which run.
#[derive(Debug, Args)]
pub struct Arguments {}

/// The command.
pub(crate) async fn run(_arguments: Arguments) -> Result<Report, Failure> {
    Err(Kind::Shift.because("it cannot be rolled back yet"))
}
