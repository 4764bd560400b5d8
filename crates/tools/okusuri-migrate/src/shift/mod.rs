//! The live application moves over, step by step.

mod command;
mod dynamo;
mod effect;
mod entry;
pub(crate) mod folder;
mod plan;
mod postgres;
mod reader;
pub mod seat;
mod sides;
mod writer;

pub use command::{Arguments, State};
pub(crate) use command::{run, sides};
pub use dynamo::{Dynamo, PREFIX};
pub use plan::{Goal, Phase, Plan};
pub use postgres::Postgres;
pub use reader::{Logs, Reader, Shadow};
pub use seat::Side;
pub use sides::{Difference, Sides};
pub use writer::{WriteError, Writer};
