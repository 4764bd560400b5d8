//! The database file: opens it, adds an index to the stream table, and opens a second connection
//! for reading streams.
//!
//! This depends on the emulator's private schema. Therefore the emulator's version is pinned, and
//! [`Database::open`] rejects a stream table with other columns.

use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode};
use tempfile::TempDir;

use crate::streams::Streams;
use crate::{EngineError, Storage, expiry};

/// The columns of the emulator's stream table in order, as version 3.2.0 creates them.
const STREAM_TABLE_COLUMNS: [&str; 11] = [
    "id",
    "table_name",
    "event_name",
    "keys_json",
    "new_image",
    "old_image",
    "sequence_number",
    "shard_id",
    "created_at",
    "user_identity",
    "event_id",
];

/// Without this index, each write to a table with a stream scans all of the stream's records to
/// find the next sequence number.
const STREAM_INDEX: &str = "CREATE INDEX IF NOT EXISTS _tidemark_stream_order
    ON _stream_records(table_name, CAST(sequence_number AS INTEGER))";

/// How long the second connection waits for the emulator's write lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Linux keeps files in this folder in memory.
const MEMORY_FOLDER: &str = "/dev/shm";

/// The folder names of [`Storage::Memory`] begin with this; the process id follows.
const FOLDER_PREFIX: &str = "tidemark-";

/// The open database.
pub(crate) struct Database {
    /// The emulator's handle.
    pub(crate) tables: dynoxide::Database,
    /// The streams, on their own connection, so that readers do not wait for writers.
    pub(crate) streams: Arc<Streams>,
}

impl std::fmt::Debug for Database {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Database {
    /// Opens or creates the database. The folder is returned for [`Storage::Memory`] only; dropping
    /// it deletes it.
    pub(crate) fn open(storage: &Storage, stream_shards: u16) -> Result<(Self, Option<TempDir>), EngineError> {
        let (path, folder) = place(storage)?;
        check_file(&path)?;
        let text = path.to_str().ok_or_else(|| EngineError::Database(format!("{} is not UTF-8", path.display())))?;
        let tables = dynoxide::Database::new(text).map_err(refused)?;
        // `Memory` does not outlive the process, so no write is synced to disk. `File` syncs the
        // write-ahead log at checkpoints only: no loss when the process crashes, and much faster
        // than a sync per write.
        match storage {
            Storage::Memory => tables.enable_bulk_loading().map_err(refused)?,
            Storage::File(_) => tables.disable_bulk_loading().map_err(refused)?,
        }
        let connection = connect(&path)?;
        check_schema(&connection)?;
        connection.execute_batch(STREAM_INDEX)?;
        connection.execute_batch(expiry::SCHEMA)?;
        let streams = Arc::new(Streams::new(connection, stream_shards)?);
        Ok((Self { tables, streams }, folder))
    }

    /// Deletes expired items and trims the streams. Returns the number of deleted items.
    pub(crate) fn sweep(&self, now: Timestamp) -> Result<usize, EngineError> {
        let path = self.tables.db_path().map_err(refused)?.unwrap_or_default();
        let expired = expiry::sweep(&self.tables, &connect(Path::new(&path))?, now)?;
        self.streams.trim()?;
        Ok(expired)
    }
}

fn refused(error: dynoxide::DynoxideError) -> EngineError {
    EngineError::Database(error.to_string())
}

fn place(storage: &Storage) -> Result<(PathBuf, Option<TempDir>), EngineError> {
    match storage {
        Storage::Memory => {
            remove_abandoned(Path::new(MEMORY_FOLDER));
            let prefix = format!("{FOLDER_PREFIX}{}-", std::process::id());
            let make = |parent: &Path| tempfile::Builder::new().prefix(&prefix).tempdir_in(parent);
            let folder = make(Path::new(MEMORY_FOLDER)).or_else(|_| make(&std::env::temp_dir()))?;
            Ok((folder.path().join("dynamodb.sqlite"), Some(folder)))
        }
        Storage::File(path) => {
            if let Some(parent) = path.parent() {
                std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            }
            keep_private(path)?;
            Ok((path.clone(), None))
        }
    }
}

/// Restricts the file and the journals that a killed process left to their owner. SQLite gives new
/// journals the mode of the file.
fn keep_private(path: &Path) -> std::io::Result<()> {
    let owner_alone = Permissions::from_mode(0o600);
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    file.set_permissions(owner_alone.clone())?;
    for journal in ["-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(journal);
        match std::fs::set_permissions(name, owner_alone.clone()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Deletes the in-memory databases of killed processes, which would use memory until the next boot.
fn remove_abandoned(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process =
            name.to_str().and_then(|name| name.strip_prefix(FOLDER_PREFIX)?.split_once('-')).map(|(id, _)| id);
        let Some(process) = process.filter(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit())) else {
            continue;
        };
        if !Path::new("/proc").join(process).exists() {
            // Another engine that starts now may delete the folder first; then this fails, which is
            // fine.
            if let Err(error) = std::fs::remove_dir_all(entry.path()) {
                tracing::debug!(%error, "could not delete an abandoned folder");
            }
        }
    }
}

/// Reads the catalogue, before the emulator does, which would take a damaged file for an encrypted
/// one.
fn check_file(path: &Path) -> Result<(), EngineError> {
    let read = |connection: Connection| connection.query_row("SELECT COUNT(*) FROM sqlite_master", [], |_| Ok(()));
    match Connection::open(path).and_then(read) {
        Err(error)
            if [Some(ErrorCode::NotADatabase), Some(ErrorCode::DatabaseCorrupt)]
                .contains(&error.sqlite_error_code()) =>
        {
            Err(EngineError::Damaged { path: path.to_owned(), reason: error.to_string() })
        }
        outcome => Ok(outcome?),
    }
}

fn connect(path: &Path) -> Result<Connection, EngineError> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

fn check_schema(connection: &Connection) -> Result<(), EngineError> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info('_stream_records') ORDER BY cid")?;
    let columns = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    if columns == STREAM_TABLE_COLUMNS {
        return Ok(());
    }
    Err(EngineError::Database(format!(
        "its stream table has the columns {columns:?}, expected {STREAM_TABLE_COLUMNS:?}"
    )))
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;
    use serde_json::json;

    use super::*;

    /// The emulator runs this statement at every write to a table with a stream.
    const NEXT_SEQUENCE_NUMBER: &str =
        "SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records WHERE table_name = ?1";

    fn put(tables: &dynoxide::Database, number: usize) {
        let request = json!({ "TableName": "streamed", "Item": { "id": { "S": number.to_string() } } });
        tables.put_item(serde_json::from_value(request).unwrap()).unwrap();
    }

    fn steps(connection: &Connection) -> i32 {
        let mut statement = connection.prepare(NEXT_SEQUENCE_NUMBER).unwrap();
        statement.query_row(["streamed"], |row| row.get::<_, i64>(0)).unwrap();
        statement.get_status(StatementStatus::VmStep)
    }

    #[test]
    fn stream_write_cost_stays_constant_over_20000_writes() {
        let (database, _folder) = Database::open(&Storage::Memory, 1).unwrap();
        let create = json!({
            "TableName": "streamed",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "id", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "id", "KeyType": "HASH" }],
            "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES" },
        });
        database.tables.create_table(serde_json::from_value(create).unwrap()).unwrap();
        let connection = connect(Path::new(&database.tables.db_path().unwrap().unwrap())).unwrap();
        put(&database.tables, 0);
        let first = steps(&connection);
        for number in 1..20_000 {
            put(&database.tables, number);
        }
        assert_eq!(steps(&connection), first);
        connection.execute_batch("DROP INDEX _tidemark_stream_order").unwrap();
        assert!(steps(&connection) > 20_000, "without the index the count must show the difference");
    }

    #[test]
    fn the_memory_folder_of_a_killed_process_is_deleted() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |process: &str| parent.path().join(format!("{FOLDER_PREFIX}{process}-abc"));
        // Process ids are far below this number.
        let (own, dead) = (folder(&std::process::id().to_string()), folder("4294967295"));
        for folder in [&own, &dead, &folder("foreign")] {
            std::fs::create_dir(folder).unwrap();
        }
        remove_abandoned(parent.path());
        assert!(own.exists() && !dead.exists() && folder("foreign").exists());
    }

    #[test]
    fn database_files_are_readable_by_their_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join("db.sqlite");
        let storage = Storage::File(path.clone());
        let names = ["", "-wal", "-shm"].map(|end| path.with_file_name(format!("db.sqlite{end}")));
        for was in [None, Some(0o644)] {
            for name in names.iter().filter(|name| was.is_some() && name.exists()) {
                std::fs::set_permissions(name, Permissions::from_mode(was.unwrap())).unwrap();
            }
            let (database, _) = Database::open(&storage, 1).unwrap();
            database.tables.list_tables(serde_json::from_value(json!({})).unwrap()).unwrap();
            for name in &names {
                let mode = std::fs::metadata(name).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{} after {was:?}", name.display());
            }
            // The journal of a killed process remains.
            std::mem::forget(database);
        }
        assert_eq!(std::fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_stream_table_with_other_columns_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let storage = Storage::File(folder.path().join("db.sqlite"));
        drop(Database::open(&storage, 1).unwrap());
        let connection = Connection::open(folder.path().join("db.sqlite")).unwrap();
        connection.execute_batch("ALTER TABLE _stream_records ADD COLUMN surprise TEXT").unwrap();
        let error = Database::open(&storage, 1).unwrap_err().to_string();
        assert!(error.contains("surprise"), "{error}");
    }
}
