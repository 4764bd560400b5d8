//! Deletes expired items.
//!
//! The emulator's own sweep overlooks times with a fraction.

use dynoxide::{Database, DynoxideError};
use jiff::Timestamp;
use rusqlite::{Connection, params};
use serde_json::{Map, Value, json};

use crate::EngineError;

/// Items that are read at once.
const BATCH: usize = 500;

/// While an expired item is deleted, it is listed here. The trigger marks its stream record as the
/// service's, in the emulator's transaction.
pub(crate) const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS _tidemark_expiring (table_name TEXT NOT NULL, path TEXT NOT NULL, time TEXT NOT NULL);
DELETE FROM _tidemark_expiring;
CREATE TRIGGER IF NOT EXISTS _tidemark_expired AFTER INSERT ON _stream_records
WHEN NEW.event_name = 'REMOVE' AND EXISTS (
    SELECT 1 FROM _tidemark_expiring AS expiring
    WHERE expiring.table_name = NEW.table_name AND json_extract(NEW.old_image, expiring.path) = expiring.time) BEGIN
    UPDATE _stream_records SET user_identity = '{}' WHERE id = NEW.id;
END;";

/// A table with a time to live.
#[derive(PartialEq)]
struct ExpiringTable {
    name: String,
    attribute: String,
    key_schema: Vec<Value>,
}

/// Deletes the items of all tables that have expired at a time. Returns their number.
pub(crate) fn sweep(tables: &Database, connection: &Connection, now: Timestamp) -> Result<usize, EngineError> {
    let mut deleted = 0;
    for table in expiring_tables(connection)? {
        match sweep_table(tables, connection, &table, now) {
            Ok(items) => deleted += items,
            // The table was deleted meanwhile.
            Err(_) if !expiring_tables(connection)?.contains(&table) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(deleted)
}

fn sweep_table(
    tables: &Database,
    connection: &Connection,
    table: &ExpiringTable,
    now: Timestamp,
) -> Result<usize, EngineError> {
    let (mut deleted, mut after) = (0, 0);
    loop {
        let expired = expired(connection, table, now, after)?;
        let Some((last, _)) = expired.last() else { return Ok(deleted) };
        after = *last;
        for (_, item) in &expired {
            deleted += usize::from(delete(tables, connection, table, item)?);
        }
    }
}

fn expiring_tables(connection: &Connection) -> Result<Vec<ExpiringTable>, EngineError> {
    let mut statement = connection.prepare(
        // SQLite's paths have no escape for a quotation mark.
        "SELECT table_name, ttl_attribute, key_schema FROM _tables
         WHERE ttl_enabled = 1 AND instr(ttl_attribute, '\"') = 0",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)))?;
    let table = |row: rusqlite::Result<(String, String, String)>| {
        let (name, attribute, key_schema) = row?;
        let key_schema = serde_json::from_str(&key_schema).map_err(|error| EngineError::Database(error.to_string()))?;
        Ok(ExpiringTable { name, attribute, key_schema })
    };
    rows.map(table).collect()
}

/// An item and its row.
type StoredItem = (i64, Map<String, Value>);

/// The next expired items after a row.
fn expired(
    connection: &Connection,
    table: &ExpiringTable,
    now: Timestamp,
    after: i64,
) -> Result<Vec<StoredItem>, EngineError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT rowid, item_json FROM \"{}\"
         WHERE rowid > ?4 AND CAST(json_extract(item_json, ?1) AS REAL) < ?2 ORDER BY rowid LIMIT ?3",
        table.name.replace('"', "\"\"")
    ))?;
    let parameters = params![table.path(), now.as_second(), BATCH, after];
    let rows = statement.query_map(parameters, |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    Ok(rows.into_iter().filter_map(|(row, item)| Some((row, serde_json::from_str(&item).ok()?))).collect())
}

/// Deletes an item. Returns `false` if it got another time meanwhile.
fn delete(
    tables: &Database,
    connection: &Connection,
    table: &ExpiringTable,
    item: &Map<String, Value>,
) -> Result<bool, EngineError> {
    let time = &item[&table.attribute];
    let keys = table.key_schema.iter().filter_map(|element| element["AttributeName"].as_str());
    let request = json!({
        "TableName": table.name,
        "Key": keys.map(|name| (name.to_owned(), item[name].clone())).collect::<Map<_, _>>(),
        "ConditionExpression": "#time = :time",
        "ExpressionAttributeNames": { "#time": table.attribute },
        "ExpressionAttributeValues": { ":time": time },
    });
    let request = serde_json::from_value(request).map_err(|error| EngineError::Database(error.to_string()))?;
    let row = params![table.name, table.path(), time["N"].as_str().unwrap_or_default()];
    connection.execute("INSERT INTO _tidemark_expiring VALUES (?1, ?2, ?3)", row)?;
    let row = connection.last_insert_rowid();
    let outcome = tables.delete_item(request);
    connection.execute("DELETE FROM _tidemark_expiring WHERE rowid = ?1", [row])?;
    match outcome {
        Ok(_) => Ok(true),
        Err(DynoxideError::ConditionalCheckFailedException(..)) => Ok(false),
        Err(error) => Err(EngineError::Database(error.to_string())),
    }
}

impl ExpiringTable {
    /// Where SQLite finds the time in an item.
    fn path(&self) -> String {
        format!("$.\"{}\".N", self.attribute)
    }
}
