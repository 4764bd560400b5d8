//! The streams of all tables, also those that were switched off within the retention.
//!
//! The emulator knows only the current stream of a table. Triggers on its catalogue record each
//! stream in the engine's own table, in the emulator's transaction. They also make the emulator
//! store both images of every record, so that a reader can tell a write that changes nothing; the
//! stream's own view type decides what the reader gets.

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::arn;

/// A trigger on the catalogue that records a new stream.
macro_rules! begins {
    () => {
        "BEGIN
    INSERT OR REPLACE INTO _tidemark_streams VALUES
        (NEW.table_name, NEW.stream_label, COALESCE(NEW.stream_view_type, 'NEW_AND_OLD_IMAGES'), NEW.key_schema, NULL, NULL);
    UPDATE _tables SET stream_view_type = 'NEW_AND_OLD_IMAGES' WHERE table_name = NEW.table_name;
END;
"
    };
}

/// The same for the end of a stream.
macro_rules! ends {
    () => {
        "BEGIN
    UPDATE _tidemark_streams SET ended_at = unixepoch(), ends = (
        SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) FROM _stream_records WHERE table_name = OLD.table_name)
    WHERE table_name = OLD.table_name AND ended_at IS NULL;
END;
"
    };
}

pub(super) const SCHEMA: &str = concat!(
    "CREATE TABLE IF NOT EXISTS _tidemark_streams (
    table_name TEXT NOT NULL,
    label TEXT NOT NULL,
    view_type TEXT NOT NULL,
    key_schema TEXT NOT NULL,
    ends INTEGER,
    ended_at INTEGER,
    PRIMARY KEY (table_name, label)
);
CREATE TRIGGER IF NOT EXISTS _tidemark_stream_with_table AFTER INSERT ON _tables WHEN NEW.stream_enabled = 1 ",
    begins!(),
    "CREATE TRIGGER IF NOT EXISTS _tidemark_stream_on AFTER UPDATE OF stream_label ON _tables
WHEN NEW.stream_enabled = 1 AND NEW.stream_label IS NOT OLD.stream_label ",
    begins!(),
    "CREATE TRIGGER IF NOT EXISTS _tidemark_stream_off AFTER UPDATE OF stream_enabled ON _tables
WHEN OLD.stream_enabled = 1 AND NEW.stream_enabled = 0 ",
    ends!(),
    "CREATE TRIGGER IF NOT EXISTS _tidemark_stream_without_table AFTER DELETE ON _tables WHEN OLD.stream_enabled = 1 ",
    ends!(),
    "-- The streams of a database that an earlier version created.
INSERT OR IGNORE INTO _tidemark_streams
    SELECT table_name, stream_label, COALESCE(stream_view_type, 'NEW_AND_OLD_IMAGES'), key_schema, NULL, NULL
    FROM _tables WHERE stream_enabled = 1 AND stream_label IS NOT NULL;
UPDATE _tables SET stream_view_type = 'NEW_AND_OLD_IMAGES' WHERE stream_enabled = 1;"
);

const COLUMNS: &str = "SELECT table_name, label, view_type, key_schema, ends FROM _tidemark_streams";

/// A table's stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) table: String,
    /// The emulator's label. It distinguishes this stream from other streams of the same table.
    pub(super) label: String,
    /// The label in AWS's form.
    pub(super) public_label: String,
    pub(super) view_type: String,
    /// JSON in the form of `CreateTable`.
    pub(super) key_schema: String,
    /// The last stored sequence number, if the stream is switched off.
    pub(super) ends: Option<i64>,
}

/// The table's stream, unless it is switched off.
pub(super) fn find(connection: &Connection, table: &str) -> rusqlite::Result<Option<Stream>> {
    Ok(latest(connection, table)?.filter(|stream| stream.ends.is_none()))
}

/// The table's newest stream.
pub(super) fn latest(connection: &Connection, table: &str) -> rusqlite::Result<Option<Stream>> {
    let newest = format!("{COLUMNS} WHERE table_name = ?1 ORDER BY label DESC LIMIT 1");
    connection.prepare_cached(&newest)?.query_row([table], stream_of).optional()
}

/// The table's stream with this label, in either form.
pub(super) fn with_label(connection: &Connection, table: &str, label: &str) -> rusqlite::Result<Option<Stream>> {
    let streams = of_table(connection, table)?;
    Ok(streams.into_iter().find(|stream| stream.label == label || stream.public_label == label))
}

/// The table's streams, oldest first.
pub(super) fn of_table(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Stream>> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE table_name = ?1 ORDER BY label"))?;
    statement.query_map([table], stream_of)?.collect()
}

/// All streams, by table and age.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Vec<Stream>> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} ORDER BY table_name, label"))?;
    statement.query_map([], stream_of)?.collect()
}

/// Forgets the streams that were switched off before the retention.
pub(super) fn trim(connection: &Connection, horizon_s: i64) -> rusqlite::Result<usize> {
    connection.execute("DELETE FROM _tidemark_streams WHERE ended_at < ?1", params![horizon_s])
}

fn stream_of(row: &Row<'_>) -> rusqlite::Result<Stream> {
    let label: String = row.get(1)?;
    let public_label = arn::stream_label(&label).unwrap_or_else(|| label.clone());
    Ok(Stream {
        table: row.get(0)?,
        label,
        public_label,
        view_type: row.get(2)?,
        key_schema: row.get(3)?,
        ends: row.get(4)?,
    })
}
