//! Moves the live application from PostgreSQL to DynamoDB, in phases.

mod arguments;
mod command;
mod compare;
mod dynamo;
mod finish;
mod item_writes;
mod not_migrated;
pub(crate) mod outbox_entry;
pub mod ownership;
mod passes;
mod plan;
mod postgres;
mod reader;
mod replication;
pub(crate) mod run_state;
mod sides;
pub(crate) mod stuck;
mod touch;
mod waiting;
mod way_back;
mod writer;

/// The number of users that a command works on at once.
pub(crate) const PARALLEL: usize = 16;

pub(crate) use arguments::SidesArguments;
pub(crate) use command::{Arguments, DIFFERENCES, run};
pub use compare::Difference;
pub use dynamo::{Dynamo, PREFIX};
pub(crate) use dynamo::{finished_runs, prefix_of};
pub use not_migrated::NotMigrated;
pub use ownership::Side;
pub use passes::CutoverStatus;
pub(crate) use plan::read_started;
pub use plan::{Goal, Phase, Plan};
pub use postgres::Postgres;
pub use reader::{OwnerItems, Reader};
pub use sides::Sides;
pub(crate) use way_back::NOT_RETURNED;
pub use writer::{WriteError, Writer};
