//! Moves a PostgreSQL schema to DynamoDB as a mapping file declares it, in phases that can each be
//! killed and run again.
//!
//! A run has a folder, `--run`, with the export, the items, the rejected rows and their reasons,
//! the progress of the load, and a report of each phase. Results go to standard output, as text or
//! with `--json`; everything else goes to standard error.
//!
//! Exit codes: 0 for success; 1 if the phase is done but its report needs review (rejected rows,
//! differing items); 2 if it failed.

mod arguments;
mod check;
mod command;
pub mod cutover;
pub mod export;
mod failure;
mod init;
pub mod item;
mod load;
pub mod mapping;
mod parts;
mod preflight;
mod rehearse;
pub mod reject;
mod repair;
mod rollback;
pub mod row;
pub mod run;
mod serve;
pub mod source;
mod terminal;
pub mod transform;

pub use arguments::MappingArguments;
pub use command::{Command, MakeExtension, PhaseOutcome, Product, Report, TargetTable, main, run, run_quietly};
pub use failure::{Failure, FailureKind};
pub(crate) use run::hex;
