//! Both sides together: moving a user, and the writes of a change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use super::dynamo::Dynamo;
use super::item_writes::{self, ItemWrites};
use super::not_migrated::LeftOut;
use super::outbox_entry::OutboxEntry;
use super::ownership::{MoveStep, Ownerships, Side};
use super::plan::Phase;
use super::postgres::{ItemKey, Postgres};
use crate::item::{Attributes, Key};
use crate::mapping::{Mapping, World};
use crate::row::Row;
use crate::source::json_columns;
use crate::{Failure, FailureKind};

/// The most steps of one call for a user; other movers may work on the same user.
const STEPS_MAX: u32 = 1_000;

/// The most rows that DynamoDB deletes together with a row. One transaction takes no more items;
/// PostgreSQL deletes more rows, and they are replicated page by page.
const DEPENDENTS_MAX: usize = 98;

/// Both databases, and the mapping of rows to items.
#[derive(Debug, Clone)]
pub struct Sides {
    pub(super) postgres: Postgres,
    pub(super) dynamo: Dynamo,
    pub(super) world: Arc<World>,
    pub(super) left_out: Arc<LeftOut>,
}

impl Sides {
    /// The two sides of a cutover.
    pub fn new(postgres: Postgres, dynamo: Dynamo, mut world: World) -> Self {
        dynamo.run().clone_into(&mut world.run);
        world.json_columns = json_columns(&postgres.schema().columns);
        Self { postgres, dynamo, world: Arc::new(world), left_out: Arc::default() }
    }

    /// Whether the plan says that the cutover is finished.
    pub(super) async fn is_finished(&self) -> Result<bool, Failure> {
        Ok(self.postgres.plan().await?.is_some_and(|plan| plan.phase == Phase::Finished))
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        &self.world.mapping
    }

    pub(crate) fn postgres(&self) -> &Postgres {
        &self.postgres
    }

    /// Asks both sides for an answer: the phase, and whether the table is that of the cutover. With the
    /// name of another one, a moved user could never write.
    pub(crate) async fn answer(&self) -> Result<(Option<Phase>, Result<(), Failure>), Failure> {
        let phase = self.postgres.plan().await?.map(|plan| plan.phase);
        Ok((phase, self.check_table(phase).await))
    }

    async fn check_table(&self, phase: Option<Phase>) -> Result<(), Failure> {
        let is_replicating = self.dynamo.is_replicating().await?;
        let is_of_cutover = match phase {
            Some(Phase::Dual | Phase::Percent) => is_replicating,
            Some(Phase::Finished) => is_replicating || self.dynamo.is_finished().await?,
            None | Some(Phase::Capture | Phase::RollingBack) => true,
        };
        let other = || FailureKind::TableRefused.because("this table is not that of the cutover: check --table");
        if is_of_cutover { Ok(()) } else { Err(other()) }
    }

    pub(super) async fn ownerships(&self, user: &str) -> Result<Ownerships, Failure> {
        let (postgres, dynamo) = tokio::try_join!(self.postgres.ownership(user), self.dynamo.ownership(user))?;
        Ok(Ownerships { postgres, dynamo })
    }

    /// Moves a user to a side, and continues a move that was interrupted at any step. Returns
    /// whether anything had to be done.
    pub async fn move_user(&self, user: &str, goal: Side) -> Result<bool, Failure> {
        let mut is_level = false;
        for step in 0..STEPS_MAX {
            // The ownership records are read again after each step, because another mover may have
            // been faster.
            let ownerships = self.ownerships(user).await?;
            match ownerships.next_step(goal) {
                MoveStep::Done => return Ok(step > 0),
                // The user can write while a backlog is replicated, and not after this step.
                MoveStep::Close { side, .. }
                    if !is_level && ownerships.postgres.version != ownerships.dynamo.version =>
                {
                    self.replicate_to(side.other(), user, ownerships.of(side).version).await?;
                    is_level = true;
                }
                MoveStep::Close { side, epoch } => self.advance_epoch(side, user, epoch, None).await?,
                MoveStep::Replicate { to } => {
                    _ = self.replicate_to(to, user, ownerships.of(to.other()).version).await?;
                }
                MoveStep::Open { side, epoch, version } => {
                    self.advance_epoch(side, user, epoch - 1, Some(version)).await?
                }
            }
        }
        Err(FailureKind::Cutover
            .because(format!("user {user} cannot be moved: another command moves the user back and forth")))
    }

    async fn advance_epoch(&self, side: Side, user: &str, from: u32, at: Option<u64>) -> Result<(), Failure> {
        match side {
            Side::Postgres => self.postgres.advance_epoch(user, from, at).await,
            Side::Dynamo => self.dynamo.advance_epoch(user, from, at).await,
        }
        .map(|_| ())
    }

    pub(super) fn key(&self, item: &Attributes) -> Option<Key> {
        Key::of(item, &self.world.mapping.target)
    }

    pub(super) fn is_of_another(&self, item: &Attributes, user: &str) -> bool {
        item.get(&self.world.mapping.target.owner) != Some(&AttributeValue::S(user.to_owned()))
    }

    /// Whether a row has an item with that key.
    pub(super) fn has(&self, row: Option<&Row>, owner: Option<&Row>, key: &Key) -> bool {
        row.is_some_and(|row| self.world.keys(row, owner).iter().any(|(known, _)| known == key))
    }

    /// PostgreSQL's row with this id; missing changes are replicated to PostgreSQL first. `None` if
    /// PostgreSQL still has another version.
    pub(super) async fn row_at(&self, row: &Row, user: &str, version: u64) -> Result<Option<Option<Row>>, Failure> {
        if self.postgres.ownership(user).await?.version != version {
            self.replicate_to(Side::Postgres, user, version).await?;
            if self.postgres.ownership(user).await?.version != version {
                return Ok(None);
            }
        }
        self.postgres.row_by_id(row).await.map(Some)
    }

    /// The rows of an owner that decide about the items of changed rows, and of the rows with which
    /// they are joined; and all these rows themselves. Of two rows that want one key, the one that
    /// loses it may lose its other items, too, so the rows that want those also count.
    pub(super) async fn related_rows(
        &self,
        user: &str,
        mut changed: &[&Row],
        joined: &[Row],
        owner: Option<&Row>,
    ) -> Result<Vec<Row>, Failure> {
        let with_id = |row: Row| ((row.table.index, row.key()), row);
        let mut all: BTreeMap<_, _> = joined.iter().cloned().map(with_id).collect();
        let mut known = BTreeSet::new();
        let mut of: Vec<_> = changed.iter().copied().chain(joined).cloned().collect();
        while !of.is_empty() {
            let keys = of.iter().flat_map(|row| {
                let keys = self.world.keys_by_place(row, owner).into_iter();
                keys.map(move |(place, key)| ItemKey { table: row.table.index, place, key })
            });
            let keys: Vec<_> = keys.collect();
            known.extend(keys.iter().map(|key| key.key.clone()));
            let found = self.postgres.related_rows(user, changed, &of, &keys).await?;
            let is_next = |row: &&Row| {
                let keys = self.world.keys(row, owner);
                let count = keys.iter().filter(|(key, _)| known.contains(key)).count();
                count > 0 && count < keys.len()
            };
            of = found.iter().filter(is_next).cloned().collect();
            all.extend(found.into_iter().map(with_id));
            changed = &[];
        }
        Ok(all.into_values().collect())
    }

    /// The writes in DynamoDB for a change made there, and the outbox entry for PostgreSQL.
    /// `before` is the row that PostgreSQL has, and `after` the row that it will have. `None` if the
    /// change must be made in PostgreSQL, because it affects all items of the user, changes the rows
    /// that refer to this one, or is too large for the outbox or for one transaction.
    pub(super) async fn own_change(
        &self,
        row: &Row,
        user: &str,
        (before, after): (Option<Row>, Option<Row>),
        version: u64,
    ) -> Result<Option<(OutboxEntry, ItemWrites)>, Failure> {
        let is_gone = after.is_none();
        let entry = OutboxEntry { user: user.to_owned(), version, table: Arc::clone(&row.table), before, after };
        let change = [entry.before.as_ref(), entry.after.as_ref()];
        let changes_a_key =
            change[0].zip(change[1]).is_some_and(|(before, after)| self.postgres.changes_a_key(before, after));
        if item_writes::affects_all_items(change, &self.world) || changes_a_key || !entry.fits() {
            return Ok(None);
        }
        let of_user = match self.world.is_owners(row) {
            true => entry.after.clone(),
            false => self.postgres.user(user).await?,
        };
        // PostgreSQL will delete further rows with this one; their items go in the same
        // transaction.
        let mut gone = Vec::new();
        if let (Some(before), true) = (&entry.before, is_gone) {
            let dependents = self.postgres.dependents(user, before, |key| key.on_delete, DEPENDENTS_MAX).await?;
            if !dependents.is_plain {
                return Ok(None);
            }
            gone = dependents.rows;
        }
        let changed: Vec<_> = change.into_iter().flatten().chain(&gone).collect();
        // The rows with which the changed rows are joined, as they will be after the change.
        let mut joined = self.postgres.rows_joining(user, &changed).await?;
        joined.retain(|other| !changed.iter().any(|changed| changed.is_same(other)));
        let mut rows = self.related_rows(user, &changed, &joined, of_user.as_ref()).await?;
        rows.retain(|other| !changed.iter().copied().chain(&joined).any(|known| known.is_same(other)));
        let after_change = |other: Row| {
            let other = other.joined(row, entry.after.as_ref());
            gone.iter().fold(other, |other, gone| other.joined(gone, None))
        };
        let joined: Vec<_> = joined.into_iter().map(after_change).collect();
        // The row may be joined with itself.
        rows.extend(entry.after.as_ref().map(|after| after.clone().joined(row, Some(after))));
        rows.extend(joined.clone());
        let touching: Vec<_> = changed.into_iter().chain(&joined).collect();
        let writes = item_writes::of_rows(&touching, of_user.as_ref(), &rows, &self.world);
        // A crash between two transactions would leave a part of the change.
        if !Dynamo::takes_at_once(&writes) {
            return Ok(None);
        }
        self.check_rejects(user, &[], &writes).await?;
        Ok(Some((entry, writes)))
    }
}
