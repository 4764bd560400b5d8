//! Replication: the changes of one side are applied to the other, in their order.
//!
//! Changes of PostgreSQL are applied in batches. A batch is one change as far as DynamoDB is
//! concerned: the items are made from the rows that PostgreSQL has now, which are at least as new
//! as the last change of the batch. If they are newer, a later change is pending, and it gives the
//! same items.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt, stream};

use super::PARALLEL;
use super::dynamo::{DynamoWrite, Fence, OutboxPlace};
use super::item_writes::{self, ItemWrites};
use super::outbox_entry::OutboxEntry;
use super::ownership::Side;
use super::sides::Sides;
use super::stuck::{StuckUsers, stuck};
use super::waiting::is_shared;
use crate::row::Row;
use crate::terminal::Progress;
use crate::{Failure, FailureKind};

/// How often replication of a user may stall because of another replicator.
const STALLS_MAX: u32 = 50;

/// The most rounds of replicating all pending changes.
const ROUNDS_MAX: u32 = 1_000;

/// The number of users with pending changes per page.
const USERS_PER_PAGE: usize = 1_000;

/// The result of replicating a page of a user's changes.
#[derive(Debug, Clone, Copy, Default)]
struct Page {
    replicated: u64,
    /// The last version that the other side now has; `None` if no change is pending.
    last: Option<u64>,
}

impl Sides {
    /// Replicates a user's changes in both directions that are pending now. Returns the number of
    /// replicated changes.
    pub async fn replicate(&self, user: &str) -> Result<u64, Failure> {
        let ownerships = self.ownerships(user).await?;
        Ok(self.replicate_to(Side::Dynamo, user, ownerships.postgres.version).await?
            + self.replicate_to(Side::Postgres, user, ownerships.dynamo.version).await?)
    }

    /// Replicates a page of a user's changes in each direction: a writer does not wait for the
    /// backlog of others.
    pub(super) async fn replicate_some(&self, user: &str) -> Result<(), Failure> {
        self.replicate_page(Side::Dynamo, user).await?;
        self.replicate_page(Side::Postgres, user).await?;
        Ok(())
    }

    /// Replicates a user's changes to a side until it has the version `goal`.
    pub(super) async fn replicate_to(&self, to: Side, user: &str, goal: u64) -> Result<u64, Failure> {
        let (mut replicated, mut stalls) = (0, 0);
        while stalls < STALLS_MAX {
            let page = self.replicate_page(to, user).await?;
            replicated += page.replicated;
            if page.last.is_none_or(|last| last >= goal) {
                return Ok(replicated);
            }
            if page.replicated == 0 {
                stalls += 1;
                stalled().await;
            }
        }
        Err(FailureKind::Cutover.because(format!("{to} lacks a change of user {user} that is in no outbox")))
    }

    async fn replicate_page(&self, to: Side, user: &str) -> Result<Page, Failure> {
        match to {
            Side::Dynamo => self.page_to_dynamo(user).await,
            Side::Postgres => self.page_to_postgres(user).await,
        }
    }

    async fn page_to_dynamo(&self, user: &str) -> Result<Page, Failure> {
        let mut entries = self.postgres.outbox_entries(user).await?;
        let mut applied = self.apply_to_dynamo(user, &entries).await;
        // One of the changes is refused: the first one goes alone, so that its row is named.
        if let [first, _, ..] = &*entries
            && applied.as_ref().is_err_and(|failure| stuck(first, failure.clone()).kind == FailureKind::UserStuck)
        {
            entries.truncate(1);
            applied = self.apply_to_dynamo(user, &entries).await;
        }
        let Some((first, last)) = entries.first().zip(entries.last()) else { return Ok(Page::default()) };
        let mut has = last.version;
        if !applied.map_err(|failure| stuck(first, failure))? {
            // Another process has replicated some of these changes, or has yet to replicate an
            // earlier one.
            has = has.min(self.dynamo.ownership(user).await?.version);
        }
        let replicated = entries.iter().filter(|entry| entry.version <= has).count();
        if replicated > 0 {
            let mut earlier: Vec<_> = entries.iter().filter_map(|entry| entry.before.clone()).collect();
            if self.affect_all_items(&entries) {
                earlier.extend(self.postgres.rows_of(user).await?);
            }
            self.pass_on(user, &earlier).await?;
            self.postgres.remove_outbox_entries(user, has).await?;
        }
        Ok(Page { replicated: replicated as u64, last: Some(has) })
    }

    async fn page_to_postgres(&self, user: &str) -> Result<Page, Failure> {
        let mut page = Page::default();
        for entry in self.dynamo.outbox_entries(&self.world.mapping, user).await? {
            // DynamoDB has given up the row's earlier keys, and PostgreSQL still has the row.
            if let Some(row) = entry.row().filter(|_| is_shared(&entry.table)) {
                let earlier = self.postgres.row_by_id(row).await?;
                self.pass_on(user, &Vec::from_iter(earlier)).await?;
            }
            let applied = self.postgres.apply_change(&entry).await.map_err(|failure| stuck(&entry, failure))?;
            if !applied {
                let has = self.postgres.ownership(user).await?.version;
                if has < entry.version {
                    return Ok(Page { last: Some(has), ..page });
                }
            }
            self.dynamo.remove_outbox_entry(user, entry.version).await?;
            page = Page { replicated: page.replicated + 1, last: Some(entry.version) };
        }
        Ok(page)
    }

    /// Applies successive changes of PostgreSQL to DynamoDB; false if the first is not the next
    /// one.
    async fn apply_to_dynamo(&self, user: &str, entries: &[OutboxEntry]) -> Result<bool, Failure> {
        let Some((first, last)) = entries.first().zip(entries.last()) else { return Ok(true) };
        let fence = Fence::Replicated { after: first.version - 1, last: last.version };
        let writes = self.writes_of(user, entries).await?;
        self.write_or_wait(user, fence, writes).await
    }

    /// Writes items to DynamoDB, except for those whose key another owner has; for these the user
    /// waits. False if the fence has changed.
    pub(super) async fn write_or_wait(
        &self,
        user: &str,
        fence: Fence<'_>,
        mut writes: ItemWrites,
    ) -> Result<bool, Failure> {
        let mut waited_for = BTreeSet::new();
        loop {
            match self.dynamo.write(user, fence, &writes).await? {
                DynamoWrite::Written => return Ok(true),
                DynamoWrite::Stale => return Ok(false),
                // The key may become free while this user begins to wait for it.
                DynamoWrite::Taken(key) if writes.puts.contains_key(&key) && waited_for.insert(key.clone()) => {
                    self.wait_for(user, &key).await?;
                }
                // As in the transformation, the other user keeps the key.
                DynamoWrite::Taken(key) => {
                    if !writes.leave_out(&key) {
                        return Err(FailureKind::Cutover.because(format!(
                            "{} was refused twice because it belongs to another user",
                            key.partition
                        )));
                    }
                }
            }
        }
    }

    fn affect_all_items(&self, entries: &[OutboxEntry]) -> bool {
        let change = |entry: &OutboxEntry| {
            item_writes::affects_all_items([entry.before.as_ref(), entry.after.as_ref()], &self.world)
        };
        entries.iter().any(change)
    }

    /// The writes that changes of PostgreSQL lead to.
    pub(super) async fn writes_of(&self, user: &str, entries: &[OutboxEntry]) -> Result<ItemWrites, Failure> {
        let mut writes = self.all_writes_of(user, entries).await?;
        self.check_rejects(user, entries, &writes).await?;
        self.left_out.add(std::mem::take(&mut writes.left_out));
        Ok(writes)
    }

    async fn all_writes_of(&self, user: &str, entries: &[OutboxEntry]) -> Result<ItemWrites, Failure> {
        let change = |entry: &OutboxEntry| [entry.before.clone(), entry.after.clone()];
        if self.affect_all_items(entries) {
            let changed: Vec<Row> = entries.iter().flat_map(change).flatten().collect();
            return self.rewrite_all_items(user, &changed).await;
        }
        let mut changed: Vec<&Row> = Vec::new();
        for row in entries.iter().flat_map(|entry| [&entry.before, &entry.after]).flatten() {
            if !changed.contains(&row) {
                changed.push(row);
            }
        }
        let (owner, joined) = tokio::try_join!(self.postgres.user(user), self.postgres.rows_joining(user, &changed))?;
        let rows = self.related_rows(user, &changed, &joined, owner.as_ref()).await?;
        let touching: Vec<_> = changed.into_iter().chain(&joined).collect();
        Ok(item_writes::of_rows(&touching, owner.as_ref(), &rows, &self.world))
    }

    /// The writes that make a user's items in DynamoDB equal to all rows in PostgreSQL.
    async fn rewrite_all_items(&self, user: &str, changed: &[Row]) -> Result<ItemWrites, Failure> {
        let partitions = self.world.partitions(user);
        let (rows, items) = tokio::try_join!(self.postgres.rows_of(user), self.dynamo.items_of(&partitions))?;
        let found = items.into_iter().filter_map(|item| Some((self.key(&item)?, item))).collect();
        Ok(item_writes::of_all_rows(&rows, changed, &found, &self.world))
    }

    /// Replicates all changes in both directions that are pending now, several users at once.
    /// Returns the number of replicated changes.
    pub(crate) async fn replicate_all(&self, stuck: &StuckUsers) -> Result<u64, Failure> {
        let to_postgres = self.replicate_all_to(Side::Postgres, stuck).await?;
        // Before the other direction, to which it adds changes.
        self.touch_joined(stuck).await?;
        Ok(to_postgres + self.replicate_all_to(Side::Dynamo, stuck).await?)
    }

    /// Replicates all changes to a side that are pending now. Changes that are made meanwhile are
    /// left to their writers, so this ends however many are made.
    pub(crate) async fn replicate_all_to(&self, to: Side, stuck: &StuckUsers) -> Result<u64, Failure> {
        let (until, count) = match to {
            Side::Postgres => (0, self.dynamo.pending().await?),
            Side::Dynamo => self.postgres.pending().await?,
        };
        let progress = Progress::new(count, "changes");
        let mut replicated = 0;
        for _ in 0..ROUNDS_MAX {
            let (mut round, mut failure) = (0, None);
            let mut pending = match to {
                Side::Postgres => PendingUsers::OfDynamo(OutboxPlace::default()),
                Side::Dynamo => PendingUsers::OfPostgres { last: String::new(), until },
            };
            while let Some(users) = pending.next(self).await? {
                let delivered = stream::iter(users).map(|user| async move {
                    let delivered = self.replicate_pending(to, &user).await;
                    stuck.set_aside(&user, delivered)
                });
                let mut delivered = delivered.buffer_unordered(PARALLEL);
                while let Some(delivered) = delivered.next().await {
                    match delivered {
                        Ok(replicated) => {
                            progress.inc(replicated);
                            round += replicated;
                        }
                        Err(error) => failure = Some(error),
                    }
                }
            }
            replicated += round;
            // A change may depend on another user's change, for example if one user gives up an
            // address and another takes it. So a failure counts only if a whole round made no
            // progress.
            match failure {
                None => break,
                Some(failure) if round == 0 => return Err(failure),
                Some(_) => {}
            }
        }
        Ok(replicated)
    }

    async fn replicate_pending(&self, to: Side, user: &str) -> Result<u64, Failure> {
        let goal = match to {
            Side::Postgres => self.dynamo.ownership(user).await?,
            Side::Dynamo => self.postgres.ownership(user).await?,
        };
        self.replicate_to(to, user, goal.version).await
    }
}

/// The users with pending changes, page by page.
#[derive(Debug)]
enum PendingUsers {
    OfDynamo(OutboxPlace),
    /// The last user, and the last change in PostgreSQL's outbox.
    OfPostgres {
        last: String,
        until: i64,
    },
}

impl PendingUsers {
    async fn next(&mut self, sides: &Sides) -> Result<Option<Vec<String>>, Failure> {
        match self {
            Self::OfDynamo(place) => sides.dynamo.next_pending_users(place).await,
            Self::OfPostgres { last, until } => {
                let users = sides.postgres.pending_users(last, *until, USERS_PER_PAGE).await?;
                let Some(user) = users.last() else { return Ok(None) };
                last.clone_from(user);
                Ok(Some(users))
            }
        }
    }
}

/// Waits a moment: another process replicates the same user's changes, and this process has
/// outdated data.
async fn stalled() {
    tokio::time::sleep(Duration::from_millis(20).mul_f64(fastrand::f64())).await;
}
