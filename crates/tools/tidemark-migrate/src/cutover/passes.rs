//! Passes over all users: move them, count them, compare them.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};

use super::PARALLEL;
use super::compare::Difference;
use super::dynamo::Dynamo;
use super::ownership::{MoveStep, Ownerships, Side, bucket};
use super::sides::Sides;
use super::stuck::StuckUsers;
use crate::Failure;
use crate::terminal::Progress;

/// The most passes over all users until none is left to move; new users appear meanwhile.
const PASSES_MAX: u32 = 20;

/// The number of ownership records per read from DynamoDB
/// ([BatchGetItem](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html)).
const OWNERSHIPS_PER_READ: usize = 100;

/// The state of a cutover, counted over all users.
#[derive(Debug, Default, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CutoverStatus {
    /// Users that PostgreSQL owns.
    pub in_postgres: u64,
    /// Users that DynamoDB owns.
    pub in_dynamo: u64,
    /// Users for whom neither side may write, because a move was interrupted.
    pub between: u64,
    /// Users that are not yet on the side that the plan wants.
    pub to_move: u64,
    /// Changes of one side that are not replicated to the other.
    pub pending: u64,
}

/// The users that are compared: so many percent, chosen by a hash of the seed and the user's id.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// 100 for all users.
    pub(crate) percent: u8,
    /// Another seed chooses other users.
    pub(crate) seed: i64,
}

impl Sample {
    pub(crate) const ALL: Self = Self { percent: 100, seed: 0 };

    fn contains(self, user: &str) -> bool {
        self.percent >= 100 || bucket(&format!("{} {user}", self.seed)) < self.percent
    }
}

/// A user whose id DynamoDB cannot store stays in PostgreSQL.
fn storable(goal: impl Fn(&str) -> Side + Copy) -> impl Fn(&str) -> Side + Copy {
    move |user| if Dynamo::can_store(user) { goal(user) } else { Side::Postgres }
}

impl Sides {
    /// Moves all users to their side; a user who is there already costs one read.
    /// Returns the number of moved users.
    pub(crate) async fn move_users(
        &self,
        goal: impl Fn(&str) -> Side + Copy,
        stuck: &StuckUsers,
    ) -> Result<u64, Failure> {
        let goal = storable(goal);
        let progress = Progress::new(self.postgres.users().await?, "users");
        let mut moved = 0;
        for _ in 0..PASSES_MAX {
            progress.set_position(0);
            let mut pass = 0;
            let mut last = String::new();
            loop {
                let users = self.ownerships_after(&last).await?;
                let Some((user, _)) = users.last() else { break };
                last.clone_from(user);
                progress.inc(u64::try_from(users.len()).unwrap_or_default());
                let left =
                    users.into_iter().filter(|(user, ownerships)| ownerships.next_step(goal(user)) != MoveStep::Done);
                let brought = stream::iter(left)
                    .map(|(user, _)| async move { stuck.set_aside(&user, self.move_user(&user, goal(&user)).await) });
                pass += brought
                    .buffer_unordered(PARALLEL)
                    .try_fold(0, |sum, moved| async move { Ok(sum + u64::from(moved)) })
                    .await?;
            }
            moved += pass;
            if pass == 0 {
                break;
            }
        }
        Ok(moved)
    }

    async fn ownerships_after(&self, user: &str) -> Result<Vec<(String, Ownerships)>, Failure> {
        let users = self.postgres.users_after(user).await?;
        let mut dynamo = BTreeMap::new();
        for users in users.chunks(OWNERSHIPS_PER_READ) {
            let ids: Vec<_> = users.iter().map(|(user, _)| user.clone()).collect();
            dynamo.extend(self.dynamo.ownerships(&ids).await?);
        }
        let both = |(user, postgres): (String, _)| {
            let dynamo = dynamo.get(&user).copied().unwrap_or_default();
            (user, Ownerships { postgres, dynamo })
        };
        Ok(users.into_iter().map(both).collect())
    }

    /// Counts the users by their state.
    pub(crate) async fn state(&self, goal: impl Fn(&str) -> Side + Copy) -> Result<CutoverStatus, Failure> {
        let goal = storable(goal);
        let ((_, postgres), (_, joined), dynamo) =
            tokio::try_join!(self.postgres.pending(), self.postgres.pending_joined(), self.dynamo.pending())?;
        let mut state = CutoverStatus { pending: postgres + joined + dynamo, ..CutoverStatus::default() };
        let mut last = String::new();
        loop {
            let users = self.ownerships_after(&last).await?;
            let Some((user, _)) = users.last() else { return Ok(state) };
            last.clone_from(user);
            for (user, ownerships) in users {
                let count = match (ownerships.postgres.epoch == ownerships.dynamo.epoch, ownerships.leader()) {
                    (true, Side::Postgres) => &mut state.in_postgres,
                    (true, Side::Dynamo) => &mut state.in_dynamo,
                    (false, _) => &mut state.between,
                };
                *count += 1;
                state.to_move += u64::from(ownerships.next_step(goal(&user)) != MoveStep::Done);
            }
        }
    }

    /// Compares the items of all users, or of a sample, with PostgreSQL's rows, and calls `take` for
    /// each difference. Returns the number of compared users, and the number of users skipped
    /// because of concurrent writes.
    pub(crate) async fn compare_all(
        &self,
        sample: Sample,
        take: &mut impl FnMut(Difference) -> Result<(), Failure>,
    ) -> Result<(u64, u64), Failure> {
        let progress = Progress::new(self.postgres.users().await?, "compared");
        let (mut compared, mut late) = (0, 0);
        let mut last = String::new();
        loop {
            let users = self.postgres.users_after(&last).await?;
            let Some((user, _)) = users.last() else { break };
            last.clone_from(user);
            let chosen = users.into_iter().filter(|(user, _)| sample.contains(user));
            let of_users = stream::iter(chosen).map(|(user, _)| async move { self.compare(&user).await });
            let mut of_users = of_users.buffer_unordered(PARALLEL);
            while let Some(found) = of_users.try_next().await? {
                progress.inc(1);
                match found {
                    Some(found) => {
                        compared += 1;
                        found.into_iter().try_for_each(&mut *take)?;
                    }
                    None => late += 1,
                }
            }
        }
        Ok((compared, late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_is_a_share_and_another_seed_chooses_others() {
        let chosen = |percent, seed| {
            let sample = Sample { percent, seed };
            (0..1_000).filter(|n| sample.contains(&format!("user-{n}"))).collect::<Vec<_>>()
        };
        assert_eq!(chosen(100, 1).len(), 1_000);
        assert!((70..130).contains(&chosen(10, 1).len()));
        assert_eq!(chosen(10, 1), chosen(10, 1));
        assert_ne!(chosen(10, 1), chosen(10, 2));
    }
}
