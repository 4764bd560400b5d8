//! DynamoDB Streams, read straight from the emulator's stream table.
//!
//! The emulator keeps one endless shard a table. Here a stream has the shards that it has on AWS: each holds the records
//! of a range of partition key hashes, from its start to its end; a closed one is continued by its children. The ranges
//! lie in a table of our own beside the emulator's, so they survive a restart; the records stay where they are.

mod operations;
mod records;
mod shards;

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

pub(crate) use self::operations::{Operation, answer, stream_of_iterator};
pub use self::shards::ShardChange;
use crate::api::ApiError;
use crate::{EngineError, arn, point_in_time_recovery};

/// Shards that a stream may begin with; well above what one machine can feed.
pub(crate) const SHARDS_MAX: u16 = 1_000;

/// How long a stream keeps a record: AWS's 24 hours.
const RETENTION_S: i64 = 24 * 60 * 60;

/// Records deleted in one statement, which holds the database's write lock.
const TRIM_BATCH: usize = 1_000;

/// What makes a stored sequence number 21 digits long, as AWS's are at least; the emulator's own offset.
const SEQUENCE_NUMBER_OFFSET: i128 = 100_000_000_000_000_000_000;

/// The streams of one database.
#[derive(Debug)]
pub(crate) struct Streams {
    connection: Mutex<Connection>,
    initial_shards: u16,
}

/// A table's stream, as the emulator's catalogue has it.
#[derive(Debug)]
struct Stream {
    table: String,
    /// The emulator's label, which names this stream among those the table has had.
    label: String,
    /// AWS's spelling of it.
    public_label: String,
    view_type: String,
    /// JSON, as in `CreateTable`.
    key_schema: String,
}

impl Streams {
    /// Streams over `connection`; new ones begin with `initial_shards`.
    pub(crate) fn new(connection: Connection, initial_shards: u16) -> Result<Self, EngineError> {
        connection.execute_batch(shards::SCHEMA)?;
        connection.execute_batch(point_in_time_recovery::SCHEMA)?;
        Ok(Self { connection: Mutex::new(connection), initial_shards })
    }

    /// Closes an open shard and opens its children.
    pub(crate) fn change_shard(
        &self,
        table: &str,
        shard_id: &str,
        change: ShardChange,
    ) -> Result<Vec<String>, EngineError> {
        let mut connection = self.lock();
        let missing = || EngineError::NoOpenShard { table: table.to_owned(), shard_id: shard_id.to_owned() };
        let stream = find(&connection, table)?.ok_or_else(missing)?;
        shards::list(&mut connection, &stream, self.initial_shards)?;
        shards::change(&mut connection, &stream, shard_id, change)?.ok_or_else(missing)
    }

    /// Deletes records and closed shards that are past retention, and the shards of streams that are gone.
    pub(crate) fn trim(&self) -> Result<(), EngineError> {
        let horizon = horizon_s();
        let tables = {
            let connection = self.lock();
            let mut statement = connection.prepare("SELECT DISTINCT table_name FROM _stream_records")?;
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?
        };
        for table in tables {
            // The lock is taken anew for each batch, so that readers and writers get in between.
            while trim_batch(&self.lock(), &table, horizon)? == TRIM_BATCH {}
        }
        shards::trim(&self.lock(), horizon)?;
        Ok(())
    }

    /// Answers an operation on point-in-time recovery, which shares the connection.
    pub(crate) fn recovery(&self, operation: &str, body: &[u8]) -> Result<String, ApiError> {
        point_in_time_recovery::answer(&self.lock(), operation, body)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The oldest second that is still kept.
fn horizon_s() -> i64 {
    Timestamp::now().as_second() - RETENTION_S
}

fn trim_batch(connection: &Connection, table: &str, horizon_s: i64) -> rusqlite::Result<usize> {
    // The newest record stays, whatever its age: the emulator counts on from it.
    connection.execute(
        "DELETE FROM _stream_records WHERE created_at < ?2 AND id IN (
             SELECT id FROM _stream_records
             WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) <
                 (SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = ?1)
             ORDER BY CAST(sequence_number AS INTEGER) LIMIT ?3)",
        params![table, horizon_s, TRIM_BATCH],
    )
}

fn find(connection: &Connection, table: &str) -> rusqlite::Result<Option<Stream>> {
    let mut statement = connection.prepare_cached(
        "SELECT stream_label, COALESCE(stream_view_type, 'NEW_AND_OLD_IMAGES'), key_schema FROM _tables
         WHERE table_name = ?1 AND stream_enabled = 1",
    )?;
    let row =
        statement.query_row([table], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?))).optional()?;
    Ok(row.and_then(|(label, view_type, key_schema)| {
        let public_label = arn::stream_label(&label)?;
        Some(Stream { table: table.to_owned(), label, public_label, view_type, key_schema })
    }))
}

/// Every table with a stream, by name.
fn all(connection: &Connection) -> rusqlite::Result<Vec<Stream>> {
    let mut statement =
        connection.prepare("SELECT table_name FROM _tables WHERE stream_enabled = 1 ORDER BY table_name")?;
    let tables = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    tables.iter().filter_map(|table| find(connection, table).transpose()).collect()
}

/// The last sequence number that the table's stream has given out, as stored.
fn last_sequence_number(connection: &Connection, table: &str) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection
        .prepare_cached("SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = ?1")?;
    statement.query_row([table], |row| row.get(0))
}

/// A sequence number as clients see it, 21 digits: text and number order agree.
fn public_sequence_number(stored: i64) -> String {
    (SEQUENCE_NUMBER_OFFSET + i128::from(stored)).to_string()
}

/// The stored form of what a client names.
fn stored_sequence_number(public: &str) -> Option<i64> {
    i64::try_from(public.parse::<i128>().ok()? - SEQUENCE_NUMBER_OFFSET).ok()
}
