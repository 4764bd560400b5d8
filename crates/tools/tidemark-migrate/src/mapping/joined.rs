//! Joins: which rows of other owners depend on a row, and which columns of it they use.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::code::{Attribute, Code, Content};
use super::table::{Join, Table};
use super::{Mapping, World};
use crate::row::Row;

impl Mapping {
    /// The joins by which rows of other owners may depend on rows of this table.
    pub(crate) fn joins_across(&self, joined: &Table) -> Vec<(&Arc<Table>, &Join)> {
        let of_table = |table: &&Arc<Table>| table.owner.is_some() && !table.items.is_empty();
        let joins =
            self.tables.iter().filter(of_table).flat_map(|table| table.joins.iter().map(move |join| (table, join)));
        joins.filter(|(table, join)| join.table == joined.name && !has_same_owner(table, join, joined)).collect()
    }

    /// Whether rows of other owners depend on any row.
    pub(crate) fn has_joins_across(&self) -> bool {
        self.tables.iter().any(|table| !self.joins_across(table).is_empty())
    }
}

/// Whether it follows from a join's equal columns that both rows have the same owner.
fn has_same_owner(table: &Table, join: &Join, joined: &Table) -> bool {
    let (Some(own), Some(other)) = (&table.owner, &joined.owner) else { return false };
    let equals = |theirs: Option<&String>, own: Option<&String>| {
        join.on.iter().any(|(one, another)| Some(one) == theirs && Some(another) == own)
    };
    own.kind == other.kind
        && match (&own.through, &other.through) {
            (of_own, of_other) if of_own == of_other => equals(Some(&other.column), Some(&own.column)),
            (_, Some(parent)) if *parent == table.name => equals(Some(&other.column), table.key.first()),
            (Some(parent), _) if *parent == joined.name => equals(joined.key.first(), Some(&own.column)),
            _ => false,
        }
}

impl Table {
    /// The columns of joined rows that the items use, by their names in PostgreSQL, beside those by
    /// which the rows are joined and sorted.
    pub(crate) fn columns_of_join(&self, join: &Join) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for code in self.codes() {
            code.each(&mut |code| match code {
                Code::Field(name, field) if *name == join.name => drop(found.insert(field.clone())),
                _ => {}
            });
        }
        let attributes = self.items.iter().flat_map(|item| &item.attributes);
        for attribute in attributes {
            if let Content::Each(name, attributes) = &attribute.content
                && *name == join.name
            {
                attributes.iter().for_each(|attribute| columns_of(attribute, &mut found));
            }
        }
        found
    }

    /// Whether joined rows decide if a row of this table is migrated, or about values that `used` by
    /// other tables.
    fn depends_on_joins<'c>(&'c self, mut used: impl Iterator<Item = &'c Code>) -> bool {
        let can_fail = |attribute: &Attribute| {
            let mut found = attribute.when.is_some();
            attribute.codes(&mut |code| found |= !matches!(code, Code::Field(..)));
            found && !attribute.is_optional
        };
        let uses_join = |attribute: &Attribute| {
            let mut found = matches!(attribute.content, Content::Each(..));
            attribute.codes(&mut |code| found |= self.uses_join(code));
            found
        };
        let required = self.items.iter().filter(|item| !item.is_optional);
        self.reject.iter().map(|rule| &rule.when).chain(&self.version).any(|code| self.uses_join(code))
            || required.clone().any(|item| item.when.iter().any(|code| self.uses_join(code)))
            || required.flat_map(|item| &item.attributes).any(|attribute| can_fail(attribute) && uses_join(attribute))
            || used.any(|code| self.uses_join(code))
    }

    /// Whether an expression uses joined rows.
    pub(crate) fn uses_join(&self, code: &Code) -> bool {
        uses_join(code, &self.values)
    }
}

fn columns_of(attribute: &Attribute, found: &mut BTreeSet<String>) {
    attribute.codes(&mut |code| {
        code.each(&mut |code| {
            if let Code::Column(names) = code {
                found.extend(names.iter().cloned());
            }
        });
    });
}

/// Whether an expression uses joined rows.
pub(crate) fn uses_join(code: &Code, values: &[(String, Code)]) -> bool {
    let mut found = false;
    code.each(&mut |part| {
        found |= match part {
            Code::Field(..) => true,
            Code::Named(place) => values.get(*place).is_some_and(|(_, code)| uses_join(code, values)),
            _ => false,
        };
    });
    found
}

impl World {
    /// Whether a change of the row may decide about all items of its owner by way of a join: the row is
    /// the owner's own, or joined with it.
    pub(crate) fn decides_by_join(&self, row: &Row) -> bool {
        let Some(kind) = row.table.owner.as_ref().map(|owner| owner.kind) else { return false };
        let Some(owners) = self.mapping.table(&self.mapping.owners[kind].table) else { return false };
        let is_joined = owners.joins.iter().any(|join| join.table == row.table.name);
        let of_kind = self.mapping.owned().filter(|table| table.owner.as_ref().is_some_and(|owner| owner.kind == kind));
        (is_joined || (self.is_owners(row) && !owners.joins.is_empty()))
            && owners.depends_on_joins(of_kind.flat_map(|table| table.of_owner()))
    }
}
