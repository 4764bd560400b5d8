//! The SQL that reads rows as JSON, with the rows that are joined with them and with their owner.

use std::collections::BTreeSet;

use super::Schema;
use super::schema::is_number;
use crate::mapping::{Join, Table};
use crate::row::OWNER;

pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

impl Schema {
    /// A table's name with its schema.
    pub(crate) fn table(&self, table: &str) -> String {
        format!("{}.{}", quoted(&self.name), quoted(table))
    }

    /// The name in PostgreSQL of a column of the mapping; `None` if there is no such column.
    pub(crate) fn column<'s>(&'s self, table: &'s Table, column: &str) -> Option<&'s str> {
        table.columns.get(column)?.found(self.columns.get(&table.name)?)
    }

    /// The names in PostgreSQL of the columns that identify a row.
    pub(crate) fn key_columns(&self, table: &Table) -> Vec<String> {
        table.key.iter().map(|column| self.column(table, column).unwrap_or(column).to_owned()).collect()
    }

    /// The names in PostgreSQL of the columns that the mapping uses.
    pub(crate) fn mapped_columns<'s>(&'s self, table: &'s Table) -> impl Iterator<Item = &'s str> {
        let found = self.columns.get(&table.name);
        table.columns.values().filter_map(move |column| column.found(found?))
    }

    /// The expression for a row's owner, without the prefix; `None` if its rows belong to nobody.
    pub(crate) fn owner(&self, table: &Table, row: &str) -> Option<String> {
        let owner = table.owner.as_ref()?;
        let column = quoted(self.column(table, &owner.column)?);
        let Some(parent) = owner.through.as_ref().and_then(|parent| self.mapping.table(parent)) else {
            // As in the rows: a text would lose the blanks of a `character`.
            return Some(format!("(to_jsonb({row}.{column}) #>> '{{}}')"));
        };
        let alias = format!("{row}_parent");
        let (of_parent, key) = (self.owner(parent, &alias)?, self.key_columns(parent));
        let from = self.table(&parent.name);
        Some(format!(
            "(SELECT {of_parent} FROM {from} AS {alias} WHERE {alias}.{} = {row}.{column})",
            quoted(key.first()?)
        ))
    }

    /// The expression for a row as JSON, without the columns that are left behind.
    pub(crate) fn json(&self, table: &Table, row: &str) -> String {
        let mut json = self.columns_json(table, row);
        let mut more = self.joined_members(table, row);
        if table.owner.as_ref().is_some_and(|owner| owner.through.is_some()) {
            more.extend(self.owner(table, row).map(|owner| format!("{}, {owner}", literal(OWNER))));
        }
        if !more.is_empty() {
            json = format!("({json} || jsonb_build_object({}))", more.join(", "));
        }
        json
    }

    /// The expression for a row's own columns as JSON. PostgreSQL does not convert the columns that
    /// are left behind: a `json` may have a value that `jsonb` refuses.
    fn columns_json(&self, table: &Table, row: &str) -> String {
        let found = self.columns.get(&table.name).filter(|_| !table.ignored.is_empty());
        let Some(found) = found else { return format!("to_jsonb({row}.*)") };
        let kept = found.keys().filter(|name| !table.ignored.contains(name));
        let kept = kept.map(|name| format!("{row}.{}", quoted(name))).collect::<Vec<_>>().join(", ");
        format!("(SELECT to_jsonb(kept.*) FROM (SELECT {kept}) AS kept)")
    }

    /// The expression that orders joined rows by a column, as
    /// [`Row::joined`](crate::row::Row::joined) does: numbers by value, and everything else by the
    /// bytes of its text.
    fn order(&self, table: &Table, column: &str) -> Option<String> {
        let name = self.column(table, column)?;
        let kind = self.columns.get(&table.name)?.get(name)?;
        let column = format!("joined.{}", quoted(name));
        Some(if is_number(kind) { column } else { format!("{column}::text COLLATE \"C\"") })
    }

    /// The expression for the rows that are joined with a row.
    fn join(&self, table: &Table, row: &str, join: &Join) -> Option<String> {
        let other = self.mapping.table(&join.table)?;
        let on = join.on.iter().map(|(theirs, own)| {
            let (theirs, own) = (self.column(other, theirs)?, self.column(table, own)?);
            Some(format!("joined.{} = {row}.{}", quoted(theirs), quoted(own)))
        });
        let on = on.collect::<Option<Vec<_>>>()?.join(" AND ");
        let order = join.order.iter().chain(&other.key).filter_map(|column| self.order(other, column));
        let order = order.collect::<Vec<_>>().join(", ");
        let (from, json) = (self.table(&join.table), self.columns_json(other, "joined"));
        Some(if join.is_one {
            format!("(SELECT {json} FROM {from} AS joined WHERE {on} ORDER BY {order} LIMIT 1)")
        } else {
            format!("(SELECT coalesce(jsonb_agg({json} ORDER BY {order}), '[]') FROM {from} AS joined WHERE {on})")
        })
    }

    /// The columns of a table on which items of rows of other owners depend, by their names in
    /// PostgreSQL.
    pub(crate) fn columns_across(&self, table: &Table) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (other, join) in self.mapping.joins_across(table) {
            let named = join.on.iter().map(|(theirs, _)| theirs).chain(&join.order).chain(&table.key);
            found.extend(named.filter_map(|column| self.column(table, column)).map(str::to_owned));
            let known = self.columns.get(&table.name);
            let is_known = |column: &String| known.is_some_and(|known| known.contains_key(column));
            found.extend(other.columns_of_join(join).into_iter().filter(is_known));
        }
        found
    }

    /// The expression for a row's joined rows, as members of one object.
    pub(crate) fn joined(&self, table: &Table, row: &str) -> String {
        format!("jsonb_build_object({})", self.joined_members(table, row).join(", "))
    }

    /// The name of each join and the expression for its rows.
    fn joined_members(&self, table: &Table, row: &str) -> Vec<String> {
        let member = |join: &Join| Some(format!("{}, {}", literal(&join.name), self.join(table, row, join)?));
        table.joins.iter().filter_map(member).collect()
    }

    /// A query for all rows of a table as JSON, in an order that no locale changes.
    pub(crate) fn select_all(&self, table: &Table) -> String {
        let order = self.key_columns(table);
        let order = order.iter().map(|column| format!("this.{}::text COLLATE \"C\"", quoted(column)));
        format!(
            "SELECT {}::text FROM {} AS this ORDER BY {}",
            self.json(table, "this"),
            self.table(&table.name),
            order.collect::<Vec<_>>().join(", ")
        )
    }
}
