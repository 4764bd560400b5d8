//! Finished drawings: all batches of a turn in one item, compressed.
//!
//! While a turn lasts its strokes lie in chunks ([`super::Strokes`]). A replay reads one item
//! instead of eighty, and the chunks may expire.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::game::{GameId, TurnId};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::gzip;
use super::keys::{ARCHIVE_TTL_S, TTL, drawing, expires, game, key, n};
use super::strokes::Chunk;
use store_base::{StoreError, Table};

/// The largest drawing, compressed: 100 KB once it is base64, as the design has it.
pub const DRAWING_BYTES_MAX: usize = 100 * 1_000 / 4 * 3;

/// The largest drawing as JSON; it has to pass through
/// [one answer of Lambda](https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const JSON_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A drawing that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    gzip: Vec<u8>,
    batches: usize,
    dropped: usize,
}

#[derive(Deserialize)]
struct Seq {
    seq: u32,
}

impl Drawing {
    /// Joins chunks: batches in order, each once. The same chunks always give the same bytes.
    /// Batches beyond the size limit are dropped from the end.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when a chunk is not a list of batches.
    pub fn of(chunks: &[Chunk]) -> Result<Self, StoreError> {
        let mut batches = BTreeMap::new();
        for chunk in chunks {
            let raw: Vec<&RawValue> = serde_json::from_str(&chunk.batches).map_err(StoreError::unreadable)?;
            for batch in raw {
                let Seq { seq } = serde_json::from_str(batch.get()).map_err(StoreError::unreadable)?;
                batches.entry(seq).or_insert(batch.get());
            }
        }
        let batches: Vec<_> = batches.into_values().collect();
        let (mut fits, mut too_many) = (0, batches.len() + 1);
        let mut count = batches.len();
        let mut best = pack(&[])?;
        // The first try nearly always fits. Otherwise it halves the number of batches each time.
        while fits + 1 < too_many {
            match pack(&batches[..count])? {
                gzip if gzip.len() <= DRAWING_BYTES_MAX && json_bytes(&batches[..count]) <= JSON_BYTES_MAX => {
                    (fits, best) = (count, gzip);
                }
                _ => too_many = count,
            }
            count = fits.midpoint(too_many);
        }
        Ok(Self { gzip: best, batches: fits, dropped: batches.len() - fits })
    }

    /// Its batches as JSON: `[{"seq": 1, "ops": [...]}, ...]`.
    ///
    /// # Errors
    /// No known input fails: a packed drawing can be unpacked.
    pub fn json(&self) -> Result<Box<RawValue>, StoreError> {
        unpack(&self.gzip)
    }

    /// How many batches it has.
    pub fn batches(&self) -> usize {
        self.batches
    }

    /// How many were left out.
    pub fn dropped(&self) -> usize {
        self.dropped
    }
}

fn json_bytes(batches: &[&str]) -> usize {
    batches.iter().map(|batch| batch.len() + 1).sum::<usize>() + 1
}

fn pack(batches: &[&str]) -> Result<Vec<u8>, StoreError> {
    gzip::pack(&format!("[{}]", batches.join(",")))
}

fn unpack(gzip: &[u8]) -> Result<Box<RawValue>, StoreError> {
    RawValue::from_string(gzip::unpack(gzip, JSON_BYTES_MAX)?).map_err(StoreError::unreadable)
}

/// Keeps and reads drawings. Its requests are `PutItem` and `GetItem`.
#[derive(Debug, Clone)]
pub struct Drawings {
    table: Table,
}

impl Drawings {
    /// The drawings in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Keeps the drawing of a turn that ended at some time. The same one again changes nothing.
    pub async fn put(
        &self,
        game_id: GameId,
        turn_id: TurnId,
        kept: &Drawing,
        ended_at_ms: u64,
    ) -> Result<(), StoreError> {
        let mut item = key(game(game_id), drawing(turn_id));
        item.insert("data".to_owned(), AttributeValue::B(Blob::new(kept.gzip.clone())));
        item.insert("batches".to_owned(), n(kept.batches));
        item.insert(TTL.to_owned(), n(expires(ended_at_ms, ARCHIVE_TTL_S)));
        self.table.put_item(item).send().await?;
        Ok(())
    }

    /// A drawing's batches as JSON, `[{"seq": 1, "ops": [...]}, ...]`; `None` when it is not kept
    /// (yet, or any more).
    pub async fn get(&self, game_id: GameId, turn_id: TurnId) -> Result<Option<Box<RawValue>>, StoreError> {
        let key = key(game(game_id), drawing(turn_id));
        let item = self.table.get_item(key).send().await?.item;
        let Some(item) = item else { return Ok(None) };
        let data = item.get("data").and_then(|data| data.as_b().ok());
        let data = data.ok_or_else(|| StoreError::unreadable("a drawing without data"))?;
        unpack(data.as_ref()).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(batches: &str) -> Chunk {
        Chunk { from: 1, to: 1, batches: batches.to_owned() }
    }

    fn unpacked(drawing: &Drawing) -> String {
        drawing.json().expect("a drawing").get().to_owned()
    }

    #[test]
    fn a_drawing_has_each_batch_once_and_in_order() {
        let chunks = [
            chunk(r#"[{"seq":3,"ops":[]},{"seq":4,"ops":[{"clear":1}]}]"#),
            chunk(r#"[{"seq":1,"ops":[]}, {"seq":3,"ops":["another"]}]"#),
        ];
        let drawing = Drawing::of(&chunks).expect("a drawing");
        assert_eq!(unpacked(&drawing), r#"[{"seq":1,"ops":[]},{"seq":3,"ops":[]},{"seq":4,"ops":[{"clear":1}]}]"#);
        assert_eq!((drawing.batches(), drawing.dropped()), (3, 0));
        assert_eq!(Drawing::of(&chunks).expect("a drawing"), drawing, "the same chunks make the same bytes");
    }

    #[test]
    fn nothing_drawn_is_a_drawing_too() {
        assert_eq!(unpacked(&Drawing::of(&[]).expect("a drawing")), "[]");
    }

    #[test]
    fn a_drawing_that_is_too_large_loses_its_end() {
        // Noise does not compress: 200 KB of it are more than the limit.
        let mut state = 7_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            format!("{:016x}", state ^ (state >> 29))
        };
        let text = |seq: u32, noise: String| format!(r#"{{"seq":{seq},"ops":["{noise}"]}}"#);
        let batches: Vec<_> = (1..=200).map(|seq| text(seq, (0..64).map(|_| noise()).collect())).collect();
        let drawing = Drawing::of(&[chunk(&format!("[{}]", batches.join(",")))]).expect("a drawing");
        assert!(drawing.gzip.len() <= DRAWING_BYTES_MAX && drawing.gzip.len() > DRAWING_BYTES_MAX * 9 / 10);
        assert_eq!(drawing.batches() + drawing.dropped(), 200);
        assert_eq!(unpacked(&drawing), format!("[{}]", batches[..drawing.batches()].join(",")));

        // What compresses well still has to fit an answer.
        let batches: Vec<_> = (1..=100).map(|seq| text(seq, "0".repeat(100_000))).collect();
        let drawing = Drawing::of(&[chunk(&format!("[{}]", batches.join(",")))]).expect("a drawing");
        assert_eq!(drawing.batches(), JSON_BYTES_MAX / 100_030);
    }

    #[test]
    fn a_chunk_that_is_no_list_of_batches_is_unreadable() {
        for batches in ["", "{}", "[1]", r#"[{"ops":[]}]"#] {
            assert!(matches!(Drawing::of(&[chunk(batches)]), Err(StoreError::Unreadable(_))), "{batches}");
        }
    }
}
