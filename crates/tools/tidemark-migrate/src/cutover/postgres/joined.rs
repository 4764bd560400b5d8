//! Changes of rows with which rows of other owners are joined.

use std::sync::Arc;

use tokio_postgres::types::ToSql;

use super::{Postgres, quoted, table_of, unreadable, version};
use crate::Failure;
use crate::mapping::{Join, Table};
use crate::row::{Columns, OWNER, Row};
use crate::source::literal;

/// The most changes that are read at once.
const CHANGES_PER_PAGE: i64 = 1_000;

/// A change of a row with which rows of other owners are joined.
#[derive(Debug)]
pub(in crate::cutover) struct JoinedChange {
    pub(in crate::cutover) sequence: i64,
    pub(in crate::cutover) table: Arc<Table>,
    /// The used columns of the row before the change and after it, as far as it existed.
    pub(in crate::cutover) states: Vec<Columns>,
}

impl Postgres {
    /// The columns of a table that rows of other owners use, as literals.
    pub(super) fn columns_across(&self, table: &Table) -> Vec<String> {
        self.schema.columns_across(table).iter().map(|column| literal(column)).collect()
    }

    /// The trigger that records changes of a table with which rows of other owners are joined.
    pub(super) fn record_joined(&self, table: &Table) -> String {
        let columns = self.columns_across(table);
        if columns.is_empty() {
            return String::new();
        }
        let (name, source, columns) = (self.table(table), literal(&table.name), columns.join(", "));
        format!(
            "CREATE TRIGGER tidemark_joined AFTER INSERT OR UPDATE OR DELETE ON {name} FOR EACH ROW EXECUTE FUNCTION tidemark_migration.record_joined({source}, {columns});
             ALTER TABLE {name} ENABLE ALWAYS TRIGGER tidemark_joined;\n"
        )
    }

    /// The sequence of the last change, and the number of changes.
    pub(in crate::cutover) async fn pending_joined(&self) -> Result<(i64, u64), Failure> {
        let sql = "SELECT coalesce(max(sequence), 0), count(*) FROM tidemark_migration.joined_changes";
        let row = self.query_one(sql, &[]).await?;
        Ok((row.get(0), version(row.get(1))))
    }

    /// The next changes of all rows, or of the rows of one owner.
    pub(in crate::cutover) async fn joined_changes(
        &self,
        user: Option<&str>,
        (after, until): (i64, i64),
    ) -> Result<Vec<JoinedChange>, Failure> {
        let sql = "SELECT sequence, source, before::text, after::text FROM tidemark_migration.joined_changes
                   WHERE sequence > $1 AND sequence <= $2 AND ($3::text IS NULL OR user_id = $3) ORDER BY sequence LIMIT $4";
        let rows = self.query(sql, &[&after, &until, &user, &CHANGES_PER_PAGE]).await?;
        let change = |row: &tokio_postgres::Row| {
            let table = table_of(&self.schema.mapping, row.get(1))?;
            let states = [row.get::<_, Option<&str>>(2), row.get(3)].into_iter().flatten();
            let states = states.map(serde_json::from_str).collect::<Result<_, _>>();
            let states = states.map_err(|error| unreadable(&table.name, error))?;
            Ok(JoinedChange { sequence: row.get(0), table, states })
        };
        rows.iter().map(change).collect()
    }

    /// Forgets changes whose rows have their items again.
    pub(in crate::cutover) async fn remove_joined_changes(&self, sequences: &[i64]) -> Result<(), Failure> {
        let sql = "DELETE FROM tidemark_migration.joined_changes WHERE sequence = ANY ($1)";
        self.execute(sql, &[&sequences]).await?;
        Ok(())
    }

    /// The next rows in the order of their keys that are joined with rows of these values: only
    /// their keys and owners.
    pub(in crate::cutover) async fn rows_joined_by(
        &self,
        (table, join): (&Arc<Table>, &Join),
        values: &[String],
        last: Option<&Row>,
        limit: i64,
    ) -> Result<Vec<Row>, Failure> {
        let Some(owner) = self.schema.owner(table, "this") else { return Ok(Vec::new()) };
        let mut columns = self.schema.key_columns(table);
        let order = columns.iter().map(|name| format!("this.{}", quoted(name))).collect::<Vec<_>>().join(", ");
        let mut parameters: Vec<&(dyn ToSql + Sync)> = values.iter().map(|value| value as _).collect();
        let equal = join.on.iter().enumerate().map(|(n, (_, own))| self.column_equals(table, own, n + 1));
        let mut filter = format!("{} AND {owner} IS NOT NULL", equal.collect::<Vec<_>>().join(" AND "));
        let json = last.map(Row::json).transpose().map_err(|error| unreadable(&table.name, error))?;
        if let Some(json) = &json {
            parameters.push(json);
            let (n, from) = (parameters.len(), self.table(table));
            let given = columns.iter().map(|name| format!("given.{}", quoted(name))).collect::<Vec<_>>().join(", ");
            filter.push_str(&format!(
                " AND ({order}) > (SELECT {given} FROM jsonb_populate_record(NULL::{from}, ${n}::text::jsonb) AS given)"
            ));
        }
        if let Some(owner) = table.owner.as_ref().filter(|owner| owner.through.is_none()) {
            columns.push(self.schema.column(table, &owner.column).unwrap_or(&owner.column).to_owned());
        }
        let members = columns.iter().map(|name| format!("{}, this.{}", literal(name), quoted(name)));
        let members = members.collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT jsonb_build_object({members}, {}, {owner})::text FROM {} AS this WHERE {filter} ORDER BY {order} LIMIT {limit}",
            literal(OWNER),
            self.table(table)
        );
        let rows = self.query(&sql, &parameters).await?;
        let read = |row: &tokio_postgres::Row| Row::read(table, row.get(0));
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| unreadable(&table.name, error))
    }
}
