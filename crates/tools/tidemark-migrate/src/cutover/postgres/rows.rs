//! Reads the rows of an owner, and the rows that a change of one row concerns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio_postgres::types::ToSql;

use super::{Parameters, Postgres, epoch, quoted, unreadable, version};
use crate::Failure;
use crate::cutover::ownership::Ownership;
use crate::item::Key;
use crate::mapping::Table;
use crate::mapping::related::{Similar, plain};
use crate::row::{Cell, Columns, Row};
use crate::source::{ForeignKey, ForeignKeyAction, literal};

/// What PostgreSQL does when a row is deleted to which other rows refer, or gets another key.
#[derive(Debug)]
pub(in crate::cutover) struct Dependents {
    /// The rows that are deleted too, or get the new key.
    pub(in crate::cutover) rows: Vec<Row>,
    /// The other owners whose rows are deleted or changed.
    pub(in crate::cutover) owners: BTreeSet<String>,
    /// Whether only a few rows of the same owner are deleted.
    pub(in crate::cutover) is_plain: bool,
}

impl Default for Dependents {
    fn default() -> Self {
        Self { rows: Vec::new(), owners: BTreeSet::new(), is_plain: true }
    }
}

/// The key of an item that a row may have: the places of the row's table and of the item in it.
#[derive(Debug)]
pub(in crate::cutover) struct ItemKey {
    pub(in crate::cutover) table: usize,
    pub(in crate::cutover) place: usize,
    pub(in crate::cutover) key: Key,
}

const UUID_LENGTH: usize = 36;

/// The conditions that a row has the same key.
fn of_key(table: &Table) -> Vec<Similar> {
    table.key.iter().map(|column| Similar::Equal(column.clone())).collect()
}

/// The expression that is equal for all texts that Rust makes equal with `lower`, `upper` and
/// `trim`, in any order. PostgreSQL folds by the locale of the column, and cuts only spaces, so of a
/// text only the characters of ASCII count that no other character can become.
fn folded(text: &str) -> String {
    format!("regexp_replace(lower({text} COLLATE \"C\"), '[^!-~]|[{FOLDED_LETTERS}]', '', 'g')")
}

/// The letters that other characters become, or a part of them: `ß` is `SS` in upper case.
const FOLDED_LETTERS: &str = "afhijklnstwy";

impl Postgres {
    pub(in crate::cutover) async fn user(&self, user: &str) -> Result<Option<Row>, Failure> {
        let mapping = &self.schema.mapping;
        let Some(kind) = mapping.kind_of(user) else { return Ok(None) };
        let Some(table) = mapping.table(&mapping.owners[kind].table) else { return Ok(None) };
        let Some(id) = table.owner.as_ref().and_then(|owner| mapping.id_of(owner, user)) else { return Ok(None) };
        Ok(self.rows_where(table, &self.key_equals(table, 1), &[&id]).await?.pop())
    }

    /// The current row with the same key.
    pub(in crate::cutover) async fn row_by_id(&self, row: &Row) -> Result<Option<Row>, Failure> {
        let key = row.key();
        let parameters: Vec<_> = key.iter().map(|part| part as &(dyn ToSql + Sync)).collect();
        Ok(self.rows_where(&row.table, &self.key_equals(&row.table, 1), &parameters).await?.pop())
    }

    /// Those of an owner's rows that have the keys of these rows.
    pub(in crate::cutover) async fn rows_by_id(&self, user: &str, rows: &[Row]) -> Result<Vec<Row>, Failure> {
        let Some(table) = rows.first().map(|row| &row.table) else { return Ok(Vec::new()) };
        let of_key = of_key(table);
        let place = 0..of_key.len();
        let values: Vec<Vec<_>> = place.map(|n| rows.iter().map(|row| row.key().swap_remove(n)).collect()).collect();
        let parameters: Vec<_> = values.iter().map(|values| values as &(dyn ToSql + Sync)).collect();
        let filter = self.are_similar(table, &of_key.iter().collect::<Vec<_>>(), 1);
        let mut found = self.rows_where(table, &filter, &parameters).await?;
        found.retain(|row| row.owner.as_deref() == Some(user));
        Ok(found)
    }

    /// The rows of an owner that may become the same items as the rows `of`, by their values and by
    /// the keys of their items; and the changed rows themselves.
    pub(in crate::cutover) async fn related_rows(
        &self,
        user: &str,
        changed: &[&Row],
        of: &[Row],
        keys: &[ItemKey],
    ) -> Result<Vec<Row>, Failure> {
        let mut all = Vec::new();
        for table in self.schema.mapping.owned() {
            let Some((id, of_owner)) = self.of_owner(table, user, 1) else { continue };
            let mut groups: BTreeMap<Vec<Similar>, BTreeSet<Vec<String>>> = BTreeMap::new();
            let mut add = |conditions: Vec<(Similar, String)>| {
                let (conditions, values) = conditions.into_iter().unzip();
                groups.entry(conditions).or_default().insert(values);
            };
            // Without its column, or with another kind of value, a condition says nothing.
            let known = |row: &Row, similar: &Similar| {
                Some((similar.clone(), plain(table.cell(&row.columns, similar.column())?)?))
            };
            let (of_key, similar) = (of_key(table), table.similar());
            for row in changed.iter().filter(|row| row.table.index == table.index) {
                add(of_key.iter().filter_map(|similar| known(row, similar)).collect());
            }
            for row in of.iter().filter(|row| row.table.index == table.index) {
                for conditions in &similar {
                    add(conditions.iter().filter_map(|similar| known(row, similar)).collect());
                }
            }
            for place in 0..table.items.len() {
                let of_others = keys.iter().filter(|key| (key.table, key.place) != (table.index, place));
                of_others.filter_map(|key| self.with_key(table, place, &key.key)).for_each(&mut add);
            }
            if groups.is_empty() {
                continue;
            }
            let (mut any, mut values) = (Vec::new(), Vec::new());
            for (conditions, rows) in &groups {
                any.push(self.are_similar(table, &conditions.iter().collect::<Vec<_>>(), values.len() + 2));
                let column = |n: usize| rows.iter().map(|row| row[n].clone()).collect::<Vec<_>>();
                values.extend((0..conditions.len()).map(column));
            }
            let filter = format!("{of_owner} AND ({})", any.join(" OR "));
            let mut parameters: Vec<&(dyn ToSql + Sync)> = vec![&id];
            parameters.extend(values.iter().map(|values| values as &(dyn ToSql + Sync)));
            all.extend(self.rows_where(table, &filter, &parameters).await?);
        }
        Ok(all)
    }

    /// Whether rows of a table may become an item with this key.
    pub(in crate::cutover) fn may_have(&self, table: &Table, key: &Key) -> bool {
        (0..table.items.len()).any(|place| self.with_key(table, place, key).is_some())
    }

    /// The same as [`Table::with_key`], with values that the columns may have.
    fn with_key(&self, table: &Table, place: usize, key: &Key) -> Option<Vec<(Similar, String)>> {
        let types = self.schema.columns.get(&table.name)?;
        let conditions = table.with_key(place, key)?.into_iter().map(|(similar, text)| {
            let kind = table.columns.get(similar.column())?.found(types).and_then(|name| types.get(name))?;
            let text = match (&similar, kind.as_str()) {
                // Without zeros before it.
                (Similar::Text(_), "bigint" | "integer" | "smallint") => text.parse::<i64>().ok()?.to_string(),
                (Similar::Text(_), "uuid") if text.len() != UUID_LENGTH => return None,
                _ => text,
            };
            Some((similar, text))
        });
        conditions.collect()
    }

    /// The owner's rows of other tables with which a changed row is joined, before or after the
    /// change.
    pub(in crate::cutover) async fn rows_joining(&self, user: &str, of: &[&Row]) -> Result<Vec<Row>, Failure> {
        let mut all: Vec<Row> = Vec::new();
        let tables = self.schema.mapping.owned();
        let joins = tables.flat_map(|table| table.joins.iter().map(move |join| (table, &join.table, &join.on)));
        for (other, joined, on) in joins.collect::<Vec<_>>() {
            let Some((id, of_owner)) = self.of_owner(other, user, on.len() + 1) else { continue };
            for row in of.iter().filter(|row| row.table.name == *joined) {
                let equal = on.iter().enumerate().map(|(n, (_, own))| self.column_equals(other, own, n + 1));
                let filter = equal.chain([of_owner.clone()]).collect::<Vec<_>>().join(" AND ");
                let value = |(theirs, _): &(String, String)| row.table.cell(&row.columns, theirs).and_then(Cell::text);
                let values: Vec<_> = on.iter().map(value).collect();
                let mut parameters: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
                parameters.push(&id);
                for found in self.rows_where(other, &filter, &parameters).await? {
                    if !all.contains(&found) {
                        all.push(found);
                    }
                }
            }
        }
        Ok(all)
    }

    /// Whether PostgreSQL gives rows that refer to this one its new key.
    pub(in crate::cutover) fn changes_a_key(&self, before: &Row, after: &Row) -> bool {
        let mut keys = self.schema.dependencies.iter();
        keys.any(|key| {
            let changed = |(_, theirs): &(String, String)| before.columns.get(theirs) != after.columns.get(theirs);
            let of_table = key.refers_to == before.table.name && key.on_update != ForeignKeyAction::Refuse;
            of_table && key.columns.iter().any(changed)
        })
    }

    /// The rows that PostgreSQL deletes or changes together with a row that is deleted, or whose
    /// key changes: `action` is the action of the foreign keys. More than `most` are not read.
    pub(in crate::cutover) async fn dependents(
        &self,
        user: &str,
        row: &Row,
        action: fn(&ForeignKey) -> ForeignKeyAction,
        most: usize,
    ) -> Result<Dependents, Failure> {
        let (mut all, mut known) = (Dependents::default(), BTreeSet::new());
        let mut waiting = vec![(row.table.name.clone(), row.columns.clone())];
        while let Some((name, columns)) = waiting.pop() {
            if known.len() > most {
                return Ok(Dependents { is_plain: false, ..all });
            }
            let of_table = self.schema.dependencies.iter().filter(|found| found.refers_to == name);
            let of_table = of_table.filter(|found| action(found) != ForeignKeyAction::Refuse);
            for dependency in of_table.cloned().collect::<Vec<_>>() {
                let name = &dependency.table;
                let (mut filter, mut values) = (Vec::new(), Vec::new());
                for (own, other) in &dependency.columns {
                    values.push(columns.get(other).and_then(Cell::text));
                    filter.push(self.physical_equals(name, "this", own, values.len()));
                }
                let parameters: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
                let filter = format!("{} LIMIT {}", filter.join(" AND "), most + 1);
                let is_deleted = action(&dependency) == ForeignKeyAction::Cascade;
                let Some(table) = self.schema.mapping.owned().find(|table| table.name == *name).cloned() else {
                    for found in self.rows_between(name, &filter, &parameters).await? {
                        if is_deleted && known.insert((name.clone(), found.values().filter_map(Cell::text).collect())) {
                            waiting.push((name.clone(), found));
                        }
                    }
                    continue;
                };
                for found in self.rows_where(&table, &filter, &parameters).await? {
                    let of_another = found.owner.as_deref() != Some(user);
                    all.is_plain &= is_deleted && !of_another;
                    all.owners.extend(found.owner.clone().filter(|_| of_another));
                    if is_deleted && known.insert((name.clone(), found.key())) {
                        waiting.push((name.clone(), found.columns.clone()));
                        all.rows.push(found);
                    }
                }
            }
        }
        Ok(all)
    }

    /// Rows of a table that is not migrated: only the columns to which foreign keys refer.
    async fn rows_between(
        &self,
        table: &str,
        filter: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Columns>, Failure> {
        let keys = self.schema.dependencies.iter().filter(|key| key.refers_to == table);
        let names: BTreeSet<_> = keys.flat_map(|key| &key.columns).map(|(_, name)| name).collect();
        let members = names.iter().map(|name| format!("{}, this.{}", literal(name), quoted(name)));
        let members = members.collect::<Vec<_>>().join(", ");
        let from = self.schema.table(table);
        let sql = format!("SELECT jsonb_build_object({members})::text FROM {from} AS this WHERE {filter}");
        let rows = self.query(&sql, parameters).await?;
        let read = |row: &tokio_postgres::Row| serde_json::from_str(row.get(0));
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| unreadable(table, error))
    }

    /// The condition that a row is similar to one of several rows, whose values are in arrays, the
    /// parameters from `first` on. PostgreSQL puts the values into a hash table, so a row is
    /// compared once, and not with each of them.
    fn are_similar(&self, table: &Table, conditions: &[&Similar], first: usize) -> String {
        if conditions.is_empty() {
            return "true".to_owned();
        }
        let (mut own, mut given, mut names, mut arrays) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut from = String::new();
        for (n, similar) in conditions.iter().enumerate() {
            let name = self.schema.column(table, similar.column()).unwrap_or(similar.column());
            let column = format!("this.{}", quoted(name));
            match similar {
                Similar::Equal(_) => {
                    own.push(column);
                    given.push(format!(
                        "(jsonb_populate_record(NULL::{}, jsonb_build_object({}, value{n}))).{}",
                        self.table(table),
                        literal(name),
                        quoted(name)
                    ));
                }
                Similar::Folded(_) => {
                    own.push(folded(&format!("{column}::text")));
                    given.push(folded(&format!("value{n}")));
                }
                Similar::Near(_) => {
                    own.push(format!("({column}::timestamptz AT TIME ZONE 'UTC')::date"));
                    given.push(format!("(value{n}::timestamptz AT TIME ZONE 'UTC')::date + days{n}"));
                    from.push_str(&format!(", generate_series(-2, 2) AS days{n}"));
                }
                Similar::Text(_) => {
                    own.push(format!("(to_jsonb({column}) #>> '{{}}')"));
                    given.push(format!("value{n}"));
                }
            }
            names.push(format!("value{n}"));
            arrays.push(format!("${}::text[]", first + n));
        }
        format!(
            "({}) IN (SELECT {} FROM unnest({}) AS given ({}){from})",
            own.join(", "),
            given.join(", "),
            arrays.join(", "),
            names.join(", ")
        )
    }

    /// All rows of an owner that may be migrated.
    pub(in crate::cutover) async fn rows_of(&self, user: &str) -> Result<Vec<Row>, Failure> {
        let mut all = Vec::new();
        for table in self.schema.mapping.owned() {
            if let Some((id, filter)) = self.of_owner(table, user, 1) {
                all.extend(self.rows_where(table, &filter, &[&id]).await?);
            }
        }
        Ok(all)
    }

    /// The id of an owner in a table, and the condition that a row belongs to the owner with the id
    /// in a parameter.
    fn of_owner<'o>(&self, table: &Table, user: &'o str, parameter: usize) -> Option<(&'o str, String)> {
        let id = self.schema.mapping.id_of(table.owner.as_ref()?, user)?;
        Some((id, self.owner_equals(table, "this", parameter)?))
    }

    /// An owner's rows of some tables and the ownership record, read in one snapshot. Without a
    /// cutover there is no such record.
    pub(in crate::cutover) async fn rows_of_tables(
        &self,
        user: &str,
        tables: &[Arc<Table>],
        is_in_cutover: bool,
    ) -> Result<(Ownership, Vec<Row>), Failure> {
        let of = tables.iter().filter_map(|table| Some((table, self.of_owner(table, user, 1)?)));
        let of: Vec<_> = of.collect();
        let Some((_, (id, _))) = of.first() else { return Ok((Ownership::default(), Vec::new())) };
        let rows = of.iter().map(|(table, (_, filter))| {
            let (json, from) = (self.schema.json(table, "this"), self.table(table));
            format!("ARRAY(SELECT {json}::text FROM {from} AS this WHERE {filter})")
        });
        let rows = rows.collect::<Vec<_>>().join(", ");
        let (record, unnumbered) = if is_in_cutover {
            let unnumbered = "(SELECT count(*) FROM tidemark_migration.outbox WHERE outbox.user_id = asked.id AND outbox.version IS NULL)";
            ("LEFT JOIN tidemark_migration.ownerships ON ownerships.user_id = asked.id", unnumbered)
        } else {
            ("CROSS JOIN (SELECT 0 AS epoch, 0::bigint AS version) AS ownerships", "0")
        };
        let sql = format!(
            "SELECT coalesce(ownerships.epoch, 0), coalesce(ownerships.version, 0) + {unnumbered}, {rows}
             FROM (SELECT $2::text AS id) AS asked {record}"
        );
        let found = self.query_one(&sql, &[id, &user]).await?;
        let mut all = Vec::new();
        for (n, (table, _)) in of.iter().enumerate() {
            for json in found.get::<_, Vec<String>>(2 + n) {
                all.push(self.read(table, &json)?);
            }
        }
        Ok((Ownership { epoch: epoch(found.get(0)), version: version(found.get(1)) }, all))
    }

    pub(super) async fn rows_where(
        &self,
        table: &Arc<Table>,
        filter: &str,
        parameters: Parameters<'_>,
    ) -> Result<Vec<Row>, Failure> {
        let (json, from) = (self.schema.json(table, "this"), self.table(table));
        let sql = format!("SELECT {json}::text FROM {from} AS this WHERE {filter}");
        let rows = self.query(&sql, parameters).await?;
        rows.iter().map(|row| self.read(table, row.get(0))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::FOLDED_LETTERS;

    #[test]
    fn characters_beyond_ascii_become_only_known_letters() {
        let beyond = ('\u{80}'..=char::MAX).flat_map(|one| one.to_lowercase().chain(one.to_uppercase()));
        let mut letters: Vec<_> = beyond.filter(char::is_ascii).map(|letter| letter.to_ascii_lowercase()).collect();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(String::from_iter(letters), FOLDED_LETTERS);
    }
}
