//! Exact aggregates of a DynamoDB table, kept by a Lambda function on its stream.
//!
//! A [`Rollup`] declares the statistics: measures (counts, sums, averages, distinct values,
//! extremes) for groups (all items, windows of time, attributes and their combinations). Each item
//! counts once, although Lambda delivers the records of a stream at least once.

mod additions;
mod aggregator;
mod amount;
mod batch;
mod builder;
mod check;
mod checkpoint;
mod chunk;
#[cfg(feature = "cli")]
pub mod cli;
mod contribution;
mod declaration;
mod declared;
mod distinct;
mod empty;
mod error;
mod event;
mod explain;
mod extremes;
mod group;
mod guard;
mod key;
mod layout;
mod measure;
mod own_item;
mod quarantine;
mod rank;
mod read;
#[cfg(feature = "recount")]
mod recount;
mod report;
#[cfg(not(feature = "sim"))]
mod rules;
mod shard;
#[cfg(feature = "sim")]
pub mod sim;
mod table;
mod trail;
#[cfg(test)]
mod votes;
mod window;

pub use aggregator::Aggregator;
pub use amount::{Amount, AmountError};
pub use batch::DecodeError;
pub use builder::RollupBuilder;
pub use check::DeclarationError;
pub use checkpoint::{FirstSeen, SequenceNumber, SequenceNumberError, ShardHash};
pub use chunk::TRANSACTION_STATS_MAX;
pub use contribution::Change;
pub use declaration::{Policy, RESERVED_PREFIX, Rollup};
pub use error::{StoreError, unless_condition_failed};
pub use event::Reply;
pub use explain::{Cost, Index};
pub use group::Group;
pub use guard::CountRefusal;
pub use key::TemplateError;
pub use layout::Layout;
pub use measure::{Measure, average, count, distinct, first, last, maximum, minimum, sum};
pub use own_item::OwnItem;
pub use quarantine::{Ending, QuarantinedRecord};
pub use read::{Page, Query, ReadError, Stat};
#[cfg(feature = "recount")]
pub use recount::{
    Correction, Difference, Lowering, Measurement, Progress, RecountError, RecountRefusal, Recounter, RedriveOutcome,
    RepairError, RepairReport, Scope, corrections,
};
pub use report::{AggregateError, Handled, Report};
pub use table::{TTL_ATTRIBUTE, Table, patient_backoff};
pub use window::Window;

/// The crates with types of the interface, in the versions that it uses.
#[cfg(feature = "recount")]
pub use aws_sdk_dynamodbstreams;
#[cfg(feature = "sim")]
pub use fastrand;
pub use {aws_sdk_dynamodb, jiff, serde_json};

#[cfg(feature = "sim")]
use sim::rules;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
