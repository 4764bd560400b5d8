//! Reads a shard: one page of records in the format of `GetRecords`.

use rusqlite::{Connection, Row, params};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::history::Stream;
use super::shards::{self, Shard};
use super::{horizon_s, public_sequence_number};

/// Maximum size of one reply of `GetRecords`, bytes: AWS's limit.
const PAGE_SIZE_BYTES_MAX: usize = 1024 * 1024;

/// Rows read for one reply. A shard with few keys may match none of them; the next call continues
/// after them.
const SCANNED_MAX: usize = 10_000;

/// A page of a shard.
#[derive(Debug)]
pub(super) struct Page {
    /// The records, ready for the reply.
    pub(super) records: Vec<Record>,
    /// The last sequence number that was read, in the stored form.
    pub(super) position: i64,
    /// Whether the page reached the end of the shard's records.
    pub(super) at_end: bool,
}

/// A record in the format of the Streams API.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    #[serde(rename = "eventID")]
    event_id: String,
    event_name: String,
    event_version: &'static str,
    event_source: &'static str,
    aws_region: String,
    dynamodb: Change,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_identity: Option<UserIdentity>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Change {
    /// Epoch seconds.
    approximate_creation_date_time: i64,
    keys: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_image: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_image: Option<Box<RawValue>>,
    sequence_number: String,
    /// The length of keys and images as DynamoDB JSON, slightly more than AWS counts.
    size_bytes: usize,
    stream_view_type: String,
}

/// The service that deleted an expired item. Other deletes carry no identity.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct UserIdentity {
    #[serde(rename = "Type")]
    kind: &'static str,
    principal_id: &'static str,
}

const TIME_TO_LIVE: UserIdentity = UserIdentity { kind: "Service", principal_id: "dynamodb.amazonaws.com" };

/// A row of the emulator's stream table.
struct Stored {
    event_name: String,
    keys: String,
    new_image: Option<String>,
    old_image: Option<String>,
    sequence_number: i64,
    created_at_s: i64,
    user_identity: Option<String>,
    event_id: Option<String>,
}

/// Up to `limit` records of `shard` after the sequence number `position`.
pub(super) fn read(
    connection: &Connection,
    stream: &Stream,
    shard: &Shard,
    position: i64,
    limit: usize,
    region: &str,
) -> Result<Page, PageError> {
    let mut statement = connection.prepare_cached(
        "SELECT event_name, keys_json, new_image, old_image, CAST(sequence_number AS INTEGER), created_at,
                user_identity, event_id
         FROM _stream_records
         WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > ?2
           AND CAST(sequence_number AS INTEGER) <= ?3 AND created_at >= ?4
         ORDER BY CAST(sequence_number AS INTEGER) LIMIT ?5",
    )?;
    let after = position.max(shard.starts - 1);
    let ends = shard.ends.unwrap_or(i64::MAX);
    let mut rows = statement.query(params![stream.table, after, ends, horizon_s(), SCANNED_MAX])?;
    let partition_key = partition_key(&stream.key_schema)?;
    let mut page = Page { records: Vec::new(), position: after, at_end: false };
    let (mut scanned, mut size_bytes) = (0, 0);
    while let Some(row) = rows.next()? {
        if page.records.len() == limit {
            return Ok(page);
        }
        scanned += 1;
        let stored = stored_of(row)?;
        let sequence_number = stored.sequence_number;
        if holds(shard, &stored.keys, &partition_key)? && !leaves_item_unchanged(&stored)? {
            let record = record_of(stored, stream, region)?;
            size_bytes += record.dynamodb.size_bytes;
            if size_bytes > PAGE_SIZE_BYTES_MAX && !page.records.is_empty() {
                return Ok(page);
            }
            page.records.push(record);
        }
        page.position = sequence_number;
    }
    page.at_end = scanned < SCANNED_MAX;
    Ok(page)
}

/// The newest of the shard's records after `position` that are older than the horizon; `None` if
/// there is none. They may be hidden or not deleted yet.
pub(super) fn newest_old(
    connection: &Connection,
    stream: &Stream,
    shard: &Shard,
    position: i64,
    horizon_s: i64,
) -> Result<Option<i64>, PageError> {
    let mut statement = connection.prepare_cached(
        "SELECT CAST(sequence_number AS INTEGER), keys_json, created_at FROM _stream_records
         WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > ?2 AND CAST(sequence_number AS INTEGER) <= ?3
         ORDER BY CAST(sequence_number AS INTEGER)",
    )?;
    let (after, ends) = (position.max(shard.starts - 1), shard.ends.unwrap_or(i64::MAX));
    let partition_key = partition_key(&stream.key_schema)?;
    let mut rows = statement.query(params![stream.table, after, ends])?;
    let mut newest = None;
    while let Some(row) = rows.next()? {
        // Usually not even the first record is that old.
        if row.get::<_, i64>(2)? >= horizon_s {
            break;
        }
        if holds(shard, row.get_ref(1)?.as_str().unwrap_or_default(), &partition_key)? {
            newest = Some(row.get(0)?);
        }
    }
    Ok(newest)
}

/// Why records could not be read: SQLite failed, or the emulator stored invalid JSON.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

fn partition_key(key_schema: &str) -> Result<String, serde_json::Error> {
    let elements: Vec<Value> = serde_json::from_str(key_schema)?;
    let hash = elements.iter().find(|element| element["KeyType"] == "HASH");
    Ok(hash.and_then(|element| element["AttributeName"].as_str()).unwrap_or_default().to_owned())
}

/// Whether a shard holds the records of an item with these keys.
fn holds(shard: &Shard, keys: &str, partition_key: &str) -> Result<bool, serde_json::Error> {
    if shard.holds_all_keys() {
        return Ok(true);
    }
    let keys: Value = serde_json::from_str(keys)?;
    Ok(shard.holds(shards::hash(&keys[partition_key].to_string())))
}

/// Whether a write left its item unchanged. AWS emits no record for it.
fn leaves_item_unchanged(stored: &Stored) -> Result<bool, serde_json::Error> {
    let (Some(new), Some(old)) = (&stored.new_image, &stored.old_image) else { return Ok(false) };
    // The emulator writes attributes in any order: equal items may differ as text, but not in
    // length.
    if new.len() != old.len() {
        return Ok(false);
    }
    Ok(same(&serde_json::from_str(new)?, &serde_json::from_str(old)?))
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, value)| {
                    right.get(name).is_some_and(|other| match name.as_str() {
                        "SS" | "NS" | "BS" => same_set(value, other),
                        _ => same(value, other),
                    })
                })
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        _ => left == right,
    }
}

/// Compares sets without order. An attribute named `SS` holds an object, not an array.
fn same_set(left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else { return same(left, right) };
    left.len() == right.len() && left.iter().all(|member| right.contains(member))
}

fn record_of(mut stored: Stored, stream: &Stream, region: &str) -> Result<Record, serde_json::Error> {
    // The emulator stores both images, whatever the stream's view type is.
    if matches!(stream.view_type.as_str(), "OLD_IMAGE" | "KEYS_ONLY") {
        stored.new_image = None;
    }
    if matches!(stream.view_type.as_str(), "NEW_IMAGE" | "KEYS_ONLY") {
        stored.old_image = None;
    }
    let length = |image: &Option<String>| image.as_ref().map_or(0, String::len);
    let size_bytes = stored.keys.len() + length(&stored.new_image) + length(&stored.old_image);
    let sequence_number = public_sequence_number(stored.sequence_number);
    Ok(Record {
        event_id: stored.event_id.unwrap_or_else(|| sequence_number.clone()),
        event_name: stored.event_name,
        event_version: "1.1",
        event_source: "aws:dynamodb",
        aws_region: region.to_owned(),
        dynamodb: Change {
            approximate_creation_date_time: stored.created_at_s,
            keys: RawValue::from_string(stored.keys)?,
            new_image: stored.new_image.map(RawValue::from_string).transpose()?,
            old_image: stored.old_image.map(RawValue::from_string).transpose()?,
            sequence_number,
            size_bytes,
            stream_view_type: stream.view_type.clone(),
        },
        user_identity: stored.user_identity.map(|_| TIME_TO_LIVE),
    })
}

fn stored_of(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        event_name: row.get(0)?,
        keys: row.get(1)?,
        new_image: row.get(2)?,
        old_image: row.get(3)?,
        sequence_number: row.get(4)?,
        created_at_s: row.get(5)?,
        user_identity: row.get(6)?,
        event_id: row.get(7)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_with_the_same_sets_in_another_order_are_equal() {
        let left = json!({ "SS": { "S": "an attribute called SS" }, "tags": { "SS": ["a", "b"] }, "n": { "N": "1" } });
        let right = json!({ "n": { "N": "1" }, "tags": { "SS": ["b", "a"] }, "SS": { "S": "an attribute called SS" } });
        assert!(same(&left, &right));
    }

    #[test]
    fn items_differ_by_a_value_or_a_list_order() {
        assert!(!same(&json!({ "n": { "N": "1" } }), &json!({ "n": { "N": "2" } })));
        let list = |items: Value| json!({ "l": { "L": items } });
        assert!(!same(&list(json!([{ "S": "a" }, { "S": "b" }])), &list(json!([{ "S": "b" }, { "S": "a" }]))));
    }
}
