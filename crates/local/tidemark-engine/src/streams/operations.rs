//! The four operations of the Streams API.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::Connection;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Streams;
use super::history::{self, Stream};
use super::records::{self, PageError, Record};
use super::shards::{self, Shard};
use super::{
    horizon_s, last_sequence_number, public_sequence_number, readable_after, stored_sequence_number, trimmed_to,
};
use crate::api::ApiError;
use crate::arn;

/// Records in one reply of `GetRecords`: AWS's maximum and default.
const RECORDS_MAX: usize = 1_000;

/// Shards or streams in one reply of `DescribeStream` or `ListStreams`: AWS's maximum and default.
const LISTED_MAX: usize = 100;

/// The shortest id of a shard that AWS accepts.
const SHARD_ID_LENGTH_MIN: usize = 28;

/// An operation of the Streams API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// `ListStreams`.
    ListStreams,
    /// `DescribeStream`.
    DescribeStream,
    /// `GetShardIterator`.
    GetShardIterator,
    /// `GetRecords`.
    GetRecords,
}

impl Operation {
    /// The operation with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ListStreams" => Self::ListStreams,
            "DescribeStream" => Self::DescribeStream,
            "GetShardIterator" => Self::GetShardIterator,
            "GetRecords" => Self::GetRecords,
            _ => return None,
        })
    }
}

/// Answers a request; `region` is the caller's. Blocks on SQLite.
pub(crate) fn answer(streams: &Streams, operation: Operation, body: &[u8], region: &str) -> Result<String, ApiError> {
    let mut connection = streams.lock();
    let connection = &mut *connection;
    match operation {
        Operation::ListStreams => json_of(&list_streams(connection, &parse(body)?, region)?),
        Operation::DescribeStream => json_of(&describe(connection, streams.initial_shards, &parse(body)?, region)?),
        Operation::GetShardIterator => json_of(&shard_iterator(connection, streams.initial_shards, &parse(body)?)?),
        Operation::GetRecords => json_of(&records(connection, streams.initial_shards, &parse(body)?, region)?),
    }
}

/// Table and public label of a shard iterator's stream.
pub(crate) fn stream_of_iterator(shard_iterator: &str) -> Option<(String, String)> {
    let iterator = ShardIterator::decode(shard_iterator)?;
    Some((iterator.table, arn::stream_label(&iterator.label)?))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListStreams {
    table_name: Option<String>,
    exclusive_start_stream_arn: Option<String>,
    limit: Option<usize>,
}

fn list_streams(connection: &Connection, request: &ListStreams, region: &str) -> Result<Value, ApiError> {
    let arn_of = |stream: &Stream| arn::stream(region, &stream.table, &stream.public_label);
    let mut streams = history::all(connection)?;
    if let Some(table) = request.table_name.as_deref().map(arn::table_name) {
        streams.retain(|stream| stream.table == table);
    }
    if let Some(start) = &request.exclusive_start_stream_arn {
        let start = arn::parse_stream(start).ok_or_else(|| no_stream(start))?;
        streams.retain(|stream| (stream.table.as_str(), stream.public_label.as_str()) > start);
    }
    let limit = limit(request.limit, LISTED_MAX)?;
    let last = (streams.len() > limit).then(|| arn_of(&streams[limit - 1]));
    let page: Vec<Value> = streams
        .iter()
        .take(limit)
        .map(|stream| {
            json!({ "StreamArn": arn_of(stream), "TableName": stream.table, "StreamLabel": stream.public_label })
        })
        .collect();
    let mut answer = json!({ "Streams": page });
    if let Some(last) = last {
        answer["LastEvaluatedStreamArn"] = last.into();
    }
    Ok(answer)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DescribeStream {
    stream_arn: String,
    exclusive_start_shard_id: Option<String>,
    limit: Option<usize>,
    shard_filter: Option<ShardFilter>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ShardFilter {
    r#type: String,
    shard_id: String,
}

fn describe(
    connection: &mut Connection,
    initial_shards: u16,
    request: &DescribeStream,
    region: &str,
) -> Result<Value, ApiError> {
    let stream = stream_of(connection, &request.stream_arn)?;
    let mut shards = shards::list(connection, &stream, initial_shards)?;
    if let Some(filter) = &request.shard_filter {
        if filter.r#type != "CHILD_SHARDS" {
            return Err(ApiError::validation("ShardFilter Type must be CHILD_SHARDS"));
        }
        shards.retain(|shard| shard.parent.as_deref() == Some(&filter.shard_id));
    }
    if let Some(start) = &request.exclusive_start_shard_id {
        let index = shards.iter().position(|shard| shard.id == *start).ok_or_else(|| no_shard(start))?;
        shards.drain(..=index);
    }
    let limit = limit(request.limit, LISTED_MAX)?;
    let last = (shards.len() > limit).then(|| shards[limit - 1].id.clone());
    shards.truncate(limit);
    let described = shards.iter().map(|shard| {
        let oldest = readable_after(connection, &stream, shard)? + 1;
        Ok(describe_shard(shard, oldest))
    });
    let described = described.collect::<Result<Vec<_>, PageError>>()?;
    let created_at_s = arn::label_us(&stream.label).unwrap_or_default() / 1_000_000;
    let mut description = json!({
        "StreamArn": arn::stream(region, &stream.table, &stream.public_label),
        "StreamLabel": stream.public_label,
        "StreamStatus": if stream.ends.is_none() { "ENABLED" } else { "DISABLED" },
        "StreamViewType": stream.view_type,
        "TableName": stream.table,
        "CreationRequestDateTime": created_at_s,
        "KeySchema": serde_json::from_str::<Value>(&stream.key_schema).map_err(ApiError::internal)?,
        "Shards": described,
    });
    if let Some(last) = last {
        description["LastEvaluatedShardId"] = last.into();
    }
    Ok(json!({ "StreamDescription": description }))
}

/// Describes a shard. Its range begins with the oldest record that can be read, so that a reader
/// who begins there has lost nothing.
fn describe_shard(shard: &Shard, oldest: i64) -> Value {
    let starts = shard.starts.max(oldest).min(shard.ends.unwrap_or(i64::MAX));
    let mut range = json!({ "StartingSequenceNumber": public_sequence_number(starts) });
    // An open shard has no ending number; readers recognize a closed shard by it.
    if let Some(ends) = shard.ends {
        range["EndingSequenceNumber"] = public_sequence_number(ends).into();
    }
    let mut description = json!({ "ShardId": shard.id, "SequenceNumberRange": range });
    if let Some(parent) = &shard.parent {
        description["ParentShardId"] = parent.as_str().into();
    }
    description
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetShardIterator {
    stream_arn: String,
    shard_id: String,
    shard_iterator_type: String,
    sequence_number: Option<String>,
}

/// The content of a shard iterator; opaque to clients.
#[derive(Serialize, Deserialize)]
struct ShardIterator {
    table: String,
    label: String,
    shard_id: String,
    /// The last sequence number that was read, in the stored form.
    position: i64,
}

impl ShardIterator {
    fn encode(&self) -> Result<String, ApiError> {
        serde_json::to_vec(self).map(|json| STANDARD.encode(json)).map_err(ApiError::internal)
    }

    fn decode(text: &str) -> Option<Self> {
        serde_json::from_slice(&STANDARD.decode(text).ok()?).ok()
    }
}

fn shard_iterator(
    connection: &mut Connection,
    initial_shards: u16,
    request: &GetShardIterator,
) -> Result<Value, ApiError> {
    let stream = stream_of(connection, &request.stream_arn)?;
    let shard = shard_of(connection, initial_shards, &stream, &request.shard_id)?;
    let position = match (request.shard_iterator_type.as_str(), request.sequence_number.as_deref()) {
        ("TRIM_HORIZON", None) => readable_after(connection, &stream, &shard)?.max(shard.starts - 1),
        ("LATEST", None) => last_sequence_number(connection, &stream.table)?.unwrap_or(shard.starts - 1),
        ("AT_SEQUENCE_NUMBER", Some(number)) => position_in(&shard, number)? - 1,
        ("AFTER_SEQUENCE_NUMBER", Some(number)) => position_in(&shard, number)?,
        ("TRIM_HORIZON" | "LATEST", Some(_)) => {
            return Err(ApiError::validation("SequenceNumber should not be passed for this iterator type"));
        }
        ("AT_SEQUENCE_NUMBER" | "AFTER_SEQUENCE_NUMBER", None) => {
            return Err(ApiError::validation("SequenceNumber cannot be null for this iterator type"));
        }
        (other, _) => return Err(ApiError::validation(format!("Invalid ShardIteratorType: {other}"))),
    };
    refuse_trimmed(connection, &stream, &shard, position)?;
    let iterator = ShardIterator { table: stream.table, label: stream.label, shard_id: shard.id, position };
    Ok(json!({ "ShardIterator": iterator.encode()? }))
}

/// The stored form of a client's sequence number, if it lies in the shard.
fn position_in(shard: &Shard, number: &str) -> Result<i64, ApiError> {
    stored_sequence_number(number)
        .filter(|stored| (shard.starts - 1..=shard.ends.unwrap_or(i64::MAX)).contains(stored))
        .ok_or_else(|| ApiError::validation("Invalid SequenceNumber for the shard"))
}

/// Refuses a position that has lost records. A position without lost records stays valid, however
/// old it is: the stack may have been off.
fn refuse_trimmed(connection: &Connection, stream: &Stream, shard: &Shard, position: i64) -> Result<(), ApiError> {
    let is_trimmed = position < trimmed_to(connection, stream, shard)?;
    // A reader who is up to date has no old record behind its position.
    if is_trimmed || records::newest_old(connection, stream, shard, position, horizon_s())?.is_some() {
        let message = "The operation attempted to read past the oldest stream record in a shard.";
        return Err(ApiError::new("TrimmedDataAccessException", message));
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GetRecords {
    shard_iterator: String,
    limit: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Records {
    records: Vec<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_shard_iterator: Option<String>,
}

fn records(
    connection: &mut Connection,
    initial_shards: u16,
    request: &GetRecords,
    region: &str,
) -> Result<Records, ApiError> {
    let invalid = || ApiError::validation("Invalid ShardIterator");
    let mut iterator = ShardIterator::decode(&request.shard_iterator).ok_or_else(invalid)?;
    let stream = history::with_label(connection, &iterator.table, &iterator.label)?;
    let stream = stream.ok_or_else(|| no_stream(&iterator.table))?;
    let shard = shard_of(connection, initial_shards, &stream, &iterator.shard_id)?;
    let limit = limit(request.limit, RECORDS_MAX)?;
    refuse_trimmed(connection, &stream, &shard, iterator.position)?;
    let page = records::read(connection, &stream, &shard, iterator.position, limit, region)?;
    iterator.position = page.position;
    // At the end of a closed shard there is no next iterator; the reader continues with the
    // children.
    let ended = page.at_end && shard.ends.is_some();
    let next_shard_iterator = if ended { None } else { Some(iterator.encode()?) };
    Ok(Records { records: page.records, next_shard_iterator })
}

fn stream_of(connection: &Connection, arn: &str) -> Result<Stream, ApiError> {
    let invalid = || ApiError::validation(format!("Invalid StreamArn: {arn}"));
    let (table, label) = arn::parse_stream(arn).ok_or_else(invalid)?;
    history::with_label(connection, table, label)?.ok_or_else(|| no_stream(arn))
}

fn shard_of(connection: &mut Connection, initial: u16, stream: &Stream, id: &str) -> Result<Shard, ApiError> {
    if id.len() < SHARD_ID_LENGTH_MIN {
        return Err(ApiError::validation(format!(
            "1 validation error detected: Value '{id}' at 'shardId' failed to satisfy constraint: Member must have \
             length greater than or equal to {SHARD_ID_LENGTH_MIN}"
        )));
    }
    let shards = shards::list(connection, stream, initial)?;
    shards.into_iter().find(|shard| shard.id == id).ok_or_else(|| no_shard(id))
}

fn limit(asked: Option<usize>, max: usize) -> Result<usize, ApiError> {
    let limit = asked.unwrap_or(max);
    if (1..=max).contains(&limit) { Ok(limit) } else { Err(ApiError::validation(format!("Limit must be 1 to {max}"))) }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        let error = error.to_string();
        let Some((member, _)) = error.strip_prefix("missing field `").and_then(|rest| rest.split_once('`')) else {
            return ApiError::new("SerializationException", error);
        };
        let member = format!("{}{}", member[..1].to_ascii_lowercase(), &member[1..]);
        ApiError::validation(format!(
            "1 validation error detected: Value null at '{member}' failed to satisfy constraint: Member must not be null"
        ))
    })
}

fn json_of(answer: &impl Serialize) -> Result<String, ApiError> {
    serde_json::to_string(answer).map_err(ApiError::internal)
}

fn no_stream(arn: &str) -> ApiError {
    ApiError::not_found(format_args!("Stream: {arn} not found"))
}

fn no_shard(id: &str) -> ApiError {
    ApiError::not_found(format_args!("Shard: {id} not found"))
}

impl From<rusqlite::Error> for ApiError {
    fn from(error: rusqlite::Error) -> Self {
        Self::internal(error)
    }
}

impl From<PageError> for ApiError {
    fn from(error: PageError) -> Self {
        Self::internal(error)
    }
}
