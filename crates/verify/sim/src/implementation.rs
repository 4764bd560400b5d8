//! The implementations under test: the real function, the usual handlers, and the real rules with
//! one weakness.

use std::time::SystemTime;

use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;
use stats_aggregator::Aggregator;
use store::clicks::StatLayout;

use crate::baselines::Baseline;
use crate::mutations::{Mutant, Rule};
use crate::table::TABLE;

/// Which code counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Implementation {
    /// The function `stats-aggregator` as it is deployed.
    Tidemark,
    /// The handler of the table's original design, as it is usually written: three additions for
    /// each record.
    UsualHandler,
    /// The same behind one idempotency record for each stream record, as idempotency layers do.
    IdempotencyLayer,
    /// The function's steps written once more, which the weakened ones differ from in one line
    /// each.
    Unweakened,
    /// A first-seen record is recognised by its shard alone, however long ago it was counted.
    ShardAlone,
    /// A cache, or a read, that shows a first-seen record of its own skips it although it was never
    /// counted.
    SkippingCache,
    /// The checkpoint moves outside of the transaction that adds the sums.
    CheckpointOutsideTransaction,
    /// The function, and an operator whose repairs ignore other repairs since the measurement.
    UnconditionalRepair,
    /// The function, and an operator whose repairs count visitors without marking them.
    RepairWithoutFirstSeen,
    /// The function, and an operator whose redrives do not record the counted clicks.
    NonIdempotentRedrive,
    /// The function, and a merger that adds buffered sums in one request and removes them in
    /// another. Needs the layout `buffers`.
    MergeInTwoRequests,
}

/// Where the function counts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// Into the statistics themselves.
    Sums,
    /// Into a buffer per shard, from where the merger takes it to the statistics. In one history of
    /// four, each instance counts one way or the other: a table on which the layout is being
    /// switched on, or off.
    Buffers,
}

/// What of the statistics an implementation is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promise {
    /// Unique users, beside the clicks.
    pub(crate) unique_users: bool,
    /// Poison kept in quarantine.
    pub(crate) quarantine: bool,
}

impl Implementation {
    /// The handlers know no unique users, and only the function keeps a quarantine.
    pub(crate) fn promise(self) -> Promise {
        Promise {
            unique_users: !matches!(self, Self::UsualHandler | Self::IdempotencyLayer),
            quarantine: self.has_operator(),
        }
    }

    /// Whether somebody repairs and redrives. To the handlers it would mean nothing, and the
    /// weakened rules have to fail alone.
    pub(crate) fn has_operator(self) -> bool {
        matches!(
            self,
            Self::Tidemark | Self::UnconditionalRepair | Self::RepairWithoutFirstSeen | Self::NonIdempotentRedrive
        )
    }
}

/// The code in one instance of a function.
pub struct Counter(CounterKind);

enum CounterKind {
    Function(Box<Aggregator>),
    Baseline(Baseline),
    Mutant(Mutant),
}

impl Counter {
    /// A cold one, which counts into [`TABLE`].
    #[must_use]
    pub fn new(implementation: Implementation, layout: StatLayout, client: Client) -> Self {
        Self(match implementation {
            Implementation::Tidemark
            | Implementation::UnconditionalRepair
            | Implementation::RepairWithoutFirstSeen
            | Implementation::NonIdempotentRedrive
            | Implementation::MergeInTwoRequests => {
                CounterKind::Function(Box::new(Aggregator::new(&store::Table::new(client, TABLE), layout)))
            }
            Implementation::UsualHandler => CounterKind::Baseline(Baseline { client, is_idempotent: false }),
            Implementation::IdempotencyLayer => CounterKind::Baseline(Baseline { client, is_idempotent: true }),
            Implementation::Unweakened => CounterKind::Mutant(Mutant::new(client, Rule::Unweakened)),
            Implementation::ShardAlone => CounterKind::Mutant(Mutant::new(client, Rule::ShardAlone)),
            Implementation::SkippingCache => CounterKind::Mutant(Mutant::new(client, Rule::SkippingCache)),
            Implementation::CheckpointOutsideTransaction => {
                CounterKind::Mutant(Mutant::new(client, Rule::CheckpointOutsideTransaction))
            }
        })
    }

    /// One invocation: the answer, or what the function failed with.
    ///
    /// # Errors
    /// Whatever fails an invocation on Lambda.
    pub async fn invoke(&self, event: String, deadline: SystemTime, now: Timestamp) -> anyhow::Result<Value> {
        match &self.0 {
            CounterKind::Function(aggregator) => {
                let event = RawValue::from_string(event)?;
                Ok(serde_json::to_value(stats_aggregator::handle(aggregator, event, deadline, now).await?)?)
            }
            CounterKind::Baseline(baseline) => baseline.handle(&event).await,
            CounterKind::Mutant(mutant) => mutant.handle(&event, now).await,
        }
    }
}
