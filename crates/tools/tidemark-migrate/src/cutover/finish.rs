//! The end of a cutover: DynamoDB owns every user for good, and the cutover's own items go.

use futures::{StreamExt, TryStreamExt, stream};

use super::PARALLEL;
use super::command::target_side;
use super::dynamo::Dynamo;
use super::ownership::Side;
use super::passes::CutoverStatus;
use super::plan::{Phase, Plan};
use super::sides::Sides;
use crate::{Failure, FailureKind};

/// How often a user is moved again because a late writer has moved the user back to PostgreSQL.
const TRIES: u32 = 5;

impl Sides {
    /// The state of the cutover. A finished cutover has no ownership records any more.
    pub(super) async fn current_state(&self, plan: &Plan) -> Result<CutoverStatus, Failure> {
        if plan.phase == Phase::Finished && self.dynamo.is_finished().await? {
            let in_dynamo = self.postgres.users().await?;
            return Ok(CutoverStatus { in_dynamo, ..CutoverStatus::default() });
        }
        self.state(target_side(plan)).await
    }

    /// Removes the ownership records, outbox and flags from the table; may be repeated. Returns
    /// false, and removes nothing, if a user is not moved or a change is not replicated yet.
    pub(super) async fn finish(&self) -> Result<bool, Failure> {
        if !self.dynamo.is_finished().await? {
            let state = self.state(|_| Side::Dynamo).await?;
            if state.pending + state.between + state.to_move > 0 {
                return Ok(false);
            }
            self.dynamo.record_finished().await?;
        }
        self.dynamo.disable_replication().await?;
        let mut last = String::new();
        loop {
            let users = self.postgres.users_after(&last).await?;
            let Some((user, _)) = users.last() else { break };
            last.clone_from(user);
            let removed = stream::iter(users).map(|(user, _)| async move { self.remove_ownership(&user).await });
            removed.buffer_unordered(PARALLEL).try_collect::<()>().await?;
        }
        self.dynamo.remove_outbox().await?;
        Ok(true)
    }

    async fn remove_ownership(&self, user: &str) -> Result<(), Failure> {
        if !Dynamo::can_store(user) {
            // No side takes over, but PostgreSQL must refuse this user's writes like all others.
            return self.postgres.advance_epoch(user, 0, None).await.map(drop);
        }
        for _ in 0..TRIES {
            if self.dynamo.remove_ownership(user).await? {
                return Ok(());
            }
            self.move_user(user, Side::Dynamo).await?;
        }
        Err(FailureKind::Cutover.because(format!("another command moves user {user} back to PostgreSQL")))
    }
}
