//! Random pictures of a few shapes, split into batches of the size that a person draws in one
//! batch's time.

use std::f64::consts::TAU;

use domain::game::drawing::{COLORS, Op, Pen, Tool};
use fastrand::Rng;

/// The points of a batch: about as many as a hand draws in 175 ms.
const POINTS_OF_A_BATCH: usize = 8;
/// The number of strokes of a picture.
const STROKES: std::ops::RangeInclusive<u32> = 3..=6;
const PRESSURE: i32 = 50;

/// A picture's batches, in order.
pub(crate) fn picture(rng: &mut Rng) -> Vec<Vec<Op>> {
    (1..=rng.u32(STROKES)).flat_map(|id| stroke(id, rng)).collect()
}

fn stroke(id: u32, rng: &mut Rng) -> Vec<Vec<Op>> {
    // Colour 0 is the paper's colour.
    let pen = Pen { color: rng.u8(1..COLORS), width: rng.u8(4..=24), tool: Tool::Pen };
    let points = shape(rng);
    let batches = points.chunks(POINTS_OF_A_BATCH);
    let last = batches.len() - 1;
    let ops = batches.enumerate().map(|(place, points)| {
        let pen = (place == 0).then_some(pen);
        vec![Op::Stroke { id, pen, points: flat(points), end: place == last }]
    });
    ops.collect()
}

/// A circle, a line, a wave, a zigzag or a spiral, well inside the board.
fn shape(rng: &mut Rng) -> Vec<(i32, i32)> {
    let (x, y) = (f64::from(rng.u16(450..1_150)), f64::from(rng.u16(400..800)));
    let (size, turn) = (f64::from(rng.u16(60..320)), rng.f64() * TAU);
    let along = |steps: u16, at: &dyn Fn(f64) -> (f64, f64)| {
        let points = (0..=steps).map(|step| at(f64::from(step) / f64::from(steps)));
        // All offsets are at most 400, far below the bounds of 32 bits.
        #[allow(clippy::cast_possible_truncation)]
        points.map(|(dx, dy)| ((x + dx) as i32, (y + dy) as i32)).collect::<Vec<_>>()
    };
    match rng.u8(..5) {
        0 => along(24, &|part| (size * (turn + part * TAU).cos(), size * (turn + part * TAU).sin())),
        1 => along(8, &|part| (size * (2.0 * part - 1.0) * turn.cos(), size * (2.0 * part - 1.0) * turn.sin())),
        2 => along(32, &|part| (size * (2.0 * part - 1.0), 60.0 * (turn + 3.0 * part * TAU).sin())),
        3 => along(12, &|part| (size * (2.0 * part - 1.0), if (part * 12.0) % 2.0 < 1.0 { 50.0 } else { -50.0 })),
        _ => along(40, &|part| {
            (size * part * (turn + 2.0 * part * TAU).cos(), size * part * (turn + 2.0 * part * TAU).sin())
        }),
    }
}

/// Encodes the points: the first one, then the differences.
fn flat(points: &[(i32, i32)]) -> Vec<i32> {
    let first = points.first().map(|(x, y)| [*x, *y, PRESSURE]);
    let rest = points.windows(2).map(|pair| [pair[1].0 - pair[0].0, pair[1].1 - pair[0].1, 0]);
    first.into_iter().chain(rest).flatten().collect()
}

#[cfg(test)]
mod tests {
    use domain::game::drawing::Batch;

    use super::*;

    #[test]
    fn bot_pictures_are_accepted_and_finish_each_stroke() {
        for seed in 0..500 {
            let batches = picture(&mut Rng::with_seed(seed));
            let (mut begun, mut ended) = (0, 0);
            for (seq, ops) in (1..).zip(batches) {
                for op in &ops {
                    let Op::Stroke { pen, end, .. } = op else { panic!("{op:?}") };
                    begun += u32::from(pen.is_some());
                    ended += u32::from(*end);
                }
                assert!(Batch::new(seq, ops).is_ok(), "seed {seed}");
            }
            assert!(STROKES.contains(&begun) && begun == ended, "seed {seed}");
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_picture() {
        let picture = |seed| picture(&mut Rng::with_seed(seed));
        assert_eq!(picture(3), picture(3));
        assert_ne!(picture(3), picture(4));
    }
}
