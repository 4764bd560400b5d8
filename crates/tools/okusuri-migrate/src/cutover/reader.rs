//! How the application reads during a cutover: from the side that wrote last, and in shadow reads
//! also from the other side.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use tokio::time::timeout;

use super::item_writes;
use super::ownership::{Ownerships, Side};
use super::sides::Sides;
use crate::source::Row;
use crate::transform::items_of;
use crate::{Failure, FailureKind};

/// How often a read looks for the side that wrote last.
const TRIES: u32 = 50;

/// The longest time that an answer waits for its shadow read.
const SHADOW_MAX: Duration = Duration::from_secs(1);

/// A user's logs: the flag for bleeding by date.
pub type Logs = BTreeMap<String, bool>;

/// Reads a user's logs, and counts the results of shadow reads.
#[derive(Debug)]
pub struct Reader {
    sides: Sides,
    compared: AtomicU64,
    differing: AtomicU64,
    late: AtomicU64,
}

/// The results of the shadow reads so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Shadow {
    /// Reads for which both sides had the same version and were compared.
    pub compared: u64,
    /// Compared reads in which the sides differed.
    pub differing: u64,
    /// Reads that were not compared, because one side was behind or did not answer within a second.
    pub late: u64,
}

/// The result of one shadow read.
#[derive(Debug, Clone, Copy)]
enum Compared {
    Late,
    Equal,
    Differing,
}

impl Reader {
    /// A reader of both sides.
    pub fn new(sides: Sides) -> Self {
        Self { sides, compared: 0.into(), differing: 0.into(), late: 0.into() }
    }

    /// The results of the shadow reads so far.
    pub fn shadow(&self) -> Shadow {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Shadow { compared: of(&self.compared), differing: of(&self.differing), late: of(&self.late) }
    }

    /// A user's logs, with all changes that were answered before. Does not wait for a user whose
    /// move is in progress.
    ///
    /// # Errors
    /// If the side that wrote last does not answer.
    pub async fn logs(&self, user: &str) -> Result<Logs, Failure> {
        match self.of_leader(user).await {
            // PostgreSQL also says which side leads. If it does not answer, DynamoDB at least knows
            // whether it owns the user itself.
            Err(failure)
                if failure.kind == FailureKind::SourceGone || failure.kind == FailureKind::SourceUnreadable =>
            {
                let Ok(ownership) = self.sides.dynamo.ownership(user).await else { return Err(failure) };
                let is_owner =
                    ownership.is_open(Side::Dynamo) || self.sides.dynamo.is_finished().await.unwrap_or(false);
                if is_owner { self.of_items(user).await } else { Err(failure) }
            }
            read => read,
        }
    }

    async fn of_leader(&self, user: &str) -> Result<Logs, Failure> {
        let Some(plan) = self.sides.postgres.plan().await? else {
            return Ok(self.of_rows(&self.sides.postgres.plain_logs_of(user).await?));
        };
        let mut side = Side::Postgres;
        for _ in 0..TRIES {
            // The ownership is read before the logs or together with them, so the logs are at least
            // as new as the version that it states.
            let (own, logs) = match side {
                Side::Postgres => {
                    let (ownership, rows) = self.sides.postgres.logs_of(user).await?;
                    (ownership, self.of_rows(&rows))
                }
                Side::Dynamo => (self.sides.dynamo.ownership(user).await?, self.of_items(user).await?),
            };
            let is_leader = own.is_open(side) || {
                // Neither side may write, or the other side may; the other side's epoch decides.
                let ownerships = match side {
                    Side::Postgres => Ownerships { postgres: own, dynamo: self.sides.dynamo.ownership(user).await? },
                    Side::Dynamo => Ownerships { postgres: self.sides.postgres.ownership(user).await?, dynamo: own },
                };
                ownerships.leader() == side
            };
            // A finished cutover has no ownership records in DynamoDB, and the epoch alone would make
            // PostgreSQL the leader.
            if is_leader && side == Side::Postgres && !own.is_open(side) && self.sides.is_finished().await? {
                return self.of_items(user).await;
            }
            if is_leader {
                if plan.phase.is_compared() {
                    // A failing or slow shadow read must not affect the answer.
                    let compared = timeout(SHADOW_MAX, self.compare(user, side, own.version, &logs)).await;
                    self.count(compared.ok().and_then(Result::ok).unwrap_or(Compared::Late));
                }
                return Ok(logs);
            }
            side = side.other();
        }
        Err(FailureKind::Cutover.because(format!("user {user} is moved back and forth")))
    }

    /// Compares with the other side, and returns the result.
    async fn compare(&self, user: &str, side: Side, version: u64, logs: &Logs) -> Result<Compared, Failure> {
        let (before, others, after) = match side.other() {
            Side::Postgres => {
                let (ownership, rows) = self.sides.postgres.logs_of(user).await?;
                (ownership.version, self.of_rows(&rows), ownership.version)
            }
            Side::Dynamo => {
                let before = self.sides.dynamo.ownership(user).await?.version;
                let logs = self.of_items(user).await?;
                (before, logs, self.sides.dynamo.ownership(user).await?.version)
            }
        };
        // The leader may also have written between its own reads. PostgreSQL's rows are read
        // together with their version, DynamoDB's are not.
        let still = match side {
            Side::Postgres => version,
            Side::Dynamo => self.sides.dynamo.ownership(user).await?.version,
        };
        Ok(if [before, after, still] != [version; 3] {
            Compared::Late
        } else if others == *logs {
            Compared::Equal
        } else {
            Compared::Differing
        })
    }

    fn count(&self, compared: Compared) {
        let add = |count: &AtomicU64| count.fetch_add(1, Ordering::Relaxed);
        match compared {
            Compared::Late => _ = add(&self.late),
            Compared::Equal => _ = add(&self.compared),
            Compared::Differing => _ = (add(&self.compared), add(&self.differing)),
        }
    }

    fn of_rows(&self, rows: &[Row]) -> Logs {
        let options = &self.sides.options;
        let items = rows.iter().filter(|row| items_of(row, options).is_ok()).cloned().collect::<Vec<_>>();
        item_writes::winning_items(&items, options).into_values().filter_map(|item| log(&item.attributes)).collect()
    }

    async fn of_items(&self, user: &str) -> Result<Logs, Failure> {
        Ok(self.sides.dynamo.items_of(user).await?.iter().filter_map(log).collect())
    }
}

fn log(item: &std::collections::HashMap<String, AttributeValue>) -> Option<(String, bool)> {
    let has_bleeding = *item.get("HasBleeding")?.as_bool().ok()?;
    Some((item.get("Date")?.as_s().ok()?.clone(), has_bleeding))
}
