//! The way back of all owners: those that PostgreSQL knows, and those that the new application has
//! made.

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use serde::Serialize;

use crate::Failure;
use crate::cutover::sides::Sides;
use crate::cutover::{PARALLEL, PREFIX};
use crate::run::{LineWriter, Run};
use crate::source::source_failure;
use crate::terminal::Progress;

/// The name of the file with what is not brought back.
pub(crate) const NOT_RETURNED: &str = "not-returned.jsonl";

/// The name of the file with the ids of new owners.
const NEW_OWNERS: &str = "new-owners.jsonl";

/// The result for all owners.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Returned {
    pub(crate) owners: u64,
    pub(crate) new_owners: u64,
    pub(crate) rows: u64,
    pub(crate) not_returned: u64,
}

impl Sides {
    /// Brings the rows of all owners to the state of their items. May be repeated. A trial undoes
    /// all of it at the end.
    pub(crate) async fn return_all(&self, run: &Run, is_trial: bool) -> Result<Returned, Failure> {
        let [begin, end] = if is_trial { ["BEGIN", "ROLLBACK"] } else { [""; 2] };
        self.postgres.client().batch_execute(begin).await.map_err(source_failure)?;
        let returned = self.return_known_and_new(run).await;
        let ended = self.postgres.client().batch_execute(end).await.map_err(source_failure);
        returned.and_then(|returned| ended.map(|()| returned))
    }

    async fn return_known_and_new(&self, run: &Run) -> Result<Returned, Failure> {
        let mut returned = Returned { new_owners: self.list_new_owners(run).await?, ..Returned::default() };
        let mut lines = LineWriter::create(run.path(NOT_RETURNED))?;
        let progress = Progress::new(self.postgres.users().await? + returned.new_owners, "returned");
        let mut last = String::new();
        loop {
            let users = self.postgres.users_after(&last).await?;
            let Some((user, _)) = users.last() else { break };
            last.clone_from(user);
            let users = users.into_iter().map(|(user, _)| Ok(user));
            self.return_some(users, &mut returned, &mut lines, &progress).await?;
        }
        let new = run.read_lines(NEW_OWNERS)?;
        self.return_some(new, &mut returned, &mut lines, &progress).await?;
        returned.not_returned = lines.finish()?.lines;
        Ok(returned)
    }

    async fn return_some(
        &self,
        owners: impl Iterator<Item = Result<String, Failure>>,
        returned: &mut Returned,
        lines: &mut LineWriter,
        progress: &Progress,
    ) -> Result<(), Failure> {
        let of_owners = stream::iter(owners).map(|owner| async move { self.return_owner(&owner?).await });
        let mut of_owners = of_owners.buffer_unordered(PARALLEL);
        while let Some(owner) = of_owners.next().await {
            let owner = owner?;
            returned.owners += 1;
            returned.rows += owner.rows;
            for left in &owner.left {
                lines.write_json(left)?;
            }
            progress.inc(1);
        }
        Ok(())
    }

    /// Writes the ids of the owners to a file whom PostgreSQL does not know. Returns their number.
    async fn list_new_owners(&self, run: &Run) -> Result<u64, Failure> {
        let mut lines = LineWriter::create(run.path(NEW_OWNERS))?;
        let mut pages = self.dynamo.partition_pages();
        let mut last = None;
        while let Some(partitions) = pages.next().await {
            let partitions = partitions?.into_iter().filter(|partition| !partition.starts_with(PREFIX));
            let owners = partitions.filter_map(|partition| self.world.owner_of_partition(&partition));
            let owners: BTreeSet<String> = owners.filter(|owner| last.as_ref() != Some(owner)).collect();
            let unknown = self.postgres.unknown_users(&Vec::from_iter(owners)).await?;
            for owner in &unknown {
                lines.write_json(owner)?;
            }
            last = unknown.last().cloned().or(last);
        }
        Ok(lines.finish()?.lines)
    }

    /// Ends the way back: PostgreSQL takes writes again.
    pub(crate) async fn reopen(&self) -> Result<(), Failure> {
        self.dynamo.remove_finished().await?;
        self.postgres.reopen().await
    }
}
