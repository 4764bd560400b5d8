//! Joins: which rows of other owners depend on a row, and which columns of it they use.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Mapping;
use super::code::{Attribute, Code, Content};
use super::table::{Join, Table};

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
