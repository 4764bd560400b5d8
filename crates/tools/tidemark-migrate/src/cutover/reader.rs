//! How the application reads during a cutover: the items that a row becomes, from the side that
//! wrote last.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::item_writes;
use super::ownership::{Ownership, Ownerships, Side};
use super::sides::Sides;
use crate::item::{Attributes, Key, text};
use crate::mapping::Table;
use crate::{Failure, FailureKind};

/// How often a read looks for the side that wrote last.
const TRIES: u32 = 50;

/// The items of an owner by their keys.
pub type OwnerItems = BTreeMap<Key, Attributes>;

/// Reads an owner's items.
#[derive(Debug)]
pub struct Reader {
    sides: Sides,
}

/// What is read: an owner's items of one type.
#[derive(Debug, Clone, Copy)]
struct Wanted<'w> {
    owner: &'w str,
    kind: &'w str,
}

impl Reader {
    /// A reader of both sides.
    pub fn new(sides: Sides) -> Self {
        Self { sides }
    }

    /// An owner's items of a type in the owner's own partitions, with all changes that were
    /// answered before. Does not wait for an owner whose move is in progress.
    pub async fn items(&self, owner: &str, kind: &str) -> Result<OwnerItems, Failure> {
        let wanted = Wanted { owner, kind };
        match self.of_leader(wanted).await {
            // PostgreSQL also says which side leads. If it does not answer, DynamoDB at least knows
            // whether it owns the user itself.
            Err(failure)
                if failure.kind == FailureKind::SourceGone || failure.kind == FailureKind::SourceUnreadable =>
            {
                let Ok(ownership) = self.sides.dynamo.ownership(owner).await else { return Err(failure) };
                let is_owner =
                    ownership.is_open(Side::Dynamo) || self.sides.dynamo.is_finished().await.unwrap_or(false);
                if is_owner { self.of_dynamo(wanted).await } else { Err(failure) }
            }
            read => read,
        }
    }

    async fn of_leader(&self, wanted: Wanted<'_>) -> Result<OwnerItems, Failure> {
        let owner = wanted.owner;
        if self.sides.postgres.plan().await?.is_none() {
            return Ok(self.of_postgres(wanted, false).await?.1);
        }
        let mut side = Side::Postgres;
        for _ in 0..TRIES {
            // The ownership is read before the items or together with them, so the items are at
            // least as new as the version that it states.
            let (own, items) = match side {
                Side::Postgres => self.of_postgres(wanted, true).await?,
                Side::Dynamo => (self.sides.dynamo.ownership(owner).await?, self.of_dynamo(wanted).await?),
            };
            let is_leader = own.is_open(side) || {
                // Neither side may write, or the other side may; the other side's epoch decides.
                let ownerships = match side {
                    Side::Postgres => Ownerships { postgres: own, dynamo: self.sides.dynamo.ownership(owner).await? },
                    Side::Dynamo => Ownerships { postgres: self.sides.postgres.ownership(owner).await?, dynamo: own },
                };
                ownerships.leader() == side
            };
            // A finished cutover has no ownership records in DynamoDB, and the epoch alone would
            // make PostgreSQL the leader.
            if is_leader && side == Side::Postgres && !own.is_open(side) && self.sides.is_finished().await? {
                return self.of_dynamo(wanted).await;
            }
            if is_leader {
                return Ok(items);
            }
            side = side.other();
        }
        Err(FailureKind::Cutover.because(format!("user {owner} is moved back and forth")))
    }

    /// The items that PostgreSQL's rows become, and the ownership record of the same snapshot.
    async fn of_postgres(&self, wanted: Wanted<'_>, is_in_cutover: bool) -> Result<(Ownership, OwnerItems), Failure> {
        let world = &self.sides.world;
        let has_kind = |table: &&Arc<Table>| {
            world.is_owners_table(table) || table.items.iter().any(|item| item.kind == wanted.kind)
        };
        let mut tables: Vec<_> = world.mapping.owned().filter(has_kind).cloned().collect();
        let (ownership, rows) = loop {
            let postgres = &self.sides.postgres;
            let (ownership, rows) = postgres.rows_of_tables(wanted.owner, &tables, is_in_cutover).await?;
            let owner = rows.iter().find(|row| world.is_owners(row));
            let keys: Vec<_> = rows.iter().flat_map(|row| world.keys(row, owner)).collect();
            // The items of other tables whose rows may want one of these keys.
            let is_read = |table: &Arc<Table>| tables.iter().any(|read| read.index == table.index);
            let more = world.mapping.owned().filter(|table| !is_read(table));
            let more = more.filter(|table| keys.iter().any(|(key, _)| postgres.may_have(table, key)));
            let more: Vec<_> = more.cloned().collect();
            if more.is_empty() {
                break (ownership, rows);
            }
            tables.extend(more);
        };
        let partitions = world.partitions(wanted.owner);
        let items = item_writes::of_owner(&rows, world).items.into_values();
        let items = items.filter(|item| item.kind == wanted.kind && partitions.contains(&item.key.partition));
        Ok((ownership, items.map(|item| (item.key, item.attributes)).collect()))
    }

    async fn of_dynamo(&self, wanted: Wanted<'_>) -> Result<OwnerItems, Failure> {
        let world = &self.sides.world;
        let target = &world.mapping.target;
        let items = self.sides.dynamo.items_of(&world.partitions(wanted.owner)).await?.into_iter();
        let is_wanted = |item: &Attributes| text(item, &target.kind) == wanted.kind;
        Ok(items.filter(is_wanted).filter_map(|item| Some((Key::of(&item, target)?, item))).collect())
    }
}
