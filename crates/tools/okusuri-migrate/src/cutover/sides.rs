//! Both sides: the replication between them, and the move of a user.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::{StreamExt, stream};
use jiff::Timestamp;
use store::okusuri::Key;

use super::dynamo::{Dynamo, DynamoWrite, Fence};
use super::item_writes::{self, ItemWrites};
use super::outbox_entry::OutboxEntry;
use super::ownership::{MoveStep, Ownerships, Side};
use super::postgres::Postgres;
use crate::source::{Row, Table};
use crate::transform::{Item, Options, items_of};
use crate::{Failure, FailureKind};

/// How many steps one call takes for a user before it gives up: others may be at work on the same
/// one.
const STEPS_MAX: u32 = 1_000;

/// How often somebody else may be in the way who tells the same user's changes.
const STALLS_MAX: u32 = 50;

/// How often everything that waits is looked for until nothing does.
const ROUNDS_MAX: u32 = 1_000;

/// Both databases, and how a row becomes items.
#[derive(Debug, Clone)]
pub struct Sides {
    pub(super) postgres: Postgres,
    pub(super) dynamo: Dynamo,
    pub(super) options: Options,
}

/// An item that is not what PostgreSQL's rows say.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// Whose.
    pub user: String,
    /// `PK`
    pub partition: String,
    /// `SK`
    pub sort: String,
    /// `missing`: it should be there; `unexpected`: it should not; `changed`: it has other
    /// attributes.
    pub what: &'static str,
}

impl Sides {
    /// Both sides of a cutover.
    pub fn new(postgres: Postgres, dynamo: Dynamo, options: Options) -> Self {
        Self { postgres, dynamo, options }
    }

    /// Both ownerships of a user.
    pub(super) async fn ownerships(&self, user: &str) -> Result<Ownerships, Failure> {
        let (postgres, dynamo) = tokio::try_join!(self.postgres.ownership(user), self.dynamo.ownership(user))?;
        Ok(Ownerships { postgres, dynamo })
    }

    /// Tells each side what the other has noted about a user. Gives how many changes were told.
    ///
    /// # Errors
    /// If a side does not answer or refuses a change. Replicated changes stay; the others wait.
    pub async fn replicate(&self, user: &str) -> Result<u64, Failure> {
        Ok(self.replicate_to_dynamo(user).await? + self.replicate_to_postgres(user).await?)
    }

    async fn replicate_to_dynamo(&self, user: &str) -> Result<u64, Failure> {
        let (mut told, mut stalls) = (0, 0);
        while stalls < STALLS_MAX {
            let entries = self.postgres.outbox_entries(user).await?;
            if entries.is_empty() {
                return Ok(told);
            }
            for entry in entries {
                if !self.apply_to_dynamo(&entry).await? && self.dynamo.ownership(user).await?.version < entry.version {
                    stalls += 1;
                    stalled().await;
                    break;
                }
                self.postgres.remove_outbox_entry(user, entry.version).await?;
                told += 1;
            }
        }
        Err(FailureKind::Cutover.because(format!("DynamoDB lacks a change of user {user} that nobody has")))
    }

    /// Makes a change of PostgreSQL's in DynamoDB; false when it is not the next one.
    async fn apply_to_dynamo(&self, entry: &OutboxEntry) -> Result<bool, Failure> {
        let change = [entry.before.as_ref(), entry.after.as_ref()];
        let mut writes = if item_writes::affects_all_items(entry.table, change, &self.options) {
            self.rewrite_all_items(&entry.user, change).await?
        } else {
            // As they are now, which may be newer: then another change is on its way, and comes to
            // the same.
            let (user, rows) = tokio::try_join!(
                self.postgres.user(&entry.user),
                self.postgres.related_rows(&entry.user, entry.table, change)
            )?;
            item_writes::of_row(change, user.as_ref(), &rows, &self.options)
        };
        loop {
            match self.dynamo.write(&entry.user, Fence::Replicated(entry.version), &writes).await? {
                DynamoWrite::Written => return Ok(true),
                DynamoWrite::Stale => return Ok(false),
                // As in the transformation, the holder keeps it, and the other user has no lookup
                // item for it.
                DynamoWrite::Taken(key) => {
                    if writes.puts.remove(&key).is_none() && !writes.deletes.remove(&key) {
                        return Err(
                            FailureKind::Cutover.because(format!("{} is somebody else's, twice", key.partition))
                        );
                    }
                }
            }
        }
    }

    /// What makes of DynamoDB's items of a user those of all rows in PostgreSQL.
    async fn rewrite_all_items(&self, user: &str, change: [Option<&Row>; 2]) -> Result<ItemWrites, Failure> {
        let (rows, items) = tokio::try_join!(self.postgres.rows_of(user), self.dynamo.items_of(user))?;
        let puts = item_writes::items_of_user(&rows, &self.options);
        let of_change = change.into_iter().flatten().flat_map(|row| items_of(row, &self.options).unwrap_or_default());
        let mut deletes: BTreeSet<_> =
            of_change.map(|item| Key { partition: item.partition, sort: item.sort }).collect();
        for item in &items {
            deletes.extend(key(item));
            deletes.extend(marker(item));
        }
        deletes.retain(|key| !puts.contains_key(key));
        Ok(ItemWrites { puts, deletes })
    }

    async fn replicate_to_postgres(&self, user: &str) -> Result<u64, Failure> {
        let (mut told, mut stalls) = (0, 0);
        while stalls < STALLS_MAX {
            let entries = self.dynamo.outbox_entries(user).await?;
            if entries.is_empty() {
                return Ok(told);
            }
            for entry in entries {
                if !self.postgres.apply_change(&entry).await?
                    && self.postgres.ownership(user).await?.version < entry.version
                {
                    stalls += 1;
                    stalled().await;
                    break;
                }
                self.dynamo.remove_outbox_entry(user, entry.version).await?;
                told += 1;
            }
        }
        Err(FailureKind::Cutover.because(format!("PostgreSQL lacks a change of user {user} that nobody has")))
    }

    /// Brings a user to a side, from whatever step somebody left them at. Gives whether anything
    /// was to be done.
    ///
    /// # Errors
    /// When a side does not answer; begun again, it goes on.
    pub async fn move_user(&self, user: &str, goal: Side) -> Result<bool, Failure> {
        for step in 0..STEPS_MAX {
            // The ownerships are read again after any result, because another mover may have been
            // faster.
            match self.ownerships(user).await?.next_step(goal) {
                MoveStep::Done => return Ok(step > 0),
                MoveStep::Close { side, epoch } => self.advance_epoch(side, user, epoch, None).await?,
                MoveStep::Replicate { to: Side::Dynamo } => _ = self.replicate_to_dynamo(user).await?,
                MoveStep::Replicate { to: Side::Postgres } => _ = self.replicate_to_postgres(user).await?,
                MoveStep::Open { side, epoch, version } => {
                    self.advance_epoch(side, user, epoch - 1, Some(version)).await?
                }
            }
        }
        Err(FailureKind::Cutover.because(format!("user {user} comes to no side: somebody moves them to and fro")))
    }

    async fn advance_epoch(&self, side: Side, user: &str, from: u32, at: Option<u64>) -> Result<(), Failure> {
        match side {
            Side::Postgres => self.postgres.advance_epoch(user, from, at).await,
            Side::Dynamo => self.dynamo.advance_epoch(user, from, at).await,
        }
        .map(|_| ())
    }

    /// Tells everything that waits on either side, users side by side. Gives how many changes were
    /// told.
    ///
    /// # Errors
    /// As [`Sides::replicate`].
    pub async fn replicate_all(&self, parallel: usize) -> Result<u64, Failure> {
        Ok(self.replicate_all_to(Side::Postgres, parallel).await?
            + self.replicate_all_to(Side::Dynamo, parallel).await?)
    }

    /// Tells PostgreSQL everything that waits in DynamoDB.
    pub(crate) async fn replicate_all_to_postgres(&self, parallel: usize) -> Result<u64, Failure> {
        self.replicate_all_to(Side::Postgres, parallel).await
    }

    async fn replicate_all_to(&self, to: Side, parallel: usize) -> Result<u64, Failure> {
        let mut told = 0;
        for _ in 0..ROUNDS_MAX {
            let users: BTreeSet<_> = match to {
                Side::Postgres => self.dynamo.pending().await?.0,
                Side::Dynamo => self.postgres.pending().await?.0.into_iter().collect(),
            };
            if users.is_empty() {
                return Ok(told);
            }
            let delivered = stream::iter(users).map(|user| async move {
                match to {
                    Side::Postgres => self.replicate_to_postgres(&user).await,
                    Side::Dynamo => self.replicate_to_dynamo(&user).await,
                }
            });
            let (mut round, mut failure) = (0, None);
            for delivered in delivered.buffer_unordered(parallel).collect::<Vec<_>>().await {
                match delivered {
                    Ok(told) => round += told,
                    Err(error) => failure = Some(error),
                }
            }
            // A change may wait for another user's: an address that one gives up and the other
            // takes.
            match failure {
                Some(failure) if round == 0 => return Err(failure),
                _ => told += round,
            }
        }
        Ok(told)
    }

    /// Compares a user's items with what PostgreSQL's rows come to. None when the two sides are not
    /// at the same change: somebody writes just now.
    ///
    /// # Errors
    /// When a side does not answer.
    pub async fn compare(&self, user: &str) -> Result<Option<Vec<Difference>>, Failure> {
        let before = self.ownerships(user).await?;
        let (rows, items) = tokio::try_join!(self.postgres.rows_of(user), self.dynamo.items_of(user))?;
        let expected = item_writes::items_of_user(&rows, &self.options);
        let mut found: BTreeMap<_, _> = items.into_iter().filter_map(|item| Some((key(&item)?, item))).collect();
        let mut keys: BTreeSet<_> = found.keys().cloned().collect();
        keys.extend(found.values().filter_map(marker));
        keys.extend(expected.keys().cloned());
        let mut differences = Vec::new();
        for key in keys {
            let is_own = key.partition.strip_prefix("USER#") == Some(user);
            let found = if is_own { found.remove(&key) } else { self.dynamo.get(&key).await? };
            let what = match (expected.get(&key), found) {
                (None, None) => continue,
                (Some(item), Some(found)) if item.attributes == found => continue,
                // A marker that another user has: the address is in both profiles, and leads to one
                // of them.
                (_, Some(found)) if !is_own && is_of_another(&found, user) => continue,
                (Some(item), None) => {
                    if self.may_be_missing(user, item).await? {
                        continue;
                    }
                    "missing"
                }
                (None, Some(_)) => "unexpected",
                (Some(_), Some(_)) => "changed",
            };
            differences.push(Difference { user: user.to_owned(), partition: key.partition, sort: key.sort, what });
        }
        let after = self.ownerships(user).await?;
        let is_level = before == after && after.postgres.version == after.dynamo.version;
        Ok(is_level.then_some(differences))
    }

    /// Whether an item of PostgreSQL's rows need not be there: it has expired, or is the login of
    /// two users and found the other one.
    async fn may_be_missing(&self, user: &str, item: &Item) -> Result<bool, Failure> {
        let ttl = item.attributes.get("TTL").and_then(|ttl| ttl.as_n().ok()?.parse::<i64>().ok());
        if ttl.is_some_and(|ttl| ttl <= Timestamp::now().as_second()) {
            return Ok(true);
        }
        let Some(marker) = marker(&item.attributes) else { return Ok(false) };
        Ok(self.dynamo.get(&marker).await?.is_some_and(|found| is_of_another(&found, user)))
    }

    /// Whether a row has an item of its own at that key.
    pub(super) fn has(&self, row: Option<&Row>, key: &Key) -> bool {
        let items = row.map(|row| items_of(row, &self.options).unwrap_or_default()).unwrap_or_default();
        items.iter().any(|item| item.partition == key.partition && item.sort == key.sort)
    }

    /// The row in PostgreSQL, with the other rows that become the same items. Missing changes of
    /// that version are replicated first. `None` if PostgreSQL has another version.
    pub(super) async fn rows_at(
        &self,
        row: &Row,
        user: &str,
        version: u64,
    ) -> Result<Option<(Option<Row>, Vec<Row>)>, Failure> {
        if self.postgres.ownership(user).await?.version != version {
            self.replicate_to_postgres(user).await?;
            if self.postgres.ownership(user).await?.version != version {
                return Ok(None);
            }
        }
        let same = self.postgres.row_by_id(row).await?;
        let mut others = self.postgres.related_rows(user, row.table(), [Some(row), same.as_ref()]).await?;
        others.retain(|other| same.as_ref().is_none_or(|same| other.id() != same.id()));
        Ok(Some((same, others)))
    }

    /// What a change made in DynamoDB does there, and what PostgreSQL is told of it. Before it
    /// PostgreSQL has the row as `before`, and `rows` beside it. None when it has to be made in
    /// PostgreSQL: it is about everything of the user's, or too large to be told.
    pub(super) async fn own_change(
        &self,
        row: &Row,
        user: &str,
        (before, mut rows): (Option<Row>, Vec<Row>),
        is_gone: bool,
        version: u64,
    ) -> Result<Option<(OutboxEntry, ItemWrites)>, Failure> {
        let after = (!is_gone).then(|| row.clone());
        rows.extend(after.clone());
        let entry = OutboxEntry { user: user.to_owned(), version, table: row.table(), before, after };
        let change = [entry.before.as_ref(), entry.after.as_ref()];
        if item_writes::affects_all_items(entry.table, change, &self.options) || !entry.fits() {
            return Ok(None);
        }
        let of_user = match entry.table {
            Table::User => entry.after.clone(),
            _ => self.postgres.user(user).await?,
        };
        let writes = item_writes::of_row(change, of_user.as_ref(), &rows, &self.options);
        Ok(Some((entry, writes)))
    }
}

/// Somebody else tells the same user's changes, and this view of them is out of date.
async fn stalled() {
    tokio::time::sleep(Duration::from_millis(20).mul_f64(fastrand::f64())).await;
}

type Attributes = std::collections::HashMap<String, AttributeValue>;

fn key(item: &Attributes) -> Option<Key> {
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    Some(Key { partition: text("PK")?, sort: text("SK")? })
}

fn is_of_another(item: &Attributes, user: &str) -> bool {
    item.get("UserId") != Some(&AttributeValue::S(user.to_owned()))
}

/// The item in another partition by which one of the user's is found.
fn marker(item: &Attributes) -> Option<Key> {
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok());
    let of = |partition: String, sort: &str| Some(Key { partition, sort: sort.to_owned() });
    match text("Type")?.as_str() {
        "user_session" => of(format!("SESSION#{}", text("TokenHash")?), "SESSION"),
        "account" => of(format!("ACCOUNT#{}#{}", text("Provider")?, text("Subject")?), "ACCOUNT"),
        _ => None,
    }
}
