//! The list of users who move first.

use std::collections::BTreeSet;

use super::Postgres;
use crate::Failure;
use crate::source::source_failure;

impl Postgres {
    /// The users who move before the percentages.
    pub(in crate::cutover) async fn first_users(&self) -> Result<BTreeSet<String>, Failure> {
        let rows = self.client.query("SELECT user_id FROM tidemark_migration.first_users", &[]).await;
        Ok(rows.map_err(source_failure)?.iter().map(|row| row.get(0)).collect())
    }

    /// Those of the users who have no ownership record.
    pub(in crate::cutover) async fn unknown_users(&self, users: &[String]) -> Result<Vec<String>, Failure> {
        let sql = "SELECT id FROM unnest($1::text[]) AS id
                   WHERE NOT EXISTS (SELECT FROM tidemark_migration.ownerships WHERE user_id = id) ORDER BY id";
        let rows = self.client.query(sql, &[&users]).await.map_err(source_failure)?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Replaces the list.
    pub(in crate::cutover) async fn replace_first_users(&self, users: &[String]) -> Result<(), Failure> {
        let sql = "WITH gone AS (DELETE FROM tidemark_migration.first_users WHERE user_id <> ALL ($1))
                   INSERT INTO tidemark_migration.first_users SELECT unnest($1::text[]) ON CONFLICT DO NOTHING";
        self.client.execute(sql, &[&users]).await.map_err(source_failure)?;
        Ok(())
    }
}
