//! Compares the items of a user with PostgreSQL's rows, and makes them equal.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::dynamo::{Dynamo, DynamoWrite, Fence};
use super::item_writes::{self, ItemWrites};
use super::not_migrated::NotMigrated;
use super::ownership::Ownership;
use super::sides::Sides;
use crate::item::{Attributes, Item, Key, item_hash};
use crate::reject::Reason;
use crate::{Failure, check};

/// How often the repair of a user begins again because of concurrent writes.
const REPAIRS_MAX: u32 = 20;

/// An item that differs from PostgreSQL's rows.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The user.
    pub user: String,
    /// `PK`
    pub partition: String,
    /// `SK`
    pub sort: String,
    /// `missing`: the item should exist; `unexpected`: it should not exist; `changed`: it has other
    /// attributes; `rejected`: DynamoDB cannot store its row, and the key is empty if it has none;
    /// `marker`: a marker and the item to which it leads do not belong together.
    pub what: &'static str,
    /// The item's type; of a marker, which one lacks the other.
    pub kind: String,
    /// The attributes of the mapping that a repair of the item would remove.
    pub loses: Vec<String>,
    /// The rejected row.
    #[serde(flatten)]
    pub rejected: Option<NotMigrated>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.rejected {
            Some(row) => write!(f, "{} {row}", self.what),
            None => write!(f, "{} {} {} {}", self.what, self.kind, self.partition, self.sort),
        }
    }
}

/// An ownership record, and the differences, each with the item that should exist.
type Differing = (Ownership, Vec<(Difference, Option<Item>)>);

impl Sides {
    /// Compares a user's items with the items that PostgreSQL's rows become. `None` if the two
    /// sides have different versions, because of a concurrent write.
    pub async fn compare(&self, user: &str) -> Result<Option<Vec<Difference>>, Failure> {
        let named = |(difference, _)| difference;
        Ok(self.differing(user).await?.map(|(_, found)| found.into_iter().map(named).collect()))
    }

    /// Makes the differing items of a user equal to what PostgreSQL's rows become. Returns their
    /// number; `None` if the user is written all the time.
    pub(crate) async fn repair_items(&self, user: &str) -> Result<Option<usize>, Failure> {
        for _ in 0..REPAIRS_MAX {
            let Some((at, found)) = self.differing(user).await? else {
                self.replicate(user).await?;
                continue;
            };
            let partitions = self.world.partitions(user);
            let (mut writes, mut count) = (ItemWrites::default(), 0);
            for (Difference { partition, sort, rejected, .. }, item) in found {
                // The item is all that DynamoDB has of the row.
                if rejected.is_some() {
                    continue;
                }
                count += 1;
                let key = Key { partition, sort };
                match item {
                    Some(item) => drop(writes.puts.insert(key, item)),
                    None => {
                        let is_own = partitions.contains(&key.partition);
                        writes.deletes.insert(key, is_own);
                    }
                }
            }
            // Each iteration removes one item from the writes: another user has its key.
            loop {
                match self.dynamo.write(user, Fence::Unchanged(at), &writes).await? {
                    DynamoWrite::Written => return Ok(Some(count)),
                    DynamoWrite::Stale => break,
                    DynamoWrite::Taken(key) => {
                        writes.leave_out(&key);
                    }
                }
            }
        }
        Ok(None)
    }

    /// The differences of a user, each with the item that should exist, and the ownership record in
    /// DynamoDB to which they belong.
    async fn differing(&self, user: &str) -> Result<Option<Differing>, Failure> {
        if !Dynamo::can_store(user) {
            return Ok(Some(Differing::default()));
        }
        let before = self.ownerships(user).await?;
        let partitions = self.world.partitions(user);
        let (rows, items) = tokio::try_join!(self.postgres.rows_of(user), self.dynamo.items_of(&partitions))?;
        let mut found: BTreeMap<_, _> = items.into_iter().filter_map(|item| Some((self.key(&item)?, item))).collect();
        let derived = item_writes::of_owner(&rows, &self.world);
        let owner = rows.iter().find(|row| self.world.is_owners(row));
        let is_any = |row: &NotMigrated| !self.left_out.is_known(row);
        let kept = derived.kept_items(owner, &found, &self.world, is_any);
        let mut differences = self.rejected(user, kept, &mut found);
        self.left_out.add(derived.left_out);
        let mut expected = derived.items;
        let needed: BTreeSet<_> = expected.values().flat_map(|item| item.needs.iter().cloned()).collect();
        let of_another = |found: &Attributes| self.is_of_another(found, user);
        for key in needed {
            if self.has_any(std::slice::from_ref(&key), of_another).await? {
                expected.retain(|_, item| !item.needs.contains(&key));
            }
        }
        let mut keys: BTreeSet<_> = found.keys().cloned().collect();
        keys.extend(found.values().flat_map(|item| self.world.markers_of(item)));
        keys.extend(expected.keys().cloned());
        for key in keys {
            let is_own = partitions.contains(&key.partition);
            let found = if is_own { found.remove(&key) } else { self.dynamo.get(&key).await? };
            let expected = expected.remove(&key);
            let what = match (&expected, &found) {
                (None, None) => continue,
                (Some(item), Some(found)) if item_hash(&item.attributes) == item_hash(found) => continue,
                // The marker belongs to another user: both profiles have the address, and it leads
                // to one of them.
                (_, Some(found)) if !is_own && self.is_of_another(found, user) => continue,
                (Some(item), None) => {
                    if self.may_be_missing(user, item).await? {
                        continue;
                    }
                    "missing"
                }
                (None, Some(_)) => "unexpected",
                (Some(_), Some(_)) => "changed",
            };
            let Key { partition, sort } = key;
            let (user, kind) = (user.to_owned(), expected.as_ref().map(|item| item.kind.clone()).unwrap_or_default());
            let loses = expected.iter().zip(&found).flat_map(|(item, found)| {
                let is_lost =
                    |name: &&String| !item.attributes.contains_key(*name) && self.world.mapping.makes(&item.kind, name);
                found.keys().filter(is_lost).cloned()
            });
            let loses = loses.collect();
            differences.push((Difference { user, partition, sort, what, kind, loses, rejected: None }, expected));
        }
        // A row of another owner may have changed with which this user's rows are joined. Read
        // before the ownership records: a change that is carried out in between raises their
        // versions.
        if !differences.is_empty() && self.postgres.pending_joined().await?.1 > 0 {
            return Ok(None);
        }
        let after = self.ownerships(user).await?;
        let is_level = before == after && after.postgres.version == after.dynamo.version;
        Ok(is_level.then_some((after.dynamo, differences)))
    }

    /// The rejected rows that still have items, which are taken out of those that were found, or
    /// that the transformation has not reported.
    fn rejected(
        &self,
        user: &str,
        rows: Vec<(NotMigrated, Vec<Key>)>,
        found: &mut BTreeMap<Key, Attributes>,
    ) -> Vec<(Difference, Option<Item>)> {
        let is_new = |row: &NotMigrated| row.reason != Reason::ORPHAN.as_str() && !self.left_out.is_known(row);
        let mut differences = Vec::new();
        for (row, kept) in rows.into_iter().filter(|(row, kept)| !kept.is_empty() || is_new(row)) {
            kept.iter().for_each(|key| drop(found.remove(key)));
            let (partition, sort) = kept.into_iter().next().map(|key| (key.partition, key.sort)).unwrap_or_default();
            let (user, kind, loses, rejected) = (user.to_owned(), String::new(), Vec::new(), Some(row));
            differences.push((Difference { user, partition, sort, what: "rejected", kind, loses, rejected }, None));
        }
        differences
    }

    /// Whether more than so many items of a type have an attribute.
    pub(crate) async fn has_more(&self, kind: &str, attribute: &str, than: u64) -> Result<bool, Failure> {
        self.dynamo.has_more(kind, attribute, than).await
    }

    /// Whether an item may rightly be missing: it has expired, its row is rejected, or it is a
    /// login of two users that belongs to the other one.
    pub(super) async fn may_be_missing(&self, user: &str, item: &Item) -> Result<bool, Failure> {
        let ttl = self.world.mapping.target.ttl.as_ref().and_then(|name| item.attributes.get(name));
        let ttl = ttl.and_then(|ttl| ttl.as_n().ok()?.parse::<i64>().ok());
        if ttl.is_some_and(|ttl| ttl <= Timestamp::now().as_second()) {
            return Ok(true);
        }
        let keys = [item.needs.clone(), self.world.markers_of(&item.attributes)].concat();
        self.has_any(&keys, |found| self.is_of_another(found, user)).await
    }

    /// Finds markers and items that do not belong together, and calls `take` for each.
    pub(super) async fn broken_markers(
        &self,
        take: &mut impl FnMut(Difference) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        check::broken_markers(self.dynamo.table(), &self.world, |kind, Key { partition, sort }| {
            let (user, loses) = Default::default();
            take(Difference { user, partition, sort, what: "marker", kind, loses, rejected: None })
        })
        .await
    }

    /// Removes a marker that leads to no item; whoever has a right to it then lacks it.
    pub(crate) async fn repair_marker(&self, key: &Key) -> Result<bool, Failure> {
        let Some(marker) = self.dynamo.get(key).await? else { return Ok(false) };
        for leads_to in self.world.leads_to(&marker) {
            let item = self.dynamo.get(&leads_to).await?;
            if item.is_some_and(|item| self.world.markers_of(&item).contains(key)) {
                return Ok(false);
            }
        }
        self.dynamo.remove_marker(key, &marker).await
    }
}
