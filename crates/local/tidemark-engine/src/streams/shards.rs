//! The shards of a stream: the records that each holds, and the children that continue it.

use jiff::Timestamp;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior, params};

use super::history::Stream;
use super::last_sequence_number;
use crate::arn;

/// The engine's own table. A record belongs to a shard if its key's hash lies in
/// `hash_from`..=`hash_to` and its sequence number in `starts`..=`ends`.
pub(super) const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS _tidemark_shards (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    table_name TEXT NOT NULL,
    label TEXT NOT NULL,
    shard_id TEXT NOT NULL,
    parent_id TEXT,
    hash_from INTEGER NOT NULL,
    hash_to INTEGER NOT NULL,
    starts INTEGER NOT NULL,
    ends INTEGER,
    closed_at INTEGER,
    UNIQUE (table_name, label, shard_id)
)";

/// The number of partition key hashes.
const HASHES: u64 = 1 << 32;

/// How children continue an open shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardChange {
    /// One child with the same keys.
    Roll,
    /// Two children with half of the keys each.
    Split,
}

/// One shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shard {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    /// The first hash of its keys.
    pub(super) hash_from: u32,
    /// The last hash of its keys.
    pub(super) hash_to: u32,
    /// The first sequence number that it may hold, in the stored form.
    pub(super) starts: i64,
    /// The last sequence number, if the shard is closed.
    pub(super) ends: Option<i64>,
}

impl Shard {
    /// Whether it holds the records of all keys.
    pub(super) fn holds_all_keys(&self) -> bool {
        self.hash_from == 0 && self.hash_to == u32::MAX
    }

    /// Whether it holds the records of a key with this hash.
    pub(super) fn holds(&self, hash: u32) -> bool {
        (self.hash_from..=self.hash_to).contains(&hash)
    }
}

/// The hash of a partition key's value as DynamoDB JSON: FNV-1a, then mixed. Without mixing, keys
/// that differ only in the last character would lie in the same range.
pub(super) fn hash(value: &str) -> u32 {
    let fnv = value.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let mixed = (fnv ^ (fnv >> 16)).wrapping_mul(0x85eb_ca6b);
    let mixed = (mixed ^ (mixed >> 13)).wrapping_mul(0xc2b2_ae35);
    mixed ^ (mixed >> 16)
}

/// The stream's shards, oldest first. A stream without stored shards gets `initial` ones.
pub(super) fn list(connection: &mut Connection, stream: &Stream, initial: u16) -> rusqlite::Result<Vec<Shard>> {
    let shards = select(connection, stream)?;
    if !shards.is_empty() {
        return Ok(shards);
    }
    let transaction = write(connection)?;
    for index in 0..u64::from(initial) {
        let shard = Shard {
            id: new_id(stream, &index.to_string(), arn::label_us(&stream.label).unwrap_or_default() / 1_000),
            parent: None,
            hash_from: bound(HASHES * index / u64::from(initial)),
            hash_to: bound(HASHES * (index + 1) / u64::from(initial) - 1),
            // The emulator's sequence numbers start at the clock, so a stream's records lie above
            // its creation time. The records of an earlier stream of the same table lie below.
            starts: arn::label_us(&stream.label).unwrap_or_default(),
            ends: None,
        };
        insert(&transaction, stream, &shard)?;
    }
    transaction.commit()?;
    select(connection, stream)
}

/// Closes an open shard and opens its children; `None` if there is no such open shard.
pub(super) fn change(
    connection: &mut Connection,
    stream: &Stream,
    shard_id: &str,
    change: ShardChange,
) -> rusqlite::Result<Option<Vec<String>>> {
    // The write lock stops the emulator from adding a record between reading the last number and
    // closing.
    let transaction = write(connection)?;
    let open = |shard: &Shard| shard.id == shard_id && shard.ends.is_none();
    let Some(parent) = select(&transaction, stream)?.into_iter().find(open) else { return Ok(None) };
    let ends = last_sequence_number(&transaction, &stream.table)?.unwrap_or_default().max(parent.starts);
    let now = Timestamp::now();
    transaction.execute(
        "UPDATE _tidemark_shards SET ends = ?4, closed_at = ?5
         WHERE table_name = ?1 AND label = ?2 AND shard_id = ?3",
        params![stream.table, stream.label, shard_id, ends, now.as_second()],
    )?;
    let middle = parent.hash_from + (parent.hash_to - parent.hash_from) / 2;
    let ranges = match change {
        ShardChange::Split if middle < parent.hash_to => vec![(parent.hash_from, middle), (middle + 1, parent.hash_to)],
        _ => vec![(parent.hash_from, parent.hash_to)],
    };
    let mut children = Vec::with_capacity(ranges.len());
    for (hash_from, hash_to) in ranges {
        let id = new_id(stream, &format!("{shard_id}/{hash_from}"), now.as_millisecond());
        let shard = Shard { id, parent: Some(parent.id.clone()), hash_from, hash_to, starts: ends + 1, ends: None };
        insert(&transaction, stream, &shard)?;
        children.push(shard.id);
    }
    transaction.commit()?;
    Ok(Some(children))
}

/// Deletes closed shards whose last record is older than the retention, and the shards of forgotten
/// streams.
pub(super) fn trim(connection: &Connection, horizon_s: i64) -> rusqlite::Result<usize> {
    connection.execute(
        "DELETE FROM _tidemark_shards WHERE closed_at < ?1 OR NOT EXISTS (
             SELECT 1 FROM _tidemark_streams AS streams
             WHERE streams.table_name = _tidemark_shards.table_name AND streams.label = _tidemark_shards.label)",
        [horizon_s],
    )
}

/// The stream's stored shards, oldest first. A stream that is switched off has only closed shards.
pub(super) fn select(connection: &Connection, stream: &Stream) -> rusqlite::Result<Vec<Shard>> {
    let mut statement = connection.prepare_cached(
        "SELECT shard_id, parent_id, hash_from, hash_to, starts, ends FROM _tidemark_shards
         WHERE table_name = ?1 AND label = ?2 ORDER BY id",
    )?;
    let mut shards =
        statement.query_map(params![stream.table, stream.label], shard_of)?.collect::<Result<Vec<_>, _>>()?;
    for shard in &mut shards {
        shard.ends = shard.ends.or(stream.ends.map(|ends| ends.max(shard.starts)));
    }
    Ok(shards)
}

fn shard_of(row: &Row<'_>) -> rusqlite::Result<Shard> {
    Ok(Shard {
        id: row.get(0)?,
        parent: row.get(1)?,
        hash_from: row.get(2)?,
        hash_to: row.get(3)?,
        starts: row.get(4)?,
        ends: row.get(5)?,
    })
}

fn insert(transaction: &Transaction<'_>, stream: &Stream, shard: &Shard) -> rusqlite::Result<usize> {
    transaction.execute(
        "INSERT OR IGNORE INTO _tidemark_shards (table_name, label, shard_id, parent_id, hash_from, hash_to, starts)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![stream.table, stream.label, shard.id, shard.parent, shard.hash_from, shard.hash_to, shard.starts],
    )
}

fn write(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// AWS's form: the time in milliseconds with twenty digits, then eight hexadecimal digits.
fn new_id(stream: &Stream, seed: &str, time_ms: i64) -> String {
    format!("shardId-{time_ms:020}-{:08x}", hash(&format!("{}/{}/{seed}", stream.table, stream.label)))
}

fn bound(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_spread_over_the_hashes() {
        let low = (0..1_000).filter(|number| hash(&format!("{{\"S\":\"user-{number}\"}}")) < 1 << 31).count();
        assert!((400..600).contains(&low), "{low} of 1,000 in the lower half");
    }
}
