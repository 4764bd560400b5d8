//! Compares statistics with the items of the table, while records are still counted.
//!
//! The statistics are right when they are those of the items as the checkpoints know them. A
//! measurement reads the items, then the checkpoints and the statistics of one moment, then the
//! stream. A record after that moment's checkpoint tells the item as it was counted: its old image.
//! A record before it that came while the items were read tells it with its new image.

mod accept;
mod changes;
mod compare;
mod keys;
mod read;
mod redrive;
mod refusal;
mod repair;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;

use crate::SequenceNumber;
use crate::additions::ItemKey;
use crate::aggregator::Aggregator;
use crate::amount::Amount;
use crate::chunk::DistinctValue;
use crate::contribution::{Change, Contribution, StatKey};
use crate::declaration::Policy;
use crate::error::StoreError;
use crate::shard::Checkpoint;
use crate::table::{Item, Table};
use accept::Acceptance;
use changes::{ItemChange, ShardChanges};
use keys::KeyNames;
use redrive::Quarantined;
use refusal::{check_items, check_stream};
use snapshot::Snapshot;

pub(crate) use keys::identity;
pub use redrive::RedriveOutcome;
pub use refusal::RecountRefusal;
pub use repair::{Correction, Lowering, RepairError, RepairReport, corrections};

/// The most measurements of one check, with a pause between them. A difference is reported when two
/// in a row agree on it.
const MEASUREMENTS_MAX: usize = 5;
const MEASUREMENT_PAUSE: Duration = Duration::from_secs(2);

/// How often statistics are added to those that are read in one moment.
const SNAPSHOTS_MAX: usize = 5;

/// The most requests of one query or scan. At a megabyte each, they read a terabyte.
const PAGES_MAX: usize = 1_000_000;

/// The items to recount.
#[derive(Debug, Clone, Default)]
pub enum Scope {
    /// All items of the table. This reads the whole table.
    #[default]
    All,
    /// The items that these queries find, for the statistics of these keys. The queries must find
    /// all items of these statistics. They may read an index; an item that the index does not show
    /// yet looks like one that is not counted.
    Part {
        /// The queries. Their results are items as the stream shows them.
        queries: Vec<QueryFluentBuilder>,
        /// Partition keys and sort keys.
        stats: BTreeSet<(String, String)>,
    },
}

/// A number of a statistic that is not what the items give.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The partition key of the statistic.
    pub partition: String,
    /// Its sort key.
    pub sort: String,
    /// The attribute.
    pub attribute: String,
    /// The number that it has, with what is buffered for it.
    pub stored: Amount,
    /// The number that it should have.
    pub recounted: Amount,
    /// `Some(true)` for a minimum, `Some(false)` for a maximum. Their repair replaces the number.
    pub(crate) minimum: Option<bool>,
    /// The constant attributes of the statistic; empty if no item belongs to it.
    pub(crate) set: BTreeMap<String, String>,
}

impl Difference {
    /// Stored minus recounted. Counting does not change it, since a commit adds the same to both.
    pub fn error(&self) -> Amount {
        self.stored.plus(self.recounted.negative())
    }
}

/// The progress of reading.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    /// The number of items read, counted and others.
    pub items: u64,
    /// The number of requests for them.
    pub requests: u64,
    /// The read units that DynamoDB has charged for them.
    pub read_units: f64,
}

/// The result of one measurement.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// What differs.
    pub differences: Vec<Difference>,
    /// How many numbers of statistics were compared.
    pub numbers: u64,
    /// The number of items of the table that count.
    pub items: u64,
    /// How many of them the stream still has to deliver.
    pub pending: u64,
    /// How many of them wait in quarantine. Only a rollup that keeps modifications has such items.
    pub quarantined: u64,
    /// The number of items that cannot be read.
    pub unreadable: u64,
    /// The number of values without the first-seen record that they should have. The next item with
    /// such a value would be counted as a new one.
    pub unrecorded: u64,
    /// The number of holdings that are not what the items give.
    pub wrong_holdings: u64,
    /// What reading has cost.
    pub progress: Progress,
    /// For a repair.
    pub(crate) repair: Checkpoint,
    pub(crate) missing: Vec<DistinctValue>,
    pub(crate) holdings: BTreeMap<ItemKey, BTreeMap<String, HoldingError>>,
    pub(crate) acceptance: Option<Acceptance>,
}

/// The error of an entry of a holding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HoldingError {
    pub(crate) stat: (StatKey, usize),
    /// The number that has to be added.
    pub(crate) missing: i64,
    /// What that adds to the distinct count.
    pub(crate) crossing: i64,
}

impl Measurement {
    /// Whether the statistics and everything behind them are right.
    pub fn is_right(&self) -> bool {
        self.differences.is_empty() && self.unrecorded == 0 && self.wrong_holdings == 0
    }
}

/// Why a recount has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecountError {
    /// The measurements do not agree, so none can be trusted.
    #[error("{MEASUREMENTS_MAX} measurements do not agree: does another client change statistics?")]
    Unsteady,
    /// The items or the stream are not those that were counted.
    #[error(transparent)]
    Refused(#[from] RecountRefusal),
    /// A read has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Recounts the statistics of a rollup. Its requests are `DescribeTable`, `GetItem`,
/// `BatchGetItem`, `TransactGetItems`, `Query`, `Scan`, and reads of the stream.
pub struct Recounter<'a, T> {
    pub(crate) aggregator: &'a Aggregator<T>,
    items: Table,
    streams: aws_sdk_dynamodbstreams::Client,
    /// Judges also tables in which few items are counted, as those of a simulation are.
    pub(crate) judges_few_items: bool,
}

/// An item of the table, and whether it counts.
type States<T> = HashMap<ItemKey, T>;

impl<'a, T: Clone> Recounter<'a, T> {
    /// A recounter for an aggregator. `items` is the table whose stream it counts.
    pub fn new(aggregator: &'a Aggregator<T>, items: Table, streams: aws_sdk_dynamodbstreams::Client) -> Self {
        Self { aggregator, items, streams, judges_few_items: false }
    }

    /// Measures until the result can be trusted: at once when nothing differs, otherwise when two
    /// measurements in a row find the same errors. A difference that changes comes from reading
    /// while something moved.
    pub async fn check(&self, scope: &Scope, progress: impl Fn(Progress)) -> Result<Measurement, RecountError> {
        let found = |measured: &Measurement| {
            let errors = measured.differences.iter();
            let errors = errors.map(|of| (of.partition.clone(), of.sort.clone(), of.attribute.clone(), of.error()));
            (errors.collect::<Vec<_>>(), measured.missing.clone(), measured.holdings.clone())
        };
        let mut before = None;
        for _ in 0..MEASUREMENTS_MAX {
            let measured = self.measure(scope, &progress).await?;
            let found = found(&measured);
            if measured.is_right() || before.as_ref() == Some(&found) {
                return Ok(measured);
            }
            before = Some(found);
            tokio::time::sleep(MEASUREMENT_PAUSE).await;
        }
        Err(RecountError::Unsteady)
    }

    /// Compares the statistics of a scope with the items, once. `progress` is called after each
    /// page.
    pub async fn measure(&self, scope: &Scope, progress: impl Fn(Progress)) -> Result<Measurement, RecountError> {
        let (rollup, table) = (&self.aggregator.rollup, &self.aggregator.table);
        let (stream_arn, keys) = self.stream().await?;
        let entry = self.entry(&stream_arn).await?;
        let before = Snapshot::read(table, &rollup.name, &stream_arn, &BTreeSet::new()).await?;
        let read = self.read(scope, &keys, &progress).await?;

        let mut stats = read.stats.clone();
        stats.extend(read.states.values().flat_map(|item| self.stat_keys(item)));
        if let Scope::Part { stats: only, .. } = scope {
            stats.clone_from(only);
        }
        let held = matches!(scope, Scope::All).then_some(&read.held);
        for _ in 0..SNAPSHOTS_MAX {
            let moment = Snapshot::read(table, &rollup.name, &stream_arn, &stats).await?;
            let records = changes::read(&self.streams, &stream_arn, &before.numbers()).await?;
            let quarantined = match rollup.on_modify {
                Policy::Keep => Quarantined::read(table, rollup, &self.items).await?,
                Policy::Retract => Quarantined::default(),
            };
            let counted = self.counted((read.states.clone(), &keys), &records, &moment.numbers(), quarantined);
            let new = counted.states.values().flat_map(|item| self.stat_keys(item));
            // A statistic may exist only in the buffer of a checkpoint.
            let new: Vec<_> = new.chain(moment.buffered().0.into_keys()).collect();
            if matches!(scope, Scope::All) && !new.iter().all(|key| stats.contains(key)) {
                stats.extend(new);
                continue;
            }
            let guards = self.aggregator.rules.guards_recounts();
            if guards {
                check_stream(&stream_arn, scope, &read, &moment, &counted)?;
            }
            // An item that waits in quarantine was read, too.
            let left = counted.states.len() as u64 + counted.kept_out;
            let left_and_pending = [left, counted.left_out];
            let mut measured = self.compare(&stats, &stream_arn, &moment, counted, held, &records).await?;
            measured.unreadable = read.unreadable;
            measured.progress = read.progress;
            measured.acceptance = self.acceptance(entry.as_ref(), scope, &stream_arn, &moment, &records);
            if guards && !self.judges_few_items {
                check_items(scope, &measured, left_and_pending)?;
            }
            return Ok(measured);
        }
        Err(StoreError::Busy("new statistics appear all the time".to_owned()).into())
    }

    fn stat_keys(&self, item: &T) -> Vec<ItemKey> {
        let contributions = self.aggregator.rollup.contributions(&Change::Insert(item.clone()));
        contributions.keys().filter_map(|key| Some(self.aggregator.rollup.stat(key)?.key)).collect()
    }

    /// The items as the checkpoints of a moment know them. `states` were read before.
    fn counted(
        &self,
        (mut states, keys): (States<T>, &KeyNames),
        records: &[(String, ShardChanges)],
        moment: &BTreeMap<String, SequenceNumber>,
        quarantined: Quarantined,
    ) -> Counted<T> {
        let total = states.len();
        let mut settled: BTreeSet<ItemKey> = BTreeSet::new();
        let (mut pending, mut left_out) = (0, 0);
        for (shard, changes) in records {
            let checkpoint = moment.get(shard).copied();
            for change in changes {
                let Some(key) = keys.identity(&change.key) else { continue };
                let own = self.aggregator.table.key_of(&change.key);
                if settled.contains(&key) || own.is_some_and(|(pk, sk)| self.aggregator.rollup.owns(&pk, &sk)) {
                    continue;
                }
                let is_counted = Some(change.number) <= checkpoint;
                // The item of a record that is still to be quarantined may be readable by now. It
                // is counted only if a redrive was faster than the checkpoint.
                let is_kept_out = self.is_kept_out(change) && !is_counted && !quarantined.settled.contains(&key);
                // The aggregator moves no checkpoint for a record that changes no statistic. So
                // such a record may be older than records of the item in other shards that are
                // counted.
                if self.contributions(change).is_empty() && !is_kept_out {
                    continue;
                }
                let image = if is_counted { &change.new } else { &change.old };
                if !is_counted {
                    settled.insert(key.clone());
                    pending += u64::from(change.old.is_none());
                }
                match image.clone().map(|image| self.aggregator.read_item(image)) {
                    Some(Ok(Some(item))) => drop(states.insert(key, item)),
                    _ => left_out += u64::from(states.remove(&key).is_some() && !is_counted),
                }
            }
        }
        // A redrive counts these.
        let kept_out = quarantined.waiting.iter().filter(|key| states.remove(*key).is_some()).count();
        Counted {
            states,
            total: total as u64,
            pending,
            left_out,
            has_uncounted: !settled.is_empty(),
            kept_out: kept_out as u64,
            waiting: quarantined.waiting,
        }
    }

    /// Whether a record goes to quarantine, and no later record of the stream counts its item.
    fn is_kept_out(&self, change: &ItemChange) -> bool {
        let is_unreadable = |image: &Item| self.aggregator.read_item(image.clone()).is_err();
        let is_new = change.old.is_none() && self.aggregator.rollup.on_modify == Policy::Keep;
        is_new && change.new.as_ref().is_some_and(is_unreadable)
    }

    fn contributions(&self, change: &ItemChange) -> BTreeMap<StatKey, Contribution> {
        let item = |image: &Option<Item>| self.aggregator.read_item(image.clone()?).ok().flatten();
        if self.aggregator.rollup.on_modify == Policy::Keep && change.old.is_some() && change.new.is_some() {
            return BTreeMap::new();
        }
        let change = match (item(&change.old), item(&change.new), change.new.is_some()) {
            (Some(old), Some(new), _) => Change::Modify { old, new },
            (None, Some(new), _) => Change::Insert(new),
            (Some(old), None, true) => Change::Withdraw(old),
            (Some(old), None, false) if change.is_expiry => Change::Expire(old),
            (Some(old), None, false) => Change::Remove(old),
            (None, None, _) => return BTreeMap::new(),
        };
        self.aggregator.rollup.contributions(&change)
    }
}

/// The items that are counted at a moment.
struct Counted<T> {
    states: States<T>,
    total: u64,
    pending: u64,
    /// How many items of the scope are pending.
    left_out: u64,
    /// Whether the stream has a record, of any item, that is still to be counted.
    has_uncounted: bool,
    /// How many readable items were left out because they wait in quarantine.
    kept_out: u64,
    /// The items that wait in quarantine.
    waiting: BTreeSet<ItemKey>,
}
