//! Conflicts among all rows: the users who are migrated, and the winner of two rows with one key.

use std::collections::{HashMap, HashSet};

use super::item::{Item, OnConflict, Rank, hash, key_hash};
use super::{Options, Reason, Reject, is_verified, rows};
use crate::source::Row;

/// About a hundred bytes for each item and user.
#[derive(Debug, Default)]
pub(super) struct ConflictResolver {
    users: HashMap<String, UserStatus>,
    /// The holder of each key without which a row cannot be migrated, by its hash.
    holders: HashMap<u128, Holder>,
    /// The candidates for each other key. The best candidate with a migrated row gets it.
    claims: HashMap<u128, Vec<Claim>>,
    /// Rows whose fate is known: a table without its primary key may have the very same row twice.
    decided: HashSet<u128>,
}

/// Of a table without its primary key, which may have an id twice, the greatest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum UserStatus {
    Rejected,
    Deleted,
    Kept,
    /// Kept, without logins elsewhere.
    Unverified,
}

/// By rank, and then by the row's own hash, so the order of the rows does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    rank: Rank,
    row: u128,
}

/// A claim to a key, and the keys that the row stands or falls with.
#[derive(Debug)]
struct Claim {
    holder: Holder,
    needs: Box<[u128]>,
}

/// What becomes of a row.
#[derive(Debug)]
pub(super) enum RowOutcome {
    /// It is carried over, but for these items.
    Kept(Vec<Reject>),
    Rejected(Reject),
}

impl ConflictResolver {
    /// Takes a row in; users before everything that they may have.
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

    /// The row that has an item's key.
    fn holder(&self, item: &Item) -> Option<u128> {
        let row_of = |key: &u128| self.holders.get(key).map(|holder| holder.row);
        if matches!(item.on_conflict, OnConflict::Row(_)) {
            return row_of(&hash_of(item));
        }
        let stands = |claim: &&Claim| claim.needs.iter().all(|key| row_of(key) == Some(claim.holder.row));
        let claims = self.claims.get(&hash_of(item))?.iter().filter(stands);
        claims.map(|claim| claim.holder).max().map(|holder| holder.row)
    }

    /// What becomes of a row that could be carried over if it were alone; removes the items that it
    /// does not bring along.
    pub(super) fn resolve(&mut self, row: &Row, line: &str, items: &mut Vec<Item>) -> RowOutcome {
        if let Some(reject) = self.of_user(row) {
            return RowOutcome::Rejected(reject);
        }
        let identity = identity(row, line);
        if !self.decided.insert(identity) {
            return RowOutcome::Rejected(Reject::because(Reason::Duplicate, "the same row is there twice"));
        }
        let is_beaten = |item: &Item| self.holder(item) != Some(identity);
        let mut beaten = Vec::new();
        for item in items.iter().filter(|item| is_beaten(item)) {
            let told = |reason| Reject::because(reason, format!("another row has {} {}", item.partition, item.sort));
            match item.on_conflict {
                OnConflict::Row(reason) => return RowOutcome::Rejected(told(reason)),
                OnConflict::Item(reason) => beaten.push(told(reason)),
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
                format!("its user {user} never proved to have the address; a code sent to it lets in"),
            )),
            Some(UserStatus::Kept | UserStatus::Unverified) => None,
            Some(UserStatus::Deleted) => Some(Reject::because(Reason::Deleted, format!("its user {user} is"))),
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
