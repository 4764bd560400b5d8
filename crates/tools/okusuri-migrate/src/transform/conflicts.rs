//! Resolves conflicts between rows: which users are migrated, and which of two rows with one key
//! is.

use std::collections::{HashMap, HashSet};

use super::item::{Item, OnConflict, Rank, hash, key_hash};
use super::{Options, Reason, Reject, is_verified, rows};
use crate::source::Row;

/// Takes about a hundred bytes for each item and user.
#[derive(Debug, Default)]
pub(super) struct ConflictResolver {
    users: HashMap<String, UserStatus>,
    /// The best row for each key that decides about a whole row, by the key's hash.
    holders: HashMap<u128, Holder>,
    /// The claims to each other key. The best claim whose row is migrated gets the key.
    claims: HashMap<u128, Vec<Claim>>,
    /// Rows that are resolved. A table without its primary key may have the same row twice.
    decided: HashSet<u128>,
}

/// The status of a user. If a table without its primary key has an id twice, the greatest status
/// counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum UserStatus {
    Rejected,
    Deleted,
    Kept,
    /// Migrated, without provider logins.
    Unverified,
}

/// Ordered by rank, and then by the row's hash, so that the result does not depend on the order of
/// the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    rank: Rank,
    row: u128,
}

/// A claim to a key, and the keys that decide about its row.
#[derive(Debug)]
struct Claim {
    holder: Holder,
    needs: Box<[u128]>,
}

/// The outcome of a row.
#[derive(Debug)]
pub(super) enum RowOutcome {
    /// The row is migrated, without these items.
    Kept(Vec<Reject>),
    Rejected(Reject),
}

impl ConflictResolver {
    /// Registers a row. Users must come before all other rows.
    pub(super) fn take(&mut self, row: &Row, line: &str, options: &Options) {
        let items = rows::transform_row(row, options).map(|carried| carried.items);
        if let Row::User(user) = row {
            let user_is = match &items {
                Ok(_) if is_verified(user) => UserStatus::Kept,
                Ok(_) => UserStatus::Unverified,
                Err(reject) if reject.reason == Reason::Deleted => UserStatus::Deleted,
                Err(_) => UserStatus::Rejected,
            };
            let known = self.users.entry(user.id.clone()).or_insert(user_is);
            *known = user_is.max(*known);
        }
        let Ok(items) = items else { return };
        if self.of_user(row).is_some() {
            return;
        }
        let (needed, wanted): (Vec<_>, Vec<_>) =
            items.iter().partition(|item| matches!(item.on_conflict, OnConflict::Row(_)));
        let row = identity(row, line);
        for item in &needed {
            let holder = Holder { rank: item.rank, row };
            let known = self.holders.entry(hash_of(item)).or_insert(holder);
            *known = holder.max(*known);
        }
        for item in wanted {
            let needs = needed.iter().map(|item| hash_of(item)).collect();
            let claim = Claim { holder: Holder { rank: item.rank, row }, needs };
            self.claims.entry(hash_of(item)).or_default().push(claim);
        }
    }

    /// The row that gets an item's key.
    fn holder(&self, item: &Item) -> Option<u128> {
        let row_of = |key: &u128| self.holders.get(key).map(|holder| holder.row);
        if matches!(item.on_conflict, OnConflict::Row(_)) {
            return row_of(&hash_of(item));
        }
        let stands = |claim: &&Claim| claim.needs.iter().all(|key| row_of(key) == Some(claim.holder.row));
        let claims = self.claims.get(&hash_of(item))?.iter().filter(stands);
        claims.map(|claim| claim.holder).max().map(|holder| holder.row)
    }

    /// The outcome of a row that could be migrated if it were alone. Removes the items whose key
    /// another row gets.
    pub(super) fn resolve(&mut self, row: &Row, line: &str, items: &mut Vec<Item>) -> RowOutcome {
        if let Some(reject) = self.of_user(row) {
            return RowOutcome::Rejected(reject);
        }
        let identity = identity(row, line);
        if !self.decided.insert(identity) {
            return RowOutcome::Rejected(Reject::because(Reason::Duplicate, "the same row exists twice"));
        }
        let is_beaten = |item: &Item| self.holder(item) != Some(identity);
        let mut beaten = Vec::new();
        for item in items.iter().filter(|item| is_beaten(item)) {
            let conflict =
                |reason| Reject::because(reason, format!("another row has {} {}", item.partition, item.sort));
            match item.on_conflict {
                OnConflict::Row(reason) => return RowOutcome::Rejected(conflict(reason)),
                OnConflict::Item(reason) => beaten.push(conflict(reason)),
                OnConflict::Merged => {}
            }
        }
        items.retain(|item| !is_beaten(item));
        RowOutcome::Kept(beaten)
    }

    fn of_user(&self, row: &Row) -> Option<Reject> {
        let user = row.user_id()?;
        match self.users.get(user) {
            Some(UserStatus::Unverified) if matches!(row, Row::Account(_)) => Some(Reject::because(
                Reason::UnverifiedUser,
                format!("its user {user} never verified the address, and can sign in with a mailed code"),
            )),
            Some(UserStatus::Kept | UserStatus::Unverified) => None,
            Some(UserStatus::Deleted) => Some(Reject::because(Reason::Deleted, format!("its user {user} is deleted"))),
            Some(UserStatus::Rejected) => {
                Some(Reject::because(Reason::Orphan, format!("its user {user} was rejected")))
            }
            None => Some(Reject::because(Reason::Orphan, format!("there is no user {user}"))),
        }
    }
}

fn hash_of(item: &Item) -> u128 {
    key_hash(&item.partition, &item.sort)
}

fn identity(row: &Row, line: &str) -> u128 {
    hash(&[row.table().name().as_bytes(), b"\0", line.as_bytes()])
}
