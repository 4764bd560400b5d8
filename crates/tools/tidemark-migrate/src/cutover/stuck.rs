//! Users of whom one side refuses a change. They are set aside, and the others go on.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::outbox_entry::OutboxEntry;
use super::ownership::Side;
use super::sides::Sides;
use crate::{Failure, FailureKind};

/// The number of users that an error names.
const NAMED_MAX: usize = 5;

/// The most users that are set aside: if more are stuck, the cause is not in their rows, and the
/// list must not fill the memory.
const STUCK_MAX: usize = 10_000;

/// The users that a pass could not finish, and why.
#[derive(Debug, Default)]
pub(crate) struct StuckUsers(Mutex<BTreeMap<String, String>>);

impl StuckUsers {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets a stuck user aside; other failures end the pass.
    pub(super) fn set_aside<T: Default>(&self, user: &str, done: Result<T, Failure>) -> Result<T, Failure> {
        match done {
            Err(failure) if failure.kind == FailureKind::UserStuck => {
                self.lock().insert(user.to_owned(), failure.detail);
                if self.lock().len() > STUCK_MAX { self.check().map(|()| T::default()) } else { Ok(T::default()) }
            }
            Ok(done) => {
                self.lock().remove(user);
                Ok(done)
            }
            failed => failed,
        }
    }

    /// The users and the reasons, for the report.
    pub(crate) fn list(&self) -> Vec<serde_json::Value> {
        let entry = |(user, detail)| serde_json::json!({ "user": user, "detail": detail });
        self.lock().iter().map(entry).collect()
    }

    /// The first users and the reasons, for people; `None` if there are none.
    pub(crate) fn text(&self) -> Option<String> {
        let stuck = self.lock();
        let named: Vec<_> = stuck.values().take(NAMED_MAX).cloned().collect();
        (!stuck.is_empty())
            .then(|| format!("{} users are stuck, and `repair` lets them go on: {}", stuck.len(), named.join("; ")))
    }

    /// Refuses to go on while a user is stuck.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.text().map_or(Ok(()), |text| Err(FailureKind::UserStuck.because(text)))
    }
}

/// Names the user and the row of a change that a side refused. A side that does not answer is not
/// the fault of the user.
pub(super) fn stuck(entry: &OutboxEntry, failure: Failure) -> Failure {
    match failure.kind {
        FailureKind::SourceUnreadable | FailureKind::TableRefused => {
            let id = entry.row().map(crate::row::Row::id).unwrap_or_default();
            let OutboxEntry { user, table, .. } = entry;
            FailureKind::UserStuck.because(format!("user {user}, row {id} of {}: {failure}", table.name))
        }
        _ => failure,
    }
}

impl Sides {
    /// The user's first change that is not replicated yet, and the side that lacks it.
    pub(crate) async fn first_pending(&self, user: &str) -> Result<Option<(Side, OutboxEntry)>, Failure> {
        let of_dynamo = self.dynamo.outbox_entries(&self.world.mapping, user).await?.into_iter().next();
        if let Some(entry) = of_dynamo {
            return Ok(Some((Side::Postgres, entry)));
        }
        let of_postgres = self.postgres.outbox_entries(user).await?.into_iter().next();
        Ok(of_postgres.map(|entry| (Side::Dynamo, entry)))
    }

    /// Counts a change as replicated without applying it.
    pub(crate) async fn skip(&self, to: Side, entry: &OutboxEntry) -> Result<(), Failure> {
        let empty = OutboxEntry { before: None, after: None, ..entry.clone() };
        match to {
            Side::Postgres => {
                self.postgres.apply_change(&empty).await?;
                self.dynamo.remove_outbox_entry(&entry.user, entry.version).await
            }
            Side::Dynamo => {
                self.dynamo.skip(&entry.user, entry.version).await?;
                self.postgres.remove_outbox_entries(&entry.user, entry.version).await
            }
        }
    }
}
