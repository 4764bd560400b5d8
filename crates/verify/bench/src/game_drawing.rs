//! A drawer's hand: the batches that the page makes of somebody who draws half of the time.

use fastrand::Rng;
use serde_json::{Value, json};

/// From the first change to the batch that carries it, as in the page
/// (`web/src/game/board/outgoing.ts`).
pub(crate) const BATCH_AFTER_MS: u64 = 175;

/// From the first batch to the chunk that carries it; the page's too.
const SAVE_AFTER_MS: u64 = 2_000;

/// What a pointer takes to move on, at 60 Hz. Only then is the next batch begun.
const POINTER_MS: u64 = 16;

/// A stroke begins so often...
const STROKE_EVERY_MS: u64 = 3_000;

/// ...and the pen is down for half of it.
const STROKE_MS: u64 = 1_500;

/// Points of a batch, after the page has thinned them out.
const POINTS: usize = 8;

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
        let Self { mut batches, mut saves } = Self { batches: Vec::new(), saves: Vec::new() };
        for (id, begin_ms) in (1u32..).zip((0..limit_ms).step_by(STROKE_EVERY_MS as usize)) {
            let mut change_ms = 0;
            while change_ms < STROKE_MS {
                let at_ms = begin_ms + change_ms + BATCH_AFTER_MS;
                let is_first = change_ms == 0;
                change_ms += BATCH_AFTER_MS + POINTER_MS;
                let mut stroke = json!({"op": "stroke", "id": id, "points": points(&mut rng, id)});
                if is_first {
                    (stroke["color"], stroke["width"], stroke["tool"]) = (json!(1), json!(8), json!("pen"));
                } else if change_ms >= STROKE_MS {
                    stroke["end"] = json!(true);
                }
                if saves.last().is_none_or(|(save_ms, _)| *save_ms <= at_ms) {
                    saves.push((at_ms + SAVE_AFTER_MS, 0));
                }
                batches.push((at_ms, json!([stroke])));
                if let Some((_, up_to)) = saves.last_mut() {
                    *up_to = batches.len();
                }
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
fn points(rng: &mut Rng, id: u32) -> Vec<i64> {
    let first = [i64::from(200 + id * 40 % 1_200), i64::from(150 + id * 70 % 900), 50];
    first.into_iter().chain((1..POINTS).flat_map(|_| [rng.i64(-20..20), rng.i64(-20..20), 0])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_hand_draws_half_the_time_saving_every_two_seconds() {
        let hand = Hand::new(80_000);
        assert_eq!((hand.batches.len(), hand.saves.len()), (216, 26));
        assert!(hand.batches.is_sorted_by_key(|(at_ms, _)| *at_ms));
        assert_eq!(hand.saves[..2], [(2_175, 8), (5_175, 16)]);
    }
}
