//! The strokes of a turn, in append-only chunks.
//!
//! Each is written once, one in two seconds, and compressed, so that it costs one write unit.
//! Rewriting one item at each stroke would bill all of it each time.

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::game::{GameId, TurnId, drawing};
use serde::Deserialize;

use super::gzip;
use super::keys::{GAME_TTL_S, Item, PARTITION_KEY, SORT_KEY, TTL, expires, game, key, n, s, strokes, strokes_of};
use store_base::{StoreError, Table};

/// How many chunks one query reads. An honest one has about a kilobyte.
const CHUNKS_AT_ONCE: i32 = 64;

/// The most queries for a turn: those of all its chunks, and one that finds no more.
const QUERIES_MAX: usize = drawing::CHUNKS_MAX as usize / CHUNKS_AT_ONCE as usize + 2;

/// How much JSON of a turn is read. Five minutes of fast strokes have 750 KB, and the drawing that
/// is kept has less. Without this bound, a turn of the largest chunks has 13 MB, and each request
/// that reads it costs as much as a thousand others.
const TURN_BYTES_MAX: usize = 1_000_000;

/// The most JSON of one chunk: one socket message, and a reserve.
const CHUNK_BYTES_MAX: usize = 128 * 1024;

/// Some batches of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// `seq` of the first batch.
    pub from: u32,
    /// `seq` of the last one.
    pub to: u32,
    /// The batches as JSON: `[{"seq": 1, "ops": [...]}, ...]`.
    pub batches: String,
}

impl Chunk {
    fn read(item: Item) -> Result<Self, StoreError> {
        #[derive(Deserialize)]
        struct Row {
            from: u32,
            to: u32,
        }
        let gzip = item.get("gzip").and_then(|gzip| gzip.as_b().ok());
        let gzip = gzip.ok_or_else(|| StoreError::unreadable("a chunk without batches"))?;
        let batches = gzip::unpack(gzip.as_ref(), CHUNK_BYTES_MAX)?;
        let Row { from, to } = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
        Ok(Self { from, to, batches })
    }
}

/// What became of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutChunkOutcome {
    /// It is stored.
    Stored,
    /// The number was taken: the chunk came twice.
    Held,
}

/// Keeps and reads strokes. Its requests are `PutItem` and `Query`.
#[derive(Debug, Clone)]
pub struct Strokes {
    table: Table,
}

impl Strokes {
    /// The strokes in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Stores one chunk, numbered from 1 within its turn.
    pub async fn put(
        &self,
        game_id: GameId,
        turn_id: TurnId,
        number: u16,
        chunk: &Chunk,
        now_ms: u64,
    ) -> Result<PutChunkOutcome, StoreError> {
        let mut item = key(game(game_id), strokes(turn_id, number));
        item.insert("from".to_owned(), n(chunk.from));
        item.insert("to".to_owned(), n(chunk.to));
        item.insert("gzip".to_owned(), AttributeValue::B(Blob::new(gzip::pack(&chunk.batches)?)));
        item.insert(TTL.to_owned(), n(expires(now_ms, GAME_TTL_S)));
        let put = self.table.put_item(item);
        // Stops a duplicate chunk, or a late one from an older connection, from replacing a stored
        // chunk.
        let put =
            put.condition_expression("attribute_not_exists(#key)").expression_attribute_names("#key", PARTITION_KEY);
        match put.send().await {
            Ok(_) => Ok(PutChunkOutcome::Stored),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(PutChunkOutcome::Held),
                _ => Err(error.into()),
            },
        }
    }

    /// Whether nothing of a turn is saved.
    pub async fn is_empty(&self, game_id: GameId, turn_id: TurnId) -> Result<bool, StoreError> {
        let page = self.query(game_id, turn_id).limit(1).send().await?;
        Ok(page.items.unwrap_or_default().is_empty())
    }

    /// The chunks of a turn, in order of their numbers, up to a megabyte of JSON. The rest is left
    /// out.
    pub async fn of_turn(&self, game_id: GameId, turn_id: TurnId) -> Result<Vec<Chunk>, StoreError> {
        let (mut chunks, mut bytes) = (Vec::new(), 0);
        let mut start: Option<Item> = None;
        for _ in 0..QUERIES_MAX {
            let query = self.query(game_id, turn_id).limit(CHUNKS_AT_ONCE).set_exclusive_start_key(start);
            let page = query.send().await?;
            for item in page.items.unwrap_or_default() {
                let chunk = Chunk::read(item)?;
                bytes += chunk.batches.len();
                if bytes > TURN_BYTES_MAX {
                    return Ok(chunks);
                }
                chunks.push(chunk);
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(chunks);
            }
        }
        Err(StoreError::unreadable("a turn's strokes do not end"))
    }

    fn query(&self, game_id: GameId, turn_id: TurnId) -> QueryFluentBuilder {
        self.table
            .query()
            .key_condition_expression("#pk = :pk AND begins_with(#sk, :turn)")
            .expression_attribute_names("#pk", PARTITION_KEY)
            .expression_attribute_names("#sk", SORT_KEY)
            .expression_attribute_values(":pk", s(game(game_id)))
            .expression_attribute_values(":turn", s(strokes_of(turn_id)))
    }
}
