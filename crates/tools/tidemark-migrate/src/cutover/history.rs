//! Checks that a database and a table have the same cutover behind them: neither is an older copy.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use super::dynamo::Dynamo;
use super::ownership::{Ownership, Ownerships, Side};
use super::postgres::Postgres;
use crate::mapping::Mapping;
use crate::{Failure, FailureKind};

/// How often a user is read again whose records contradict each other, because each may be changed
/// between two reads.
const TRIES: u32 = 10;

/// The wait between these reads.
const WAIT: Duration = Duration::from_millis(100);

/// The number of users that are checked at once.
const PARALLEL: usize = 16;

/// What is wrong with a user's records; `None` if one cutover can have led to them. `waiting` is the
/// first version in the table's outbox.
fn contradiction(Ownerships { postgres, dynamo }: Ownerships, waiting: Option<u64>) -> Option<&'static str> {
    let leader = Ownerships { postgres, dynamo }.leader();
    if postgres.epoch.abs_diff(dynamo.epoch) > 1 {
        return Some(if postgres.epoch < dynamo.epoch { "the database is older" } else { "the table is older" });
    }
    match leader {
        Side::Postgres if dynamo.version > postgres.version => Some("the database is older"),
        Side::Dynamo if postgres.version > dynamo.version => Some("the table is older"),
        // PostgreSQL lacks changes that the table has removed from its outbox, because another
        // database has them.
        Side::Dynamo
            if postgres.version < dynamo.version && waiting.is_none_or(|first| first > postgres.version + 1) =>
        {
            Some("the database is older")
        }
        _ => None,
    }
}

/// Refuses a database or a table that lacks changes which the other one knows to be replicated.
///
/// # Errors
/// `cutover` if one is an older copy; and if a side does not answer.
pub(crate) async fn check_same_history(mapping: &Mapping, postgres: &Postgres, dynamo: &Dynamo) -> Result<(), Failure> {
    let mut last = String::new();
    loop {
        let users = postgres.users_after(&last).await?;
        let Some((user, _)) = users.last() else { return Ok(()) };
        last.clone_from(user);
        let users = users.into_iter().filter(|(user, _)| Dynamo::can_store(user));
        let checked = stream::iter(users)
            .map(|(user, seen)| async move { check(mapping, (postgres, dynamo), &user, seen).await });
        checked.buffer_unordered(PARALLEL).try_collect::<()>().await?;
    }
}

async fn check(
    mapping: &Mapping,
    (postgres, dynamo): (&Postgres, &Dynamo),
    user: &str,
    seen: Ownership,
) -> Result<(), Failure> {
    let mut found = Ownerships { postgres: seen, dynamo: dynamo.ownership(user).await? };
    let mut why = contradiction(found, None);
    for _ in 0..TRIES {
        if why.is_none() {
            return Ok(());
        }
        let waiting = dynamo.outbox_entries(mapping, user).await?.first().map(|entry| entry.version);
        let before = dynamo.ownership(user).await?;
        found = Ownerships { postgres: postgres.ownership(user).await?, dynamo: before };
        // Only while the table's record did not change do both records belong together.
        let is_quiet = dynamo.ownership(user).await? == before;
        why = if is_quiet { contradiction(found, waiting) } else { Some("one side changes all the time, or is older") };
        tokio::time::sleep(if why.is_some() { WAIT } else { Duration::ZERO }).await;
    }
    why.map_or(Ok(()), |why| {
        Err(FailureKind::Cutover.because(format!(
            "{why} than the other side: user {user} has {found:?}. Is it the right database, and the right table?"
        )))
    })
}
