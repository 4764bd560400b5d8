//! The copies of the run's folder in PostgreSQL.

use std::collections::BTreeMap;

use super::Postgres;
use crate::Failure;
use crate::source::source_failure;

impl Postgres {
    /// Stores copies of files, by name.
    pub(crate) async fn store_files(&self, files: &BTreeMap<String, String>) -> Result<(), Failure> {
        let sql = "INSERT INTO tidemark_migration.folder (name, content) VALUES ($1, $2)
                   ON CONFLICT (name) DO UPDATE SET content = EXCLUDED.content, stored_at = now()";
        for (name, content) in files {
            self.client.execute(sql, &[name, content]).await.map_err(source_failure)?;
        }
        Ok(())
    }

    /// The stored copies, by name.
    pub(crate) async fn files(&self) -> Result<BTreeMap<String, String>, Failure> {
        let rows = self.client.query("SELECT name, content FROM tidemark_migration.folder", &[]).await;
        Ok(rows.map_err(source_failure)?.iter().map(|row| (row.get(0), row.get(1))).collect())
    }
}
