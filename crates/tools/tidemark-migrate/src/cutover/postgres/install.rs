//! Creates and removes the cutover in PostgreSQL, and grants rights on it.

use tokio_postgres::error::SqlState;

use super::{Postgres, quoted};
use crate::mapping::{Table, TableOwner};
use crate::source::{SETTINGS, literal, source_failure};
use crate::{Failure, FailureKind, preflight};

/// The class of the advisory locks by which a move asks the writers of a user to give way ("tide"),
/// and the lock of an installation.
const MOVE_LOCK: &str = "1953064037";

/// Waits at most five seconds for a lock of a table, in a transaction.
const WAIT_SHORTLY: &str = "SET LOCAL lock_timeout = '5s';";

/// The trigger that restores a row's values. Of the BEFORE triggers, the one whose name is last in
/// the order of bytes fires last.
const RESTORE: &str = "\"~tidemark_restore\"";

/// Keeps others from changing a captured table. Only a superuser may create an event trigger; the
/// commands compare the tables in any case.
const GUARD_SCHEMA: &str = "DO $$ BEGIN
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
        AND NOT EXISTS (SELECT FROM pg_event_trigger WHERE evtname = 'tidemark_schema') THEN
        CREATE EVENT TRIGGER tidemark_schema ON ddl_command_end WHEN TAG IN ('ALTER TABLE', 'DROP TABLE', 'ALTER TYPE',
            'DROP TYPE', 'DROP DOMAIN', 'ALTER SCHEMA', 'DROP SCHEMA', 'DROP EXTENSION', 'DROP FUNCTION', 'DROP OWNED')
            EXECUTE FUNCTION tidemark_migration.refuse_schema_change();
    END IF;
END $$;\n";

/// The functions run with the rights of their owner, so only granted roles may call them: see
/// [`Postgres::grant`].
const REVOKE: &str = "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA tidemark_migration FROM PUBLIC;\n";

impl Postgres {
    /// Refuses a source that would stop the migration later, before anything is changed.
    pub(in crate::cutover) async fn preflight(&self, application: Option<&str>) -> Result<(), Failure> {
        self.schema.check_known()?;
        preflight::check(&self.client, &self.schema, application).await
    }

    /// Waits until no other command works on the cutover, from this folder or a copy of it, and
    /// lets none begin before this session ends. A command that was killed may have left a
    /// statement behind that PostgreSQL still carries out.
    pub(crate) async fn lock_cutover(&self) -> Result<(), Failure> {
        // The lock belongs to the session.
        let lock = format!("SET lock_timeout = '60s'; SELECT pg_advisory_lock({MOVE_LOCK}); RESET lock_timeout");
        self.client.batch_execute(&lock).await.map_err(|error| match error.code() {
            Some(&SqlState::LOCK_NOT_AVAILABLE) => FailureKind::Cutover
                .because("another command works on the cutover of this database: try again when it has ended"),
            _ => source_failure(error),
        })
    }

    /// Starts a cutover: creates its tables and triggers in one transaction. Waits at most five
    /// seconds for concurrent writes.
    pub(in crate::cutover) async fn install(&self, run: &str) -> Result<(), Failure> {
        // The owners come before the first trigger, when nobody can wait for them.
        let (tables, owners, triggers) = (self.tables_sql(), self.owners_sql(), self.triggers_sql());
        let plan = format!("INSERT INTO tidemark_migration.plan (run, phase) VALUES ('{run}', 'capture');");
        self.all_or_nothing(&format!("{WAIT_SHORTLY}\n{tables}{REVOKE}{owners}{triggers}{plan}{GUARD_SCHEMA}")).await
    }

    /// Creates the cutover's tables and functions, and lists the captured tables.
    fn tables_sql(&self) -> String {
        let mut sql = concat!(include_str!("../capture.sql"), include_str!("../joined.sql"))
            .replace("{schema}", &quoted(&self.schema.name))
            .replace("{move_lock}", MOVE_LOCK)
            .replace("{settings}", &SETTINGS.map(|(name, value)| format!("SET {name} = '{value}'")).join(" "));
        for table in self.schema.mapping.owned() {
            let source = literal(&table.name);
            sql.push_str(&format!(
                "INSERT INTO tidemark_migration.captured SELECT {source}, tidemark_migration.shape_of({source});\n"
            ));
        }
        for table in self.schema.mapping.owned() {
            let Some(owner) = &table.owner else { continue };
            let (source, prefix) = (literal(&table.name), literal(&owner.prefix));
            let name = literal(&self.table(table));
            let of_parent =
                owner.through.as_ref().map_or_else(|| name.clone(), |parent| literal(&self.schema.table(parent)));
            let parent = owner.through.as_ref().map_or_else(|| "NULL".to_owned(), |parent| literal(parent));
            let owner = literal(self.schema.column(table, &owner.column).unwrap_or(&owner.column));
            let keys = self.schema.key_columns(table).iter().map(|key| literal(key)).collect::<Vec<_>>().join(", ");
            sql.push_str(&format!(
                "INSERT INTO tidemark_migration.sources (source, keys, owner_column, parent, prefix, may_lack_parent)
                     VALUES ({source}, ARRAY[{keys}], {owner}, {parent}, {prefix}, NOT EXISTS (
                         SELECT FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attname = {owner} AND attnum = ANY (conkey)
                         WHERE conrelid = {name}::regclass AND confrelid = {of_parent}::regclass AND contype = 'f' AND convalidated AND NOT condeferrable));\n"
            ));
        }
        sql
    }

    /// Creates an ownership record for each owner. An owner without one gets it with the first
    /// change.
    fn owners_sql(&self) -> String {
        let mapping = &self.schema.mapping;
        let tables = mapping.owners.iter().filter_map(|owner| Some((owner, mapping.table(&owner.table)?)));
        let of_table = tables.map(|(owner, table)| {
            let column = table.key.first().map(String::as_str).unwrap_or_default();
            let column = quoted(self.schema.column(table, column).unwrap_or(column));
            let (prefix, table) = (literal(&owner.prefix), self.table(table));
            format!(
                "INSERT INTO tidemark_migration.ownerships (user_id)
                     SELECT {prefix} || (to_jsonb(this.{column}) #>> '{{}}') FROM {table} AS this ON CONFLICT DO NOTHING;\n"
            )
        });
        of_table.collect()
    }

    /// Creates the triggers that record changes, and those that refuse TRUNCATE.
    fn triggers_sql(&self) -> String {
        let mut sql = String::new();
        for table in self.schema.mapping.owned() {
            let Some(owner) = &table.owner else { continue };
            let name = self.table(table);
            let (source, prefix) = (literal(&table.name), literal(&owner.prefix));
            let is_parent = self.is_parent(table);
            let place = match (owner.through.is_some(), is_parent) {
                (true, true) => "both",
                (true, false) => "child",
                (false, true) => "parent",
                (false, false) => "alone",
            };
            let owner = literal(self.schema.column(table, &owner.column).unwrap_or(&owner.column));
            let columns =
                self.schema.mapped_columns(table).map(|column| format!(", {}", literal(column))).collect::<String>();
            // A partition's trigger would otherwise report the partition's name.
            sql.push_str(&format!(
                "CREATE TRIGGER tidemark_capture AFTER INSERT OR UPDATE OR DELETE ON {name} FOR EACH ROW EXECUTE FUNCTION tidemark_migration.capture({source}, {owner}, {prefix}, '{place}'{columns});
                 CREATE TRIGGER {RESTORE} BEFORE INSERT OR UPDATE ON {name} FOR EACH ROW
                     WHEN (current_setting('tidemark_migration.applying', true) = 'on') EXECUTE FUNCTION tidemark_migration.restore({source});
                 -- Also for the changes of a subscription, and of other sessions with
                 -- session_replication_role = replica: they would otherwise be lost.
                 ALTER TABLE {name} ENABLE ALWAYS TRIGGER tidemark_capture, ENABLE ALWAYS TRIGGER {RESTORE};\n"
            ));
            if let (true, Some(key)) = (is_parent, self.schema.key_columns(table).first()) {
                let key = quoted(key);
                sql.push_str(&format!(
                    "CREATE TRIGGER tidemark_depart BEFORE DELETE ON {name} FOR EACH ROW EXECUTE FUNCTION tidemark_migration.depart({source});
                     CREATE TRIGGER tidemark_depart_key BEFORE UPDATE ON {name} FOR EACH ROW
                         WHEN (OLD.{key} IS DISTINCT FROM NEW.{key}) EXECUTE FUNCTION tidemark_migration.depart({source});
                     ALTER TABLE {name} ENABLE ALWAYS TRIGGER tidemark_depart, ENABLE ALWAYS TRIGGER tidemark_depart_key;\n"
                ));
            }
        }
        for table in self.schema.mapping.owned() {
            let name = self.table(table);
            sql.push_str(&self.record_joined(table));
            sql.push_str(&format!(
                "CREATE TRIGGER tidemark_refuse_truncate BEFORE TRUNCATE ON {name} FOR EACH STATEMENT EXECUTE FUNCTION tidemark_migration.refuse_truncate();
                 ALTER TABLE {name} ENABLE ALWAYS TRIGGER tidemark_refuse_truncate;\n"
            ));
        }
        sql
    }

    /// Whether rows of other tables find their owner through this table.
    fn is_parent(&self, table: &Table) -> bool {
        let is_through = |owner: &TableOwner| owner.through.as_ref() == Some(&table.name);
        self.schema.mapping.owned().any(|other| other.owner.as_ref().is_some_and(is_through))
    }

    /// Gives the application's role the rights to write and read during the cutover, if the role
    /// did not install it. May be repeated, but not by two sessions at once.
    pub async fn grant(&self, role: &str) -> Result<(), Failure> {
        let role = quoted(role);
        let sql = format!(
            "{WAIT_SHORTLY}
             GRANT USAGE ON SCHEMA tidemark_migration TO {role};
             GRANT SELECT ON ALL TABLES IN SCHEMA tidemark_migration TO {role};
             GRANT DELETE ON tidemark_migration.outbox, tidemark_migration.joined_changes TO {role};
             GRANT INSERT, UPDATE, DELETE ON tidemark_migration.waiting TO {role};
             GRANT EXECUTE ON FUNCTION tidemark_migration.advance_epoch, tidemark_migration.apply_change, tidemark_migration.preview,
                 tidemark_migration.numbered_changes, tidemark_migration.advance_sequence, tidemark_migration.touch,
                 tidemark_migration.schema_changes, tidemark_migration.shape_of TO {role};"
        );
        self.all_or_nothing(&sql).await
    }

    /// Removes the cutover from PostgreSQL. Waits as `install` does.
    pub(crate) async fn uninstall(&self) -> Result<(), Failure> {
        // Another mover may have closed an ownership again since all users were moved back. An even
        // epoch belongs to PostgreSQL, which then has all changes. The triggers depend on a
        // function of the schema, so they are dropped with it.
        self.all_or_nothing(&format!(
            "{WAIT_SHORTLY}
             LOCK TABLE tidemark_migration.ownerships IN ACCESS EXCLUSIVE MODE;
             DO $$ BEGIN
                 IF EXISTS (SELECT 1 FROM tidemark_migration.ownerships WHERE epoch % 2 = 1) THEN
                     RAISE EXCEPTION 'DynamoDB owns a user again: another cutover is running';
                 END IF;
             END $$;
             DROP SCHEMA tidemark_migration CASCADE"
        ))
        .await
    }

    /// Removes a finished cutover, so that PostgreSQL takes writes again. Waits as `install` does.
    pub(in crate::cutover) async fn reopen(&self) -> Result<(), Failure> {
        self.all_or_nothing(&format!(
            "{WAIT_SHORTLY}
             DO $$ BEGIN
                 IF NOT EXISTS (SELECT FROM tidemark_migration.plan WHERE phase = 'finished') THEN
                     RAISE EXCEPTION 'the cutover is not finished';
                 END IF;
                 PERFORM tidemark_migration.advance_sequence(source, NULL) FROM tidemark_migration.sources;
             END $$;
             DROP SCHEMA tidemark_migration CASCADE"
        ))
        .await
    }

    async fn all_or_nothing(&self, sql: &str) -> Result<(), Failure> {
        let done = self.client.batch_execute(&format!("BEGIN; {sql}; COMMIT")).await;
        if done.is_err() {
            // Without this, the session would stay in the failed transaction. The first error is
            // the one to report.
            let _ = self.client.batch_execute("ROLLBACK").await;
        }
        done.map_err(source_failure)
    }
}
