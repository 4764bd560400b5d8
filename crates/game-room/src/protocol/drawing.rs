//! Batches in JSON. All operations share one flat struct, so that serde reads them without
//! buffering.

use domain::game::drawing::{Batch, Op, Pen, Tool};
use lambda_kit::problem::Problem;
use serde::{Deserialize, Serialize};

use super::problem::{INVALID_DRAWING, INVALID_MESSAGE};

/// Operations with their number in the turn.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BatchMessage {
    pub(crate) seq: u32,
    pub(crate) ops: Vec<OpMessage>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct OpMessage {
    op: OpKind,
    id: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<Vec<i32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    color: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<ToolMessage>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    end: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<[i32; 2]>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OpKind {
    Stroke,
    Fill,
    Clear,
    Undo,
    Redo,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToolMessage {
    Pen,
    Eraser,
}

impl TryFrom<BatchMessage> for Batch {
    type Error = Problem;

    fn try_from(batch: BatchMessage) -> Result<Self, Problem> {
        let ops = batch.ops.into_iter().map(Op::try_from).collect::<Result<_, _>>()?;
        Self::new(batch.seq, ops).map_err(|why| INVALID_DRAWING.detail(why))
    }
}

impl From<&Batch> for BatchMessage {
    fn from(batch: &Batch) -> Self {
        Self { seq: batch.seq(), ops: batch.ops().iter().map(OpMessage::from).collect() }
    }
}

impl TryFrom<OpMessage> for Op {
    type Error = Problem;

    fn try_from(op: OpMessage) -> Result<Self, Problem> {
        let needs = |what: &str| INVALID_MESSAGE.detail(format!("an op is without {what}"));
        let id = op.id;
        Ok(match op.op {
            OpKind::Stroke => {
                let pen = match (op.color, op.width, op.tool) {
                    (None, None, None) => None,
                    (Some(color), Some(width), Some(tool)) => {
                        let tool = match tool {
                            ToolMessage::Pen => Tool::Pen,
                            ToolMessage::Eraser => Tool::Eraser,
                        };
                        Some(Pen { color, width, tool })
                    }
                    _ => return Err(needs("one of `color`, `width` and `tool`, which go together")),
                };
                Self::Stroke { id, pen, points: op.points.unwrap_or_default(), end: op.end }
            }
            OpKind::Fill => Self::Fill {
                id,
                color: op.color.ok_or_else(|| needs("`color`"))?,
                at: op.at.ok_or_else(|| needs("`at`"))?,
            },
            OpKind::Clear => Self::Clear { id },
            OpKind::Undo => Self::Undo { id },
            OpKind::Redo => Self::Redo { id },
        })
    }
}

impl From<&Op> for OpMessage {
    fn from(op: &Op) -> Self {
        let plain = |op, id| Self { op, id, points: None, color: None, width: None, tool: None, end: false, at: None };
        match op {
            Op::Stroke { id, pen, points, end } => {
                let tool = |pen: &Pen| match pen.tool {
                    Tool::Pen => ToolMessage::Pen,
                    Tool::Eraser => ToolMessage::Eraser,
                };
                Self {
                    points: Some(points.clone()),
                    color: pen.map(|pen| pen.color),
                    width: pen.map(|pen| pen.width),
                    tool: pen.as_ref().map(tool),
                    end: *end,
                    ..plain(OpKind::Stroke, *id)
                }
            }
            Op::Fill { id, color, at } => Self { color: Some(*color), at: Some(*at), ..plain(OpKind::Fill, *id) },
            Op::Clear { id } => plain(OpKind::Clear, *id),
            Op::Undo { id } => plain(OpKind::Undo, *id),
            Op::Redo { id } => plain(OpKind::Redo, *id),
        }
    }
}
