//! DynamoDB Streams, read from the emulator's stream table.
//!
//! The emulator has one endless shard per table. Here a stream has shards as on AWS: each shard
//! holds a range of partition key hashes and a range of sequence numbers. A closed shard is
//! continued by its children. The engine stores these ranges in its own table, so they survive a
//! restart; the records stay in the emulator's table.

mod history;
mod operations;
mod records;
mod shards;

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Map, Value, json};

use self::history::{Stream, find};
pub(crate) use self::operations::{Operation, answer, stream_of_iterator};
pub(crate) use self::records::PageError;
use self::shards::Shard;
pub use self::shards::ShardChange;
use crate::api::ApiError;
use crate::{EngineError, arn, late_index, point_in_time_recovery};

/// The maximum number of initial shards, far more than one machine can use.
pub(crate) const SHARDS_MAX: u16 = 1_000;

/// Retention of stream records: 24 hours, as on AWS.
const RETENTION_S: i64 = 24 * 60 * 60;

/// The newest trimmed record of each shard.
const TRIMMED_SCHEMA: &str = "CREATE TABLE IF NOT EXISTS _tidemark_trimmed_records (
    table_name TEXT NOT NULL,
    shard_id TEXT NOT NULL,
    sequence_number INTEGER NOT NULL,
    PRIMARY KEY (table_name, shard_id)
)";

/// Records deleted by one statement, which holds the database's write lock.
const TRIM_BATCH: usize = 1_000;

/// Added to a stored sequence number, so that it has 21 digits, AWS's minimum. The emulator uses
/// the same offset.
const SEQUENCE_NUMBER_OFFSET: i128 = 100_000_000_000_000_000_000;

/// The streams of one database.
#[derive(Debug)]
pub(crate) struct Streams {
    connection: Mutex<Connection>,
    initial_shards: u16,
}

impl Streams {
    /// Reads streams over `connection`; a new stream gets `initial_shards`.
    pub(crate) fn new(connection: Connection, initial_shards: u16) -> Result<Self, EngineError> {
        connection.execute_batch(history::SCHEMA)?;
        connection.execute_batch(shards::SCHEMA)?;
        connection.execute_batch(TRIMMED_SCHEMA)?;
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

    /// Deletes records and closed shards that are older than the retention, and the shards of
    /// deleted streams.
    pub(crate) fn trim(&self) -> Result<(), EngineError> {
        let horizon = horizon_s();
        let tables = {
            let connection = self.lock();
            let mut statement = connection.prepare("SELECT DISTINCT table_name FROM _stream_records")?;
            statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?
        };
        for table in tables {
            note_trimmed(&self.lock(), &table, horizon)?;
            // Releases the lock between batches, so that readers and writers can run.
            while trim_batch(&self.lock(), &table, horizon)? == TRIM_BATCH {}
        }
        let connection = self.lock();
        history::trim(&connection, horizon)?;
        shards::trim(&connection, horizon)?;
        Ok(())
    }

    /// Writes the table's newest stream into its description. The emulator knows no stream that is
    /// switched off, and no view type but both images.
    pub(crate) fn describe(&self, description: &mut Value, region: &str) -> rusqlite::Result<()> {
        let table = description["TableName"].as_str().unwrap_or_default().to_owned();
        let Some(stream) = history::latest(&self.lock(), &table)? else { return Ok(()) };
        description["LatestStreamArn"] = arn::stream(region, &table, &stream.public_label).into();
        description["LatestStreamLabel"] = stream.public_label.into();
        if description["StreamSpecification"].is_object() {
            description["StreamSpecification"] = json!({ "StreamEnabled": true, "StreamViewType": stream.view_type });
        }
        Ok(())
    }

    /// Cleans new indexes, over the same connection.
    pub(crate) fn exclude_misfits(&self, request: &Map<String, Value>) -> rusqlite::Result<()> {
        late_index::exclude_misfits(&self.lock(), request)
    }

    /// Answers an operation on point-in-time recovery, which uses the same connection.
    pub(crate) fn recovery(&self, operation: &str, body: &[u8]) -> Result<String, ApiError> {
        point_in_time_recovery::answer(&self.lock(), operation, body)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The oldest second within the retention.
fn horizon_s() -> i64 {
    Timestamp::now().as_second() - RETENTION_S
}

/// Remembers the newest record of each shard that is older than the retention, before it is
/// deleted. A position before it has lost records.
fn note_trimmed(connection: &Connection, table: &str, horizon_s: i64) -> Result<(), EngineError> {
    for stream in history::of_table(connection, table)? {
        for shard in shards::select(connection, &stream)? {
            let noted = trimmed_to(connection, &stream, &shard)?;
            if let Some(newest) = records::newest_old(connection, &stream, &shard, noted, horizon_s)? {
                connection.execute(
                    "INSERT OR REPLACE INTO _tidemark_trimmed_records VALUES (?1, ?2, ?3)",
                    params![table, shard.id, newest],
                )?;
            }
        }
    }
    Ok(())
}

/// The stored sequence number of the shard's newest trimmed record; 0 if there is none.
fn trimmed_to(connection: &Connection, stream: &Stream, shard: &Shard) -> rusqlite::Result<i64> {
    let mut statement = connection.prepare_cached(
        "SELECT sequence_number FROM _tidemark_trimmed_records WHERE table_name = ?1 AND shard_id = ?2",
    )?;
    let number = statement.query_row([&stream.table, &shard.id], |row| row.get(0)).optional()?;
    Ok(number.unwrap_or_default())
}

/// The position before the shard's oldest record that can be read: what lies before it was trimmed,
/// or is older than the retention and will be.
fn readable_after(connection: &Connection, stream: &Stream, shard: &Shard) -> Result<i64, PageError> {
    let trimmed = trimmed_to(connection, stream, shard)?;
    Ok(records::newest_old(connection, stream, shard, trimmed, horizon_s())?.unwrap_or(trimmed))
}

fn trim_batch(connection: &Connection, table: &str, horizon_s: i64) -> rusqlite::Result<usize> {
    // Always keeps the newest record: the emulator derives the next sequence number from it.
    connection.execute(
        "DELETE FROM _stream_records WHERE created_at < ?2 AND id IN (
             SELECT id FROM _stream_records
             WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) <
                 (SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = ?1)
             ORDER BY CAST(sequence_number AS INTEGER) LIMIT ?3)",
        params![table, horizon_s, TRIM_BATCH],
    )
}

/// The last stored sequence number of the table's stream.
fn last_sequence_number(connection: &Connection, table: &str) -> rusqlite::Result<Option<i64>> {
    let mut statement = connection
        .prepare_cached("SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = ?1")?;
    statement.query_row([table], |row| row.get(0))
}

/// A sequence number for clients: 21 digits, so that the order as text is the order as numbers.
fn public_sequence_number(stored: i64) -> String {
    (SEQUENCE_NUMBER_OFFSET + i128::from(stored)).to_string()
}

/// Converts a client's sequence number to the stored form.
fn stored_sequence_number(public: &str) -> Option<i64> {
    i64::try_from(public.parse::<i128>().ok()? - SEQUENCE_NUMBER_OFFSET).ok()
}
