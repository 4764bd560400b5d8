//! Moves the live application from PostgreSQL to DynamoDB, in phases.

mod command;
mod dynamo;
mod finish;
mod first_users;
mod history;
mod item_writes;
pub(crate) mod outbox_entry;
pub mod ownership;
mod passes;
mod pgoutput;
mod plan;
mod postgres;
mod reader;
mod replication;
pub(crate) mod run_state;
mod sides;
mod standby_lag;
pub(crate) mod stuck;
mod touch;
mod waiting;
mod way_back;
mod writer;

pub use command::Arguments;
pub(crate) use command::{DIFFERENCES, run, sides};
pub use dynamo::{Dynamo, PREFIX};
pub(crate) use dynamo::{finished_runs, prefix_of};
pub(crate) use history::check_same_history;
pub use ownership::Side;
pub use passes::CutoverStatus;
pub use plan::{CaptureMode, Goal, Phase, Plan};
pub use postgres::Postgres;
pub use reader::{OwnerItems, Reader, Shadow};
pub use sides::{Difference, Sides};
pub(crate) use way_back::NOT_RETURNED;
pub use writer::{WriteError, Writer};
