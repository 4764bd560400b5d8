//! The phase `load`.

use clap::Args;

use crate::run::Folder;
use crate::{Failure, Kind, Report};

/// Which run.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: Folder,
}

/// The command.
pub(crate) async fn run(arguments: Arguments) -> Result<Report, Failure> {
    Err(Kind::RunIncomplete.because(arguments.folder.run.display()))
}
