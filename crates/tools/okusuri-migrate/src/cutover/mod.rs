//! Moves the live application from PostgreSQL to DynamoDB, in phases.

mod command;
mod dynamo;
mod item_writes;
mod outbox_entry;
pub mod ownership;
mod plan;
mod postgres;
mod reader;
pub(crate) mod run_state;
mod sides;
mod writer;

pub use command::{Arguments, CutoverStatus};
pub(crate) use command::{run, sides};
pub use dynamo::{Dynamo, PREFIX};
pub use ownership::Side;
pub use plan::{Goal, Phase, Plan};
pub use postgres::Postgres;
pub use reader::{Logs, Reader, Shadow};
pub use sides::{Difference, Sides};
pub use writer::{WriteError, Writer};
