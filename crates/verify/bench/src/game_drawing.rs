//! A drawer's hand: the batches that the page makes of somebody who draws half of the time.

use fastrand::Rng;
use serde_json::{Value, json};

/// From the pen's first move after a batch to the next batch, as in the page
/// (`web/src/game/board/outgoing.ts`).
const BATCH_AFTER_MS: u64 = 750;

/// From the first batch to the chunk that carries it; the page's too.
const SAVE_AFTER_MS: u64 = 2_000;

/// What a pointer takes to move on, at 60 Hz. Only then is the next batch begun.
const POINTER_MS: u64 = 16;

/// Between two batches of a stroke.
const AFTER_MS: u64 = BATCH_AFTER_MS + POINTER_MS;

/// A stroke begins so often...
const STROKE_EVERY_MS: u64 = 3_000;

/// ...and takes these times in turn, which are half of the time.
const STROKES_MS: [u64; 3] = [500, 1_500, 2_500];

/// The page keeps a point in this time, after it has thinned them out.
const POINT_MS: u64 = 24;

/// Ten players' browsers draw alike, so one drawing does for all turns.
#[derive(Debug)]
pub(crate) struct Hand {
    /// When each batch leaves, after the drawing's begin, and its ops. `seq` is the place, from 1.
    pub(crate) batches: Vec<(u64, Value)>,
    /// When each chunk leaves, and up to which batch it has them all.
    pub(crate) saves: Vec<(u64, usize)>,
}

impl Hand {
    /// So much time of drawing.
    pub(crate) fn new(limit_ms: u64) -> Self {
        let mut rng = Rng::with_seed(1);
        let (mut batches, mut saves) = (Vec::new(), Vec::new());
        // The end of a stroke leaves with the first point of the next one, if that is sooner.
        let mut rest = None;
        let begins = (0..limit_ms).step_by(STROKE_EVERY_MS as usize);
        for ((id, begin_ms), stroke_ms) in (1u32..).zip(begins).zip(STROKES_MS.into_iter().cycle()) {
            let mut first = json!({"op": "stroke", "id": id, "points": points(&mut rng, id, 1)});
            (first["color"], first["width"], first["tool"]) = (json!(1), json!(8), json!("pen"));
            batches.push((begin_ms, rest.take().into_iter().chain([first]).collect::<Value>()));
            for (from_ms, to_ms) in (0..).map(|count| count * AFTER_MS).map(|ms| (ms, ms + AFTER_MS)) {
                let count = (to_ms.min(stroke_ms) - from_ms).div_ceil(POINT_MS);
                let mut stroke = json!({"op": "stroke", "id": id, "points": points(&mut rng, id, count)});
                if to_ms < stroke_ms {
                    batches.push((begin_ms + to_ms, json!([stroke])));
                    continue;
                }
                stroke["end"] = json!(true);
                if to_ms < STROKE_EVERY_MS {
                    batches.push((begin_ms + to_ms, json!([stroke])));
                } else {
                    rest = Some(stroke);
                }
                break;
            }
        }
        for (place, (at_ms, _)) in batches.iter().enumerate() {
            if saves.last().is_none_or(|(save_ms, _)| save_ms <= at_ms) {
                saves.push((at_ms + SAVE_AFTER_MS, 0));
            }
            if let Some((_, up_to)) = saves.last_mut() {
                *up_to = place + 1;
            }
        }
        batches.retain(|(at_ms, _)| *at_ms < limit_ms);
        saves.retain(|(at_ms, _)| *at_ms < limit_ms);
        Self { batches, saves }
    }

    /// The batches of these places, as a chunk has them.
    pub(crate) fn chunk(&self, places: std::ops::Range<usize>) -> Vec<Value> {
        places.map(|place| json!({"seq": place + 1, "ops": self.batches[place].1})).collect()
    }
}

/// A place on the board, and where the pen went from there.
fn points(rng: &mut Rng, id: u32, count: u64) -> Vec<i64> {
    let first = [i64::from(200 + id * 40 % 1_200), i64::from(150 + id * 70 % 900), 50];
    first.into_iter().chain((1..count).flat_map(|_| [rng.i64(-20..20), rng.i64(-20..20), 0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_hand_draws_half_the_time_saving_every_two_seconds() {
        let hand = Hand::new(80_000);
        assert_eq!((hand.batches.len(), hand.saves.len()), (80, 26));
        assert!(hand.batches.is_sorted_by_key(|(at_ms, _)| *at_ms));
        assert_eq!(hand.saves[..2], [(2_000, 2), (5_000, 5)]);
    }
}
