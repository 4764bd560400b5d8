//! The drawing of a turn, and the checks of its batches.
//!
//! The board has 1600 by 1200 units on every screen. The server checks each batch before it relays
//! it; it never renders a drawing.

use std::ops::RangeInclusive;

/// The number of colours of the palette.
pub const COLORS: u8 = 24;
/// The widths of a stroke, in units.
pub const WIDTHS: RangeInclusive<u8> = 2..=80;
/// The allowed x coordinates: at most 200 units outside the board.
pub const X: RangeInclusive<i64> = -200..=1_800;
/// The allowed y coordinates: at most 200 units outside the board.
pub const Y: RangeInclusive<i64> = -200..=1_400;
/// The maximum number of operations of a batch.
pub const OPS_MAX: usize = 64;
/// The maximum number of points of a batch.
pub const POINTS_MAX: usize = 400;
/// The maximum number of batches of a saved chunk, which the page sends about every two seconds.
pub const CHUNK_BATCHES_MAX: usize = 16;
/// The maximum number of saved chunks of a turn: one a second for the longest turn and its reveal,
/// with a reserve.
pub const CHUNKS_MAX: u16 = 400;
/// The highest batch number: one batch every 100 ms for the longest turn.
pub const SEQ_MAX: u32 = 3_000;

/// A part of a drawing that the drawer's page sends at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    seq: u32,
    ops: Vec<Op>,
}

/// An operation on the board. The drawer's page numbers the operations of a turn with an increasing
/// `id` from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Draws a stroke or a part of it.
    Stroke {
        /// The stroke's id.
        id: u32,
        /// The pen; present when the stroke begins, `None` when it continues.
        pen: Option<Pen>,
        /// x, y and pressure (0 to 100) of the first point; then, for each point, the differences
        /// to the previous point.
        points: Vec<i32>,
        /// Whether the stroke ends here. Only an ending, continued stroke may have no points.
        end: bool,
    },
    /// Fills the area of one colour around a point.
    Fill {
        /// The fill's id.
        id: u32,
        /// The colour's index in the palette.
        color: u8,
        /// x and y of the point.
        at: [i32; 2],
    },
    /// Clears the board.
    Clear {
        /// The operation's id.
        id: u32,
    },
    /// Undoes a stroke, a fill or a clear.
    Undo {
        /// The id of that operation.
        id: u32,
    },
    /// Redoes an operation that was undone.
    Redo {
        /// The id of that operation.
        id: u32,
    },
}

/// The properties of a stroke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pen {
    /// The colour's index in the palette.
    pub color: u8,
    /// The width in units.
    pub width: u8,
    /// Pen or eraser.
    pub tool: Tool,
}

/// The tool of a stroke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Draws with the colour.
    Pen,
    /// Erases.
    Eraser,
}

/// Why a batch or a chunk is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DrawingError {
    /// A batch without a number from 1 to [`SEQ_MAX`].
    #[error("seq must be a number from 1 to {SEQ_MAX}")]
    Seq,
    /// No operation, or too many of them.
    #[error("a batch must have 1 to {OPS_MAX} ops")]
    Ops,
    /// More points than [`POINTS_MAX`].
    #[error("a batch must have at most {POINTS_MAX} points")]
    TooManyPoints,
    /// An operation with the id 0.
    #[error("an id must be a number from 1")]
    Id,
    /// The count of numbers is no multiple of three, or a stroke without a point that must have
    /// one.
    #[error("points must be three numbers each, and there must be one unless the stroke ends")]
    Points,
    /// A point more than 200 units outside the board, or a pressure outside 0 to 100.
    #[error("a point must lie at most 200 units outside the board, with a pressure from 0 to 100")]
    OffBoard,
    /// A colour or width out of range.
    #[error("a color must be below {COLORS}, a width from 2 to 80")]
    Pen,
    /// A chunk without a number from 1 to [`CHUNKS_MAX`].
    #[error("chunk must be a number from 1 to {CHUNKS_MAX}")]
    Chunk,
    /// No batch, too many batches, or numbers with a gap.
    #[error("a chunk must have 1 to {CHUNK_BATCHES_MAX} batches, one after the other")]
    Batches,
}

impl Batch {
    /// Checks everything that can be checked without the other batches of the turn.
    pub fn new(seq: u32, ops: Vec<Op>) -> Result<Self, DrawingError> {
        if !(1..=SEQ_MAX).contains(&seq) {
            return Err(DrawingError::Seq);
        }
        if !(1..=OPS_MAX).contains(&ops.len()) {
            return Err(DrawingError::Ops);
        }
        if ops.iter().map(Op::points).sum::<usize>() > POINTS_MAX {
            return Err(DrawingError::TooManyPoints);
        }
        ops.iter().try_for_each(Op::check)?;
        Ok(Self { seq, ops })
    }

    /// The batch's number in the turn; numbers start at 1 and have no gap.
    pub fn seq(&self) -> u32 {
        self.seq
    }

    /// The operations, in order.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }
}

/// Checks a chunk before it is stored: its number, and that its batches follow each other without a
/// gap.
pub fn check_chunk(chunk: u16, batches: &[Batch]) -> Result<(), DrawingError> {
    if !(1..=CHUNKS_MAX).contains(&chunk) {
        return Err(DrawingError::Chunk);
    }
    let in_row = batches.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq);
    (in_row && (1..=CHUNK_BATCHES_MAX).contains(&batches.len())).then_some(()).ok_or(DrawingError::Batches)
}

impl Op {
    fn points(&self) -> usize {
        match self {
            Self::Stroke { points, .. } => points.len() / 3,
            Self::Fill { .. } => 1,
            Self::Clear { .. } | Self::Undo { .. } | Self::Redo { .. } => 0,
        }
    }

    fn check(&self) -> Result<(), DrawingError> {
        let (Self::Stroke { id, .. }
        | Self::Fill { id, .. }
        | Self::Clear { id }
        | Self::Undo { id }
        | Self::Redo { id }) = self;
        if *id == 0 {
            return Err(DrawingError::Id);
        }
        match self {
            Self::Stroke { pen, points, end, .. } => {
                let may_be_empty = *end && pen.is_none();
                if points.len() % 3 != 0 || points.is_empty() && !may_be_empty {
                    return Err(DrawingError::Points);
                }
                let is_pen = |pen: Pen| pen.color < COLORS && WIDTHS.contains(&pen.width);
                if !pen.is_none_or(is_pen) {
                    return Err(DrawingError::Pen);
                }
                are_on_board(points)
            }
            Self::Fill { color, at: [x, y], .. } => {
                if *color >= COLORS {
                    return Err(DrawingError::Pen);
                }
                are_on_board(&[*x, *y, 0])
            }
            Self::Clear { .. } | Self::Undo { .. } | Self::Redo { .. } => Ok(()),
        }
    }
}

/// Adds up the differences. 400 numbers of 32 bits cannot overflow 64 bits.
fn are_on_board(points: &[i32]) -> Result<(), DrawingError> {
    let (mut x, mut y, mut pressure) = (0, 0, 0);
    for point in points.chunks_exact(3) {
        x += i64::from(point[0]);
        y += i64::from(point[1]);
        pressure += i64::from(point[2]);
        if !(X.contains(&x) && Y.contains(&y) && (0..=100).contains(&pressure)) {
            return Err(DrawingError::OffBoard);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEN: Pen = Pen { color: 3, width: 8, tool: Tool::Pen };

    fn stroke(points: Vec<i32>) -> Op {
        Op::Stroke { id: 1, pen: Some(PEN), points, end: false }
    }

    #[test]
    fn a_batch_has_a_number_and_some_operations() {
        let clears = |count| vec![Op::Clear { id: 1 }; count];
        assert!(Batch::new(1, clears(64)).is_ok());
        assert_eq!(Batch::new(0, clears(1)), Err(DrawingError::Seq));
        assert_eq!(Batch::new(3_001, clears(1)), Err(DrawingError::Seq));
        assert_eq!(Batch::new(1, clears(0)), Err(DrawingError::Ops));
        assert_eq!(Batch::new(1, clears(65)), Err(DrawingError::Ops));
        assert_eq!(Batch::new(1, vec![Op::Undo { id: 0 }]), Err(DrawingError::Id));
    }

    #[test]
    fn the_limit_of_points_applies_to_the_whole_batch() {
        let line = |points: usize| stroke([vec![100, 100, 50], vec![0; (points - 1) * 3]].concat());
        assert!(Batch::new(1, vec![line(200), line(200)]).is_ok());
        assert_eq!(Batch::new(1, vec![line(200), line(201)]), Err(DrawingError::TooManyPoints));
        for points in [vec![], vec![1], vec![1, 2, 3, 4]] {
            assert_eq!(Batch::new(1, vec![stroke(points)]), Err(DrawingError::Points));
        }
    }

    #[test]
    fn stroke_may_end_but_not_begin_without_a_point() {
        let op = |pen, end| Op::Stroke { id: 1, pen, points: vec![], end };
        assert!(Batch::new(1, vec![op(None, true)]).is_ok());
        assert_eq!(Batch::new(1, vec![op(None, false)]), Err(DrawingError::Points));
        assert_eq!(Batch::new(1, vec![op(Some(PEN), true)]), Err(DrawingError::Points));
    }

    #[test]
    fn differences_must_not_lead_far_from_the_board() {
        let of = |points| Batch::new(1, vec![stroke(points)]).map(|_| ());
        assert_eq!(of(vec![1_800, 1_400, 100, -2_000, -1_600, -100]), Ok(()));
        assert_eq!(of(vec![1_801, 0, 0]), Err(DrawingError::OffBoard));
        assert_eq!(of(vec![0, -201, 0]), Err(DrawingError::OffBoard));
        assert_eq!(of(vec![0, 0, 101]), Err(DrawingError::OffBoard));
        assert_eq!(of(vec![1_000, 0, 50, 900, 0, 0]), Err(DrawingError::OffBoard));
        assert_eq!(of(vec![0, 0, 50, i32::MAX, 0, 0, i32::MAX, 0, 0]), Err(DrawingError::OffBoard));
        let fill = |color, at| Batch::new(1, vec![Op::Fill { id: 1, color, at }]).map(|_| ());
        assert_eq!(fill(23, [0, 0]), Ok(()));
        assert_eq!(fill(24, [0, 0]), Err(DrawingError::Pen));
        assert_eq!(fill(0, [i32::MIN, 0]), Err(DrawingError::OffBoard));
        for pen in [Pen { color: 24, ..PEN }, Pen { width: 1, ..PEN }, Pen { width: 81, ..PEN }] {
            let op = Op::Stroke { id: 1, pen: Some(pen), points: vec![0, 0, 0], end: false };
            assert_eq!(Batch::new(1, vec![op]), Err(DrawingError::Pen));
        }
    }

    #[test]
    fn a_chunk_has_batches_in_a_row() {
        let batch = |seq| Batch::new(seq, vec![Op::Clear { id: 1 }]).expect("a batch");
        let row = |from: u32, count| (from..).take(count).map(batch).collect::<Vec<_>>();
        assert_eq!(check_chunk(1, &row(5, 16)), Ok(()));
        assert_eq!(check_chunk(0, &row(5, 1)), Err(DrawingError::Chunk));
        assert_eq!(check_chunk(401, &row(5, 1)), Err(DrawingError::Chunk));
        assert_eq!(check_chunk(1, &row(5, 17)), Err(DrawingError::Batches));
        assert_eq!(check_chunk(1, &[]), Err(DrawingError::Batches));
        assert_eq!(check_chunk(1, &[batch(1), batch(3)]), Err(DrawingError::Batches));
        assert_eq!(check_chunk(1, &[batch(2), batch(2)]), Err(DrawingError::Batches));
    }
}
