//! What is put to the test: the real function, the handlers that everybody writes, and our own rules, weakened.

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
pub enum Subject {
    /// The function `stats-aggregator` as it is deployed.
    Tidemark,
    /// The handler of the table's design document: three additions for each record.
    SeedHandler,
    /// The same behind a claim for each record, which is what idempotency layers do.
    ClaimPerRecord,
    /// The function's steps written once more, which the weakened ones differ from in one line each.
    Unweakened,
    /// A claim is recognised by its lane alone, however long ago it was counted.
    LaneAlone,
    /// A cache, or a read, that shows an own claim skips it although it was never counted.
    SkippingCache,
    /// The checkpoint moves outside of the transaction that adds the sums.
    CheckpointApart,
    /// The function, and an operator whose repairs do not care what was repaired since they measured.
    RepairUnconditioned,
    /// The function, and an operator whose repairs count visitors without marking them.
    RepairUnclaimed,
    /// The function, and an operator whose redrives do not mark what they have counted.
    RedriveUnmarked,
    /// The function, and a folder that adds what lanes keep in one request and takes it from them in another. To be played with lanes.
    FoldApart,
}

/// Where the function counts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// Into the statistics themselves.
    Sums,
    /// Into the lanes, from where a folder takes it to the statistics. In one history of four, each instance counts one way or the other: a
    /// table on which the layout is being switched on, or off.
    Buffers,
}

/// What of the statistics a subject is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Promise {
    /// Unique users, beside the clicks.
    pub(crate) unique_users: bool,
    /// Poison kept in quarantine.
    pub(crate) quarantine: bool,
}

impl Subject {
    /// The handlers know no unique users, and only the function keeps a quarantine.
    pub(crate) fn promise(self) -> Promise {
        Promise {
            unique_users: !matches!(self, Self::SeedHandler | Self::ClaimPerRecord),
            quarantine: self.has_operator(),
        }
    }

    /// Whether somebody repairs and redrives. To the handlers it would mean nothing, and the weakened rules have to fail alone.
    pub(crate) fn has_operator(self) -> bool {
        matches!(self, Self::Tidemark | Self::RepairUnconditioned | Self::RepairUnclaimed | Self::RedriveUnmarked)
    }
}

/// The code in one instance of a function.
pub struct Counter(Kind);

enum Kind {
    Function(Box<Aggregator>),
    Baseline(Baseline),
    Mutant(Mutant),
}

impl Counter {
    /// A cold one, which counts into [`TABLE`].
    #[must_use]
    pub fn new(subject: Subject, layout: StatLayout, client: Client) -> Self {
        Self(match subject {
            Subject::Tidemark
            | Subject::RepairUnconditioned
            | Subject::RepairUnclaimed
            | Subject::RedriveUnmarked
            | Subject::FoldApart => {
                Kind::Function(Box::new(Aggregator::new(&store::Table::new(client, TABLE), layout)))
            }
            Subject::SeedHandler => Kind::Baseline(Baseline { client, claims: false }),
            Subject::ClaimPerRecord => Kind::Baseline(Baseline { client, claims: true }),
            Subject::Unweakened => Kind::Mutant(Mutant::new(client, Rule::Unweakened)),
            Subject::LaneAlone => Kind::Mutant(Mutant::new(client, Rule::LaneAlone)),
            Subject::SkippingCache => Kind::Mutant(Mutant::new(client, Rule::SkippingCache)),
            Subject::CheckpointApart => Kind::Mutant(Mutant::new(client, Rule::CheckpointApart)),
        })
    }

    /// One invocation: the answer, or what the function failed with.
    ///
    /// # Errors
    /// Whatever fails an invocation on Lambda.
    pub async fn invoke(&self, event: String, deadline: SystemTime, now: Timestamp) -> anyhow::Result<Value> {
        match &self.0 {
            Kind::Function(aggregator) => {
                let event = RawValue::from_string(event)?;
                Ok(serde_json::to_value(stats_aggregator::handle(aggregator, event, deadline, now).await?)?)
            }
            Kind::Baseline(baseline) => baseline.handle(&event).await,
            Kind::Mutant(mutant) => mutant.handle(&event, now).await,
        }
    }
}
