//! The live application moves over, step by step.

mod dynamo;
mod effect;
mod entry;
mod plan;
mod postgres;
mod reader;
pub mod seat;
mod sides;
mod writer;

use clap::Args;

use crate::{Failure, Kind, Report};

pub use dynamo::{Dynamo, PREFIX};
pub use plan::{Goal, Phase, Plan};
pub use postgres::Postgres;
pub use reader::{Logs, Reader, Shadow};
pub use seat::Side;
pub use sides::{Difference, Sides};
pub use writer::{WriteError, Writer};

/// Which step.
#[derive(Debug, Args)]
pub struct Arguments {}

/// The command.
pub(crate) async fn run(_arguments: Arguments) -> Result<Report, Failure> {
    Err(Kind::Shift.because("it cannot be shifted yet"))
}
