//! The live application moves over, step by step.

use clap::Args;

use crate::{Failure, Kind, Report};

/// Which step.
#[derive(Debug, Args)]
pub struct Arguments {}

/// The command.
pub(crate) async fn run(_arguments: Arguments) -> Result<Report, Failure> {
    Err(Kind::Shift.because("it cannot be shifted yet"))
}
