//! The list of owners who wait for a key of another owner.

use super::{Postgres, table_of, unreadable};
use crate::Failure;
use crate::cutover::waiting::{WaitingRow, name};
use crate::item::Key;
use crate::row::Row;

/// The most owners that are compared when a key becomes free.
const WAITING_MAX: i64 = 100;

impl Postgres {
    /// Remembers that an owner wants a key for a row. May be repeated.
    pub(in crate::cutover) async fn add_waiting(&self, key: &Key, owner: &str, row: &Row) -> Result<(), Failure> {
        let names = self.schema.key_columns(&row.table);
        let mut row = row.clone();
        row.columns.retain(|name, _| names.contains(name));
        let json = row.json().map_err(|error| unreadable("a row", error))?;
        let sql = "INSERT INTO tidemark_migration.waiting (key, user_id, source, row_key) VALUES ($1, $2, $3, $4::text::jsonb)
                   ON CONFLICT (key, user_id) DO UPDATE SET source = EXCLUDED.source, row_key = EXCLUDED.row_key";
        let key = name(key);
        self.execute(sql, &[&key, &owner, &row.table.name, &json]).await?;
        Ok(())
    }

    /// The rows whose owners wait for one of the keys.
    pub(in crate::cutover) async fn waiting_for(&self, keys: &[String]) -> Result<Vec<WaitingRow>, Failure> {
        let sql =
            "SELECT key, user_id, source, row_key::text FROM tidemark_migration.waiting WHERE key = ANY ($1) LIMIT $2";
        let found = self.query(sql, &[&keys, &WAITING_MAX]).await?;
        let waiting = |found: &tokio_postgres::Row| {
            let (key, owner): (String, String) = (found.get(0), found.get(1));
            let table = table_of(&self.schema.mapping, found.get(2))?;
            let row = Row::read(&table, found.get(3)).map_err(|error| unreadable(&table.name, error))?;
            Ok(WaitingRow { key, row: row.of_owner(&owner), owner })
        };
        found.iter().map(waiting).collect()
    }

    /// Forgets that an owner wants a key.
    pub(in crate::cutover) async fn remove_waiting(&self, waiting: &WaitingRow) -> Result<(), Failure> {
        let sql = "DELETE FROM tidemark_migration.waiting WHERE key = $1 AND user_id = $2";
        self.execute(sql, &[&waiting.key, &waiting.owner]).await?;
        Ok(())
    }

    /// Records rows as changed without changing them. Returns those whose owner PostgreSQL does not
    /// own.
    pub(in crate::cutover) async fn touch(&self, rows: &[Row]) -> Result<Vec<Row>, Failure> {
        let owners: Vec<_> = rows.iter().map(|row| row.owner.clone()).collect();
        let sources: Vec<_> = rows.iter().map(|row| row.table.name.clone()).collect();
        let keys = rows.iter().map(Row::json).collect::<Result<Vec<_>, _>>();
        let keys = keys.map_err(|error| unreadable("a row", error))?;
        let sql = "SELECT tidemark_migration.touch(owner, source, key::jsonb)
                   FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (owner, source, key, place) ORDER BY place";
        let touched = self.query(sql, &[&owners, &sources, &keys]).await?;
        let moved = rows.iter().zip(&touched).filter(|(_, touched)| !touched.get::<_, bool>(0));
        Ok(moved.map(|(row, _)| row.clone()).collect())
    }
}
