//! How the application writes during a cutover.

use std::time::Duration;

use super::dynamo::{DynamoWrite, Fence};
use super::ownership::Side;
use super::postgres::PostgresWrite;
use super::sides::Sides;
use crate::source::{Row, Table};
use crate::transform::items_of;
use crate::{Failure, FailureKind};

/// How often a write checks which side owns the user. A user changes over in milliseconds; this is
/// patience for some fifteen seconds.
const TRIES: u32 = 100;

/// How long it waits in between, at most.
const WAIT_MAX: Duration = Duration::from_millis(200);

/// Why a row was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The user is between two sides, and stays there: whoever moved them was killed. The same
    /// write succeeds once `cutover` has gone on.
    #[error("user {0} is on the way from one side to the other")]
    Moving(String),
    /// Another user has the address, or the login at the provider.
    #[error("{0} is another user's")]
    Taken(String),
    /// The row belongs to nobody, or cannot be carried over.
    #[error("the row cannot be written: {0}")]
    Refused(String),
    /// A side did not answer, or refused. Whether the row was written is not known; writing it
    /// again does no harm.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Writes rows to the side that owns the user, and tells the other one.
///
/// It needs no lock, and its only state is a guess of the owning side. A writer that is killed at
/// any point leaves a whole change or none. Changes that it did not replicate are replicated by
/// others.
#[derive(Debug, Clone)]
pub struct Writer {
    sides: Sides,
}

impl Writer {
    /// A writer on both sides.
    pub fn new(sides: Sides) -> Self {
        Self { sides }
    }

    /// Writes a row, whether it is there or not.
    ///
    /// # Errors
    /// [`WriteError`]; after each of them the same write may be tried again.
    pub async fn put(&self, row: &Row) -> Result<Side, WriteError> {
        self.write(row, false).await
    }

    /// Removes a row, whether it exists or not. The row's id, user and immutable columns must be
    /// right, because they form the key.
    ///
    /// # Errors
    /// [`WriteError`]
    pub async fn delete(&self, row: &Row) -> Result<Side, WriteError> {
        self.write(row, true).await
    }

    async fn write(&self, row: &Row, is_gone: bool) -> Result<Side, WriteError> {
        let Some(user) = row.user_id() else {
            return Err(WriteError::Refused(format!("a row of {} that is nobody's", row.table())));
        };
        // A new user begins in PostgreSQL, which also reports at once if it does not own the user.
        let mut side = Side::Postgres;
        let mut wait = Duration::from_millis(1);
        for _ in 0..TRIES {
            let is_written = match side {
                Side::Postgres => self.write_postgres(user, row, is_gone).await?,
                Side::Dynamo => self.write_dynamo(user, row, is_gone).await?,
            };
            if is_written {
                // It is answered from here on. What cannot be told now is told by whoever writes
                // next, or by the tool.
                let _ = self.replicate_if_dual(user).await;
                return Ok(side);
            }
            if side == Side::Dynamo {
                tokio::time::sleep(wait.mul_f64(0.5 + fastrand::f64())).await;
                wait = (wait * 2).min(WAIT_MAX);
            }
            side = side.other();
        }
        Err(WriteError::Moving(user.to_owned()))
    }

    async fn replicate_if_dual(&self, user: &str) -> Result<(), Failure> {
        match self.sides.postgres.plan().await? {
            Some(plan) if plan.phase.is_replicated() => self.sides.replicate(user).await.map(drop),
            _ => Ok(()),
        }
    }

    async fn write_postgres(&self, user: &str, row: &Row, is_gone: bool) -> Result<bool, WriteError> {
        let postgres = &self.sides.postgres;
        let taken = if is_gone { postgres.delete(row, user).await } else { postgres.put(row).await };
        match taken? {
            PostgresWrite::Written => Ok(true),
            PostgresWrite::NotOwner => Ok(false),
            // For a user who has moved, the conflicting row may be the user's own: PostgreSQL does
            // not know yet that it is deleted.
            PostgresWrite::UniqueViolation
                if postgres.ownership(user).await.is_ok_and(|ownership| !ownership.is_open(Side::Postgres)) =>
            {
                Ok(false)
            }
            PostgresWrite::UniqueViolation => {
                Err(WriteError::Taken(format!("something that {} has once only", row.table())))
            }
        }
    }

    async fn write_dynamo(&self, user: &str, row: &Row, is_gone: bool) -> Result<bool, WriteError> {
        let ownership = self.sides.dynamo.ownership(user).await?;
        if !ownership.is_open(Side::Dynamo) {
            return Ok(false);
        }
        let Some(rows) = self.sides.rows_at(row, user, ownership.version).await? else { return Ok(false) };
        // Removed already, by the same delete when it was last tried, or by somebody else's. A
        // change of nothing is none to tell of.
        if is_gone && rows.0.is_none() {
            return Ok(true);
        }
        let is_replicated = !is_gone && row.table() != Table::User;
        if is_replicated && let Err(reject) = items_of(row, &self.sides.options).map(drop) {
            use crate::transform::Reason::{Deleted, Expired, Password};
            if !matches!(reject.reason, Deleted | Expired | Password) {
                return Err(WriteError::Refused(format!("{}: {}", reject.reason.as_str(), reject.detail)));
            }
        }
        let change = self.sides.own_change(row, user, rows, is_gone, ownership.version + 1).await?;
        let Some((entry, mut writes)) = change else {
            // A user who is deleted or restored with all rows, which PostgreSQL knows; or a row
            // that is too large for an item.
            self.sides.move_user(user, Side::Postgres).await?;
            return Ok(false);
        };
        // Each iteration takes one item out of the writes.
        loop {
            match self.sides.dynamo.write(user, Fence::Own(ownership, &entry), &writes).await? {
                DynamoWrite::Written => return Ok(true),
                DynamoWrite::Stale => return Ok(false),
                // Items that never belonged to this user stay, such as an address that two users
                // had before the cutover.
                DynamoWrite::Taken(key) if writes.deletes.remove(&key) => {}
                DynamoWrite::Taken(key) if self.sides.has(entry.before.as_ref(), &key) => {
                    drop(writes.puts.remove(&key))
                }
                DynamoWrite::Taken(key) => return Err(WriteError::Taken(key.partition)),
            }
        }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Failed(failure) => failure,
            error => FailureKind::Cutover.because(error),
        }
    }
}
