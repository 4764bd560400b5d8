//! How the application writes during a cutover.

use std::time::Duration;

use super::dynamo::{DynamoWrite, Fence};
use super::ownership::Side;
use super::sides::Sides;
use crate::row::Row;
use crate::source::ForeignKey;
use crate::{Failure, FailureKind};

/// How often a write looks for the side that owns the user. A move takes milliseconds; these
/// attempts last about fifteen seconds.
const TRIES: u32 = 100;

const WAIT_MAX: Duration = Duration::from_millis(200);

/// The most rows that are read to find the owners who move to PostgreSQL for a delete.
const DEPENDENTS_OF_OWNERS_MAX: usize = 100_000;

/// Why a row was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The user is between two sides, because a move was interrupted. The same write succeeds after
    /// `cutover` has continued.
    #[error("user {0} is being moved from one side to the other")]
    Moving(String),
    /// Another row has the value in a unique index, or another user has the key.
    #[error("{0} belongs to another row")]
    Taken(String),
    /// The row has no key, an unknown column or no user, or cannot be migrated; or the cutover is
    /// finished.
    #[error("the row cannot be written: {0}")]
    Refused(String),
    /// A side did not answer, or refused. Whether the row was written is unknown; writing it again
    /// is safe.
    #[error(transparent)]
    Failed(#[from] Failure),
}

/// Writes rows to the side that owns the user, and replicates them to the other side.
///
/// It needs no lock and keeps no state. A writer that is killed leaves a whole change or none, and
/// other processes replicate its pending changes.
#[derive(Debug, Clone)]
pub struct Writer {
    sides: Sides,
}

impl Writer {
    /// A writer to both sides.
    pub fn new(sides: Sides) -> Self {
        Self { sides }
    }

    /// Inserts a row, or updates the columns of an existing one that `row` has. Other columns stay
    /// as they are.
    ///
    /// # Errors
    /// [`WriteError`]; after each of them the same write may be repeated.
    pub async fn put(&self, row: &Row) -> Result<Side, WriteError> {
        self.write(row, false).await
    }

    /// Deletes a row; a missing row counts as deleted. Of `row`, only the members that identify it
    /// must be right: its id, its user, and members that never change.
    pub async fn delete(&self, row: &Row) -> Result<Side, WriteError> {
        self.write(row, true).await
    }

    async fn write(&self, row: &Row, is_gone: bool) -> Result<Side, WriteError> {
        let row = &Box::pin(self.checked(row, is_gone)).await?;
        let Some(user) = row.owner.as_deref() else {
            return Err(WriteError::Refused(format!("a row of {} that belongs to no user", row.table.name)));
        };
        // A new user starts in PostgreSQL, which also reports at once if it does not own the user.
        let mut side = Side::Postgres;
        let mut wait = Duration::from_millis(1);
        for _ in 0..TRIES {
            let is_written = match side {
                Side::Postgres => self.write_postgres(user, row, is_gone).await?,
                Side::Dynamo => self.write_dynamo(user, row, is_gone).await?,
            };
            if is_written {
                // The change is safe from here on. If it cannot be replicated now, the next writer
                // or the tool does it.
                let _ = self.replicate_if_dual(user).await;
                return Ok(side);
            }
            if side == Side::Dynamo {
                if self.sides.is_finished().await? {
                    return Err(WriteError::Refused(
                        "the cutover is finished, and only the new application writes".to_owned(),
                    ));
                }
                tokio::time::sleep(wait.mul_f64(0.5 + fastrand::f64())).await;
                wait = (wait * 2).min(WAIT_MAX);
            }
            side = side.other();
        }
        Err(WriteError::Moving(user.to_owned()))
    }

    /// The row with its key and its owner as PostgreSQL writes them. Refuses a row that cannot mean
    /// what it says: the parent decides about the owner, and not the request.
    async fn checked(&self, row: &Row, is_gone: bool) -> Result<Row, WriteError> {
        let postgres = &self.sides.postgres;
        postgres.check(row)?;
        let row = postgres.normalised(row).await?;
        let Some(owner) = row.table.owner.as_ref().filter(|owner| owner.through.is_some()) else {
            // A program that mixes up its users must not delete rows of others.
            let found = if is_gone { postgres.row_by_id(&row).await? } else { None };
            return match found.and_then(|found| found.owner).filter(|found| row.owner.as_ref() != Some(found)) {
                Some(found) => Err(WriteError::Refused(format!("the row of {} belongs to {found}", row.table.name))),
                None => Ok(row),
            };
        };
        let mut found = postgres.owner_by_parent(&row).await?;
        if let (None, Some(given)) = (&found, &row.owner) {
            // PostgreSQL may lack the parent, because its change is not replicated yet.
            Box::pin(self.sides.replicate_some(given)).await?;
            found = postgres.owner_by_parent(&row).await?;
        }
        match (found, &row.owner) {
            // A missing row counts as deleted.
            (None, _) if is_gone => Ok(row),
            (None, _) => Err(WriteError::Refused(format!("the row of {} has no parent with an owner", row.table.name))),
            (Some(found), Some(given)) if *given != found && *given != format!("{}{found}", owner.prefix) => {
                Err(WriteError::Refused(format!(
                    "the row of {} belongs to {found}, and its $owner is {given}",
                    row.table.name
                )))
            }
            (Some(found), _) => Ok(row.of_owner(&found)),
        }
    }

    async fn replicate_if_dual(&self, user: &str) -> Result<(), Failure> {
        match self.sides.postgres.plan().await? {
            Some(plan) if plan.phase.is_replicated() => {
                self.sides.replicate_some(user).await?;
                self.sides.touch_some_joined(user).await
            }
            _ => Ok(()),
        }
    }

    async fn write_postgres(&self, user: &str, row: &Row, is_gone: bool) -> Result<bool, WriteError> {
        let postgres = &self.sides.postgres;
        let taken = if is_gone { postgres.delete(row, user).await } else { postgres.put(row).await };
        match taken {
            // A row of its key alone may exist already. Then no trigger has checked the owner.
            Ok(true) if !is_gone && row.columns.len() <= row.table.key.len() => {
                Ok(postgres.plan().await?.is_none() || postgres.ownership(user).await?.is_open(Side::Postgres))
            }
            Ok(false) => {
                if !is_gone {
                    self.bring_owners_together(user, row).await?;
                }
                self.bring_dependents(user, row, is_gone).await?;
                Ok(false)
            }
            // If the user has moved, the reason may be a row of the user that was changed in
            // DynamoDB, and PostgreSQL does not know that yet.
            Err(WriteError::Taken(_) | WriteError::Refused(_))
                if postgres.ownership(user).await.is_ok_and(|ownership| !ownership.is_open(Side::Postgres)) =>
            {
                Ok(false)
            }
            written => written,
        }
    }

    /// A row that changes its owner is written in PostgreSQL, in one statement for both owners:
    /// they move there first.
    async fn bring_owners_together(&self, user: &str, row: &Row) -> Result<(), WriteError> {
        let before = self.sides.postgres.row_by_id(row).await?.and_then(|before| before.owner);
        if let Some(owner) = before.filter(|owner| owner != user) {
            self.sides.move_user(&owner, Side::Postgres).await?;
            self.sides.move_user(user, Side::Postgres).await?;
        }
        Ok(())
    }

    /// A row is deleted in PostgreSQL together with rows of other owners, or changes them, or gives
    /// them its new key: these owners move there first.
    async fn bring_dependents(&self, user: &str, row: &Row, is_gone: bool) -> Result<(), WriteError> {
        let postgres = &self.sides.postgres;
        // Otherwise it was this owner's move that has refused the write.
        if !postgres.ownership(user).await?.is_open(Side::Postgres) {
            return Ok(());
        }
        if let Some(row) = postgres.row_by_id(row).await? {
            let action: fn(&ForeignKey) -> _ = if is_gone { |key| key.on_delete } else { |key| key.on_update };
            for owner in postgres.dependents(user, &row, action, DEPENDENTS_OF_OWNERS_MAX).await?.owners {
                self.sides.move_user(&owner, Side::Postgres).await?;
            }
        }
        Ok(())
    }

    /// Refuses a row that DynamoDB would not have.
    async fn check_migrated(&self, row: &Row, user: &str) -> Result<(), WriteError> {
        let world = &self.sides.world;
        let owner = self.sides.postgres.user(user).await?.map(|owner| world.owner(&owner));
        match world.items(row, owner.as_ref()) {
            Err(reject)
                if !world.is_expected(&row.table.name, reject.reason.as_str())
                    && !world.is_about_owner(&row.table, &reject.reason) =>
            {
                Err(WriteError::Refused(format!("{}: {}", reject.reason, reject.detail)))
            }
            _ => Ok(()),
        }
    }

    async fn write_dynamo(&self, user: &str, row: &Row, is_gone: bool) -> Result<bool, WriteError> {
        let ownership = self.sides.dynamo.ownership(user).await?;
        if !ownership.is_open(Side::Dynamo) {
            return Ok(false);
        }
        let Some(before) = self.sides.row_at(row, user, ownership.version).await? else { return Ok(false) };
        if before.as_ref().is_some_and(|before| before.owner.as_deref() != Some(user)) {
            self.sides.move_user(user, Side::Postgres).await?;
            self.bring_owners_together(user, row).await?;
            return Ok(false);
        }
        // The row is already deleted, by an earlier attempt of this delete or by another request. A
        // change of nothing is not replicated.
        if is_gone && before.is_none() {
            return Ok(true);
        }
        // Only the columns that the application gives change. PostgreSQL receives them later, and
        // must be able to store them then.
        let after = self.sides.postgres.preview(row, is_gone).await?;
        if let Some(other) = after.as_ref().and_then(|after| after.owner.as_ref()).filter(|owner| *owner != user) {
            return Err(WriteError::Refused(format!("PostgreSQL gives the row to {other}")));
        }
        if let Some(after) = after.as_ref().filter(|_| !self.sides.world.is_owners(row)) {
            self.check_migrated(after, user).await?;
        }
        let change = self.sides.own_change(row, user, (before, after), ownership.version + 1).await;
        let change = change.map_err(|failure| match failure.kind {
            // DynamoDB cannot store another row, with which this one is joined.
            FailureKind::UserStuck => WriteError::Refused(failure.detail),
            _ => failure.into(),
        })?;
        let Some((entry, mut writes)) = change else {
            // PostgreSQL must make the change: it affects all items of the user or rows that refer
            // to this one, or it is too large for the outbox or for one transaction.
            self.sides.move_user(user, Side::Postgres).await?;
            return Ok(false);
        };
        // Each iteration removes one item from the writes.
        loop {
            match self.sides.dynamo.write(user, Fence::Own(ownership, &entry), &writes).await? {
                DynamoWrite::Written => return Ok(true),
                DynamoWrite::Stale => return Ok(false),
                // An item that never belonged to this user stays, for example an address that two
                // users had before the cutover.
                DynamoWrite::Taken(key) if writes.deletes.remove(&key).is_some() => {}
                DynamoWrite::Taken(key) => {
                    let owner = self.sides.postgres.user(user).await?;
                    if !self.sides.has(entry.before.as_ref(), owner.as_ref(), &key) {
                        return Err(WriteError::Taken(key.partition));
                    }
                    writes.puts.remove(&key);
                }
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
