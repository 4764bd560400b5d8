//! Creates and removes the cutover in PostgreSQL, and grants rights on it.

use std::collections::BTreeMap;

use super::{Postgres, quoted};
use crate::source::source_failure;
use crate::{Failure, preflight};

/// The class of the advisory locks by which a move asks the writers of a user to give way ("tide"), and
/// the lock of an installation.
const MOVE_LOCK: &str = "1953064037";

/// The trigger that restores a row's values. Of the BEFORE triggers, the one whose name is last in the
/// order of bytes fires last.
const RESTORE: &str = "\"~tidemark_restore\"";

impl Postgres {
    /// Refuses a source that would stop the migration later, before anything is changed.
    pub(in crate::cutover) async fn preflight(&self) -> Result<(), Failure> {
        self.schema.check_known()?;
        preflight::check(&self.client, &self.schema).await
    }

    /// Waits until no other session installs the capture. A command that was killed may have left a
    /// statement behind that PostgreSQL still carries out.
    pub(in crate::cutover) async fn wait_for_install(&self) -> Result<(), Failure> {
        let sql = format!("SELECT pg_advisory_lock({MOVE_LOCK})");
        self.client.batch_execute(&sql).await.map_err(source_failure)
    }

    /// Starts a cutover: creates its tables and triggers, and stores copies of the folder's files, in
    /// one transaction. Waits at most five seconds for concurrent writes.
    pub(in crate::cutover) async fn install(&self, run: &str, files: &BTreeMap<String, String>) -> Result<(), Failure> {
        let mut sql = format!("BEGIN; SELECT pg_advisory_xact_lock({MOVE_LOCK}); SET LOCAL lock_timeout = '5s';\n");
        let capture = concat!(include_str!("../capture.sql"), include_str!("../joined.sql"));
        let capture = capture.replace("{schema}", &quoted(&self.schema.name));
        sql.push_str(&capture.replace("{move_lock}", MOVE_LOCK));
        // Before the first trigger, when nobody can wait for this. An owner without an ownership
        // record gets one with the first change.
        for (table, id) in self.owner_ids() {
            sql.push_str(&format!(
                "INSERT INTO tidemark_migration.ownerships (user_id) SELECT {id} FROM {table} AS this ON CONFLICT DO NOTHING;\n"
            ));
        }
        for table in self.schema.mapping.owned() {
            let Some(owner) = &table.owner else { continue };
            let (name, keys) = (self.table(table), self.schema.key_columns(table));
            let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
            let (source, prefix) = (literal(&table.name), literal(&owner.prefix));
            let is_parent = self
                .schema
                .mapping
                .owned()
                .any(|other| other.owner.as_ref().is_some_and(|owner| owner.through.as_ref() == Some(&table.name)));
            let place = match (owner.through.is_some(), is_parent) {
                (true, true) => "both",
                (true, false) => "child",
                (false, true) => "parent",
                (false, false) => "alone",
            };
            let parent = owner.through.as_ref().map_or_else(|| "NULL".to_owned(), |parent| literal(parent));
            let owner = literal(self.schema.column(table, &owner.column).unwrap_or(&owner.column));
            let keys = keys.iter().map(|key| literal(key)).collect::<Vec<_>>().join(", ");
            // A partition's trigger would otherwise report the partition's name.
            sql.push_str(&format!(
                "INSERT INTO tidemark_migration.sources (source, keys, owner_column, parent, prefix)
                     VALUES ({source}, ARRAY[{keys}], {owner}, {parent}, {prefix});
                 CREATE TRIGGER tidemark_capture AFTER INSERT OR UPDATE OR DELETE ON {name} FOR EACH ROW EXECUTE FUNCTION tidemark_migration.capture({source}, {owner}, {prefix}, '{place}');
                 CREATE TRIGGER {RESTORE} BEFORE INSERT OR UPDATE ON {name} FOR EACH ROW
                     WHEN (current_setting('tidemark_migration.applying', true) = 'on') EXECUTE FUNCTION tidemark_migration.restore({source});
                 CREATE TRIGGER tidemark_refuse_truncate BEFORE TRUNCATE ON {name} FOR EACH STATEMENT EXECUTE FUNCTION tidemark_migration.refuse_truncate();
                 -- Also for the changes of a logical replication, and of other sessions with
                 -- session_replication_role = replica: they would otherwise be lost.
                 ALTER TABLE {name} ENABLE ALWAYS TRIGGER tidemark_capture, ENABLE ALWAYS TRIGGER {RESTORE},
                     ENABLE ALWAYS TRIGGER tidemark_refuse_truncate;\n"
            ));
            if is_parent {
                sql.push_str(&format!(
                    "CREATE TRIGGER tidemark_depart BEFORE DELETE ON {name} FOR EACH ROW EXECUTE FUNCTION tidemark_migration.depart({source});
                     ALTER TABLE {name} ENABLE ALWAYS TRIGGER tidemark_depart;\n"
                ));
            }
        }
        for table in &self.schema.mapping.tables {
            sql.push_str(&self.record_joined(table));
        }
        for (name, content) in files {
            let content = content.replace('\'', "''");
            sql.push_str(&format!(
                "INSERT INTO tidemark_migration.folder (name, content) VALUES ('{name}', '{content}');\n"
            ));
        }
        sql.push_str(&format!("INSERT INTO tidemark_migration.plan (run, phase) VALUES ('{run}', 'capture'); COMMIT;"));
        self.all_or_nothing(&sql).await
    }

    /// Gives the application's role the rights to write and read during the cutover, if the role
    /// did not install it. May be repeated.
    ///
    /// # Errors
    /// If there is no cutover, or no such role.
    pub async fn grant(&self, role: &str) -> Result<(), Failure> {
        let role = quoted(role);
        let sql = format!(
            "BEGIN;
             GRANT USAGE ON SCHEMA tidemark_migration TO {role};
             GRANT SELECT ON ALL TABLES IN SCHEMA tidemark_migration TO {role};
             GRANT DELETE ON tidemark_migration.outbox, tidemark_migration.joined_changes TO {role};
             GRANT INSERT, UPDATE, DELETE ON tidemark_migration.waiting TO {role};
             GRANT EXECUTE ON FUNCTION tidemark_migration.advance_epoch, tidemark_migration.apply_change, tidemark_migration.preview,
                 tidemark_migration.numbered_changes, tidemark_migration.advance_sequence, tidemark_migration.touch TO {role};
             COMMIT;"
        );
        self.all_or_nothing(&sql).await
    }

    /// Removes the cutover from PostgreSQL. Waits as `install` does.
    pub(in crate::cutover) async fn uninstall(&self) -> Result<(), Failure> {
        // Another mover may have closed an ownership again since all users were moved back. An even
        // epoch belongs to PostgreSQL, which then has all changes. The triggers depend on a
        // function of the schema, so they are dropped with it.
        self.all_or_nothing(
            "BEGIN; SET LOCAL lock_timeout = '5s';
             LOCK TABLE tidemark_migration.ownerships IN ACCESS EXCLUSIVE MODE;
             DO $$ BEGIN
                 IF EXISTS (SELECT 1 FROM tidemark_migration.ownerships WHERE epoch % 2 = 1) THEN
                     RAISE EXCEPTION 'DynamoDB owns a user again: another cutover is running';
                 END IF;
             END $$;
             DROP SCHEMA tidemark_migration CASCADE; COMMIT;",
        )
        .await
    }

    /// Removes a finished cutover, so that PostgreSQL takes writes again. Waits as `install` does.
    pub(in crate::cutover) async fn reopen(&self) -> Result<(), Failure> {
        self.all_or_nothing(
            "BEGIN; SET LOCAL lock_timeout = '5s';
             DO $$ BEGIN
                 IF NOT EXISTS (SELECT FROM tidemark_migration.plan WHERE phase = 'finished') THEN
                     RAISE EXCEPTION 'the cutover is not finished';
                 END IF;
             END $$;
             DROP SCHEMA tidemark_migration CASCADE; COMMIT;",
        )
        .await
    }

    async fn all_or_nothing(&self, sql: &str) -> Result<(), Failure> {
        let done = self.client.batch_execute(sql).await;
        if done.is_err() {
            // Without this, the session would stay in the failed transaction. The first error is
            // the one to report.
            let _ = self.client.batch_execute("ROLLBACK").await;
        }
        done.map_err(source_failure)
    }
}
