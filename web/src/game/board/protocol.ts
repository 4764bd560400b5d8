/** The drawing messages of the game's WebSocket: `docs/protocol.md`, "Drawing". */

/** The size of the board in units. A unit is a pixel of the raster. */
export const BOARD_WIDTH = 1600;
export const BOARD_HEIGHT = 1200;

/** How far outside of the board a point may be. */
export const MARGIN = 200;
/** Limits of one batch. */
export const BATCH_OPS_MAX = 64;
export const BATCH_POINTS_MAX = 400;
/** Limit of one `save`. */
export const CHUNK_BATCHES_MAX = 16;
/**
 * The ink of a turn, in bytes: it limits the size of a drawing. An op and a point cost
 * their largest size in bytes. The position of a fill counts as a point.
 */
export const INK_BUDGET = 75_000;
export const INK_OP = 10;
export const INK_POINT = 6;
/** The pressure, in percent, of input devices without pressure. */
export const PRESSURE_NONE = 50;

export type Tool = 'pen' | 'eraser';

/** An op of a stroke. Only the first op of a stroke has `color`, `width` and `tool`. */
export interface StrokeOp {
  readonly op: 'stroke';
  readonly id: number;
  /** Integers: `x, y, pressure` of the first point, then the differences to the previous point. */
  readonly points: readonly number[];
  /** Index into the palette. */
  readonly color?: number;
  readonly width?: number;
  readonly tool?: Tool;
  /** Set in the stroke's last op. */
  readonly end?: boolean;
}

export interface FillOp {
  readonly op: 'fill';
  readonly id: number;
  readonly color: number;
  readonly at: readonly [x: number, y: number];
}

/**
 * `clear` empties the board and has an id of its own. `undo` removes the item with that id, `redo`
 * restores it.
 */
export interface PlainOp {
  readonly op: 'clear' | 'undo' | 'redo';
  readonly id: number;
}

export type Op = StrokeOp | FillOp | PlainOp;

/** Ops with their position in the turn: `seq` counts from 1 without gaps. */
export interface Batch {
  readonly seq: number;
  readonly ops: readonly Op[];
}

/** The number of points in an op. */
export function pointCount(op: Op): number {
  if (op.op === 'stroke') return op.points.length / 3;
  return op.op === 'fill' ? 1 : 0;
}

/** The ink that an op costs. */
export function inkOf(op: Op): number {
  return INK_OP + INK_POINT * pointCount(op);
}

export interface DrawMessage extends Batch {
  readonly action: 'draw';
  readonly turnId: string;
}

export interface SaveMessage {
  readonly action: 'save';
  readonly turnId: string;
  /** Counts from 1. A chunk that is already stored is not stored again. */
  readonly chunk: number;
  readonly batches: readonly Batch[];
}

export interface CatchUpMessage {
  readonly action: 'catch-up';
  readonly turnId: string;
  /** The highest `seq` that this client has without a gap before it. 0 requests everything. */
  readonly after: number;
}

/** The messages that the board sends. */
export type BoardMessage = DrawMessage | SaveMessage | CatchUpMessage;

/** The message that the board receives. */
export interface InkMessage {
  readonly type: 'ink';
  readonly turnId: string;
  readonly batches: readonly Batch[];
  /** In the answer to a `catch-up`: the highest `seq` that is stored. */
  readonly saved?: number;
  /** In the answer to a `catch-up`: this is its last message. */
  readonly last?: boolean;
}
