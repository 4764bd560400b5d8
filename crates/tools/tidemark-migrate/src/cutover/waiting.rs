//! Owners who wait for a key that another owner has, such as the address of two users. When the
//! holder gives the key up, the one with the best claim gets it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::sides::Sides;
use crate::item::Key;
use crate::mapping::{OnConflict, Table};
use crate::row::Row;
use crate::run::Run;
use crate::transform::REJECTS;
use crate::{Failure, FailureKind};

/// A row whose owner waits for a key. Of the row, only the key columns are known.
#[derive(Debug, Clone)]
pub(super) struct WaitingRow {
    pub(super) key: String,
    pub(super) owner: String,
    pub(super) row: Row,
}

/// A line of the rejected rows.
#[derive(Deserialize)]
struct Rejected {
    table: String,
    reason: String,
    row: Box<RawValue>,
}

/// The key in the list.
pub(super) fn name(key: &Key) -> String {
    format!("{:032x}", key.hash())
}

/// Whether rows of several owners may want one key of the table's items.
pub(super) fn is_shared(table: &Table) -> bool {
    table.items.iter().any(|item| !item.is_own)
}

impl Sides {
    /// The keys of a row that rows of other owners may want, too.
    fn shared_keys(&self, row: &Row, owner: Option<&Row>) -> Vec<Key> {
        if !is_shared(&row.table) {
            return Vec::new();
        }
        self.world.keys(row, owner).into_iter().filter(|(_, is_own)| !is_own).map(|(key, _)| key).collect()
    }

    /// Remembers that an owner wants a key.
    pub(super) async fn wait_for(&self, owner: &str, key: &Key) -> Result<(), Failure> {
        let rows = self.postgres.rows_of(owner).await?;
        let own = rows.iter().find(|row| self.world.is_owners(row));
        match rows.iter().find(|row| self.shared_keys(row, own).contains(key)) {
            Some(row) => self.postgres.add_waiting(key, owner, row).await,
            None => Ok(()),
        }
    }

    /// Remembers the rows that lost a key to another owner in the transformation. May be repeated.
    pub(super) async fn wait_for_lost_keys(&self, run: &Run) -> Result<(), Failure> {
        for rejected in run.read_lines(REJECTS)? {
            let rejected: Rejected = rejected?;
            let Some(table) = self.world.mapping.table(&rejected.table) else { continue };
            let is_reason = |conflict: &OnConflict| match conflict {
                OnConflict::RejectRow(reason) | OnConflict::LeaveOut(reason) => reason.as_str() == rejected.reason,
                OnConflict::Merge => false,
            };
            if !table.items.iter().any(|item| !item.is_own && is_reason(&item.on_conflict)) {
                continue;
            }
            // The line does not have the values of secret columns, and the row may have changed
            // since.
            let row = Row::read(table, rejected.row.get());
            let row = row.map_err(|error| FailureKind::RunChanged.because(format!("{REJECTS}: {error}")))?;
            let Some(row) = self.postgres.row_by_id(&row).await? else { continue };
            let Some(owner) = row.owner.clone() else { continue };
            let own = self.postgres.user(&owner).await?;
            for key in self.shared_keys(&row, own.as_ref()) {
                self.postgres.add_waiting(&key, &owner, &row).await?;
            }
        }
        Ok(())
    }

    /// Gives the keys of an owner's earlier rows to those who wait for them, if they are free. May
    /// be repeated.
    pub(super) async fn pass_on(&self, owner: &str, earlier: &[Row]) -> Result<(), Failure> {
        if !earlier.iter().any(|row| is_shared(&row.table)) {
            return Ok(());
        }
        let now = self.postgres.user(owner).await?;
        let own = now.as_ref().or_else(|| earlier.iter().find(|row| self.world.is_owners(row)));
        let keys = earlier.iter().flat_map(|row| self.shared_keys(row, own));
        let keys: BTreeMap<_, _> = keys.map(|key| (name(&key), key)).collect();
        let mut claims: BTreeMap<String, Vec<(Vec<u8>, WaitingRow)>> = BTreeMap::new();
        for waiting in self.postgres.waiting_for(&keys.keys().cloned().collect::<Vec<_>>()).await? {
            if let Some(key) = keys.get(&waiting.key).filter(|_| waiting.owner != owner) {
                match self.rank(&waiting, key).await? {
                    Some(rank) => claims.entry(waiting.key.clone()).or_default().push((rank, waiting)),
                    None => self.postgres.remove_waiting(&waiting).await?,
                }
            }
        }
        for (name, mut claims) in claims {
            claims.sort_by(|(one, _), (other, _)| other.cmp(one));
            for (_, waiting) in claims {
                let key = &keys[&name];
                let holder = self.dynamo.get(key).await?;
                if holder.as_ref().is_some_and(|item| self.is_of_another(item, &waiting.owner)) {
                    break;
                }
                // An owner who is stuck, or between the sides, must not hold up the one who gave up
                // the key.
                match Box::pin(self.claim(&waiting)).await {
                    Err(failure) if failure.kind != FailureKind::UserStuck => return Err(failure),
                    _ => {}
                }
                let holder = self.dynamo.get(key).await?;
                if holder.is_some_and(|item| !self.is_of_another(&item, &waiting.owner)) {
                    self.postgres.remove_waiting(&waiting).await?;
                    break;
                }
            }
        }
        Ok(())
    }

    async fn claim(&self, waiting: &WaitingRow) -> Result<(), Failure> {
        self.touch_of_owner(&waiting.owner, std::slice::from_ref(&waiting.row)).await?;
        self.replicate_some(&waiting.owner).await
    }

    /// The rank of a claim; `None` if the row does not want the key any more.
    async fn rank(&self, waiting: &WaitingRow, key: &Key) -> Result<Option<Vec<u8>>, Failure> {
        let Some(row) = self.postgres.row_by_id(&waiting.row).await? else { return Ok(None) };
        let row = row.of_owner(&waiting.owner);
        let owner = self.postgres.user(&waiting.owner).await?.map(|owner| self.world.owner(&owner));
        let made = self.world.items(&row, owner.as_ref());
        let item = made.ok().and_then(|made| made.items.into_iter().find(|item| item.key == *key));
        Ok(item.map(|item| item.rank))
    }
}
