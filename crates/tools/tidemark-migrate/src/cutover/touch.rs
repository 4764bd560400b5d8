//! Makes the items of rows again that have not changed themselves: a row of another owner with
//! which they are joined has, or a key has become free.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use super::PARALLEL;
use super::dynamo::Fence;
use super::outbox_entry::OutboxEntry;
use super::ownership::Side;
use super::sides::Sides;
use super::stuck::StuckUsers;
use crate::row::{Cell, Row};
use crate::{Failure, FailureKind};

/// How often the side is looked for that owns the owner of a row. Other movers may be at work.
const TRIES: u32 = 100;

/// The number of rows of a table that are read and touched at once.
const ROWS_PER_PAGE: i64 = 500;

/// The number of an owner's rows that are one change in DynamoDB.
const ROWS_PER_CHANGE: usize = 50;

/// The most rows of other owners that a writer touches for its change. The tool touches more.
const ROWS_OF_WRITER_MAX: usize = 50;

/// Rows that are joined by the same values: the table, the place of the join in it, and the values.
type JoinedBy = (usize, usize, Vec<String>);

impl Sides {
    /// Makes the items again of all rows that are joined with rows of other owners that have
    /// changed until now. A change is forgotten only after that, so a crash repeats it.
    pub(super) async fn touch_joined(&self, stuck: &StuckUsers) -> Result<(), Failure> {
        let (until, _) = self.postgres.pending_joined().await?;
        let mut after = 0;
        loop {
            let (sequences, joined) = self.joined_by(None, (after, until)).await?;
            let Some(last) = sequences.last() else { return Ok(()) };
            after = *last;
            let mut is_done = true;
            for (table, join, values) in joined {
                let table = &self.world.mapping.tables[table];
                let mut last: Option<Row> = None;
                loop {
                    let by = (table, &table.joins[join]);
                    let rows = self.postgres.rows_joined_by(by, &values, last.as_ref(), ROWS_PER_PAGE).await?;
                    last = rows.last().cloned();
                    if last.is_none() {
                        break;
                    }
                    is_done &= self.touch_rows(&rows, stuck).await?;
                }
            }
            if is_done {
                self.postgres.remove_joined_changes(&sequences).await?;
            }
        }
    }

    /// The same for the changes of one owner's rows, as far as few rows are joined with them: a
    /// writer does not wait for many.
    pub(super) async fn touch_some_joined(&self, user: &str) -> Result<(), Failure> {
        if !self.world.mapping.has_joins_across() {
            return Ok(());
        }
        let (sequences, joined) = self.joined_by(Some(user), (0, i64::MAX)).await?;
        if sequences.is_empty() {
            return Ok(());
        }
        let mut rows: Vec<Row> = Vec::new();
        for (table, join, values) in joined {
            let table = &self.world.mapping.tables[table];
            let limit = ROWS_OF_WRITER_MAX + 1 - rows.len();
            let by = (table, &table.joins[join]);
            rows.extend(
                self.postgres.rows_joined_by(by, &values, None, i64::try_from(limit).unwrap_or_default()).await?,
            );
            if rows.len() > ROWS_OF_WRITER_MAX {
                return Ok(());
            }
        }
        if !rows.is_empty() {
            self.touch_rows(&rows, &StuckUsers::default()).await?;
        }
        let owners: BTreeSet<_> = rows.iter().filter_map(|row| row.owner.as_deref()).collect();
        for owner in owners {
            self.replicate_some(owner).await?;
        }
        self.postgres.remove_joined_changes(&sequences).await
    }

    /// The next changes, and how other rows are joined with the changed rows, before or after.
    async fn joined_by(
        &self,
        user: Option<&str>,
        range: (i64, i64),
    ) -> Result<(Vec<i64>, BTreeSet<JoinedBy>), Failure> {
        let changes = self.postgres.joined_changes(user, range).await?;
        let mut joined = BTreeSet::new();
        for change in &changes {
            for (table, join) in self.world.mapping.joins_across(&change.table) {
                let place = table.joins.iter().position(|known| known == join).unwrap_or_default();
                for state in &change.states {
                    let values =
                        join.on.iter().map(|(theirs, _)| change.table.cell(state, theirs).and_then(Cell::text));
                    // Null equals nothing, so no row is joined by it.
                    joined.extend(values.collect::<Option<Vec<_>>>().map(|values| (table.index, place, values)));
                }
            }
        }
        Ok((changes.iter().map(|change| change.sequence).collect(), joined))
    }

    /// Touches rows, each on the side that owns its owner; false if an owner is stuck.
    async fn touch_rows(&self, rows: &[Row], stuck: &StuckUsers) -> Result<bool, Failure> {
        let mut of_owners: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        for row in self.postgres.touch(rows).await? {
            of_owners.entry(row.owner.clone().unwrap_or_default()).or_default().push(row);
        }
        let touched = of_owners.into_iter().map(|(owner, rows)| async move {
            let mut is_done = true;
            for rows in rows.chunks(ROWS_PER_CHANGE) {
                let touched = Box::pin(self.touch_until_done(&owner, rows)).await;
                is_done &= stuck.set_aside(&owner, touched.map(|()| true))?;
            }
            Ok(is_done)
        });
        stream::iter(touched).buffer_unordered(PARALLEL).try_fold(true, |all, one| async move { Ok(all && one) }).await
    }

    /// Touches rows of an owner and a table, wherever the owner is, and finishes a move of the
    /// owner that was interrupted.
    async fn touch_until_done(&self, owner: &str, rows: &[Row]) -> Result<(), Failure> {
        for _ in 0..TRIES {
            if self.touch_of_owner(owner, rows).await? {
                return Ok(());
            }
            let ownerships = self.ownerships(owner).await?;
            if ownerships.postgres.epoch != ownerships.dynamo.epoch {
                self.move_user(owner, ownerships.leader().other()).await?;
            }
            tokio::time::sleep(Duration::from_millis(20).mul_f64(fastrand::f64())).await;
        }
        Err(FailureKind::Cutover.because(format!("user {owner} is moved back and forth")))
    }

    /// Touches rows of an owner and a table on the side that owns the owner; false if neither does
    /// now.
    pub(super) async fn touch_of_owner(&self, owner: &str, rows: &[Row]) -> Result<bool, Failure> {
        Ok(self.touch_in_dynamo(owner, rows).await? || self.postgres.touch(rows).await?.is_empty())
    }

    /// Writes the items of rows again in DynamoDB, as a change that PostgreSQL only counts. False
    /// if DynamoDB does not own the owner, or another change came first.
    async fn touch_in_dynamo(&self, owner: &str, rows: &[Row]) -> Result<bool, Failure> {
        let ownership = self.dynamo.ownership(owner).await?;
        if !ownership.is_open(Side::Dynamo) {
            return Ok(false);
        }
        if self.postgres.ownership(owner).await?.version != ownership.version {
            self.replicate_to(Side::Postgres, owner, ownership.version).await?;
            if self.postgres.ownership(owner).await?.version != ownership.version {
                return Ok(false);
            }
        }
        let rows = self.postgres.rows_by_id(owner, rows).await?;
        let Some(table) = rows.first().map(|row| row.table.clone()) else { return Ok(true) };
        let version = ownership.version + 1;
        let entry = |row: Option<&Row>| OutboxEntry {
            user: owner.to_owned(),
            version,
            table: table.clone(),
            before: row.cloned(),
            after: row.cloned(),
        };
        let touched: Vec<_> = rows.iter().map(|row| entry(Some(row))).collect();
        let writes = self.writes_of(owner, &touched).await?;
        if !self.write_or_wait(owner, Fence::Own(ownership, &entry(None)), writes).await? {
            return Ok(false);
        }
        // A row that is not migrated any more gives up its keys.
        self.pass_on(owner, &rows).await?;
        self.replicate_some(owner).await?;
        Ok(true)
    }
}
