/** What the drawing says over the game's WebSocket: `docs/protocol.md`, "Drawing". */

/** The board in units, which are also the pixels of its raster. */
export const BOARD_WIDTH = 1600;
export const BOARD_HEIGHT = 1200;

/** How far outside the board a point may lie. */
export const MARGIN = 200;
/** Of one batch. */
export const BATCH_OPS_MAX = 64;
export const BATCH_POINTS_MAX = 400;
/** Of one `save`. */
export const CHUNK_BATCHES_MAX = 16;
/**
 * What a turn's drawing may take at most, so that it can be kept: bytes, of which an op and a point take this much at worst.
 * A fill's place counts as a point.
 */
export const INK_FULL = 75_000;
export const INK_OP = 10;
export const INK_POINT = 6;
/** Pressure, in percent, of what has none. */
export const PRESSURE_NONE = 50;

export type Tool = 'pen' | 'eraser';

/** The first of a stroke's ops says how it is drawn; the others have `id` and `points` alone. */
export interface StrokeOp {
  readonly op: 'stroke';
  readonly id: number;
  /** `x, y, pressure` of the first point, then the differences to the point before; integers. */
  readonly points: readonly number[];
  /** Index into the palette. */
  readonly color?: number;
  readonly width?: number;
  readonly tool?: Tool;
  /** With the stroke's last points. */
  readonly end?: boolean;
}

export interface FillOp {
  readonly op: 'fill';
  readonly id: number;
  readonly color: number;
  readonly at: readonly [x: number, y: number];
}

/** `clear` empties the board under an id of its own; `undo` takes the op of that id back, `redo` brings it again. */
export interface PlainOp {
  readonly op: 'clear' | 'undo' | 'redo';
  readonly id: number;
}

export type Op = StrokeOp | FillOp | PlainOp;

/** Ops under their place in the turn: `seq` counts from 1 without a gap. */
export interface Batch {
  readonly seq: number;
  readonly ops: readonly Op[];
}

/** How many points an op has. */
export function pointCount(op: Op): number {
  if (op.op === 'stroke') return op.points.length / 3;
  return op.op === 'fill' ? 1 : 0;
}

/** What of a turn's ink an op takes. */
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
  /** From 1. A chunk that is stored already is not stored again. */
  readonly chunk: number;
  readonly batches: readonly Batch[];
}

export interface CatchUpMessage {
  readonly action: 'catch-up';
  readonly turnId: string;
  /** The last `seq` that is there in a row; 0 for all. */
  readonly after: number;
}

/** What the board sends. */
export type BoardMessage = DrawMessage | SaveMessage | CatchUpMessage;

/** What the board gets. */
export interface InkMessage {
  readonly type: 'ink';
  readonly turnId: string;
  readonly batches: readonly Batch[];
  /** In the answer to a `catch-up`: the highest `seq` that is stored. */
  readonly saved?: number;
  /** In the answer to a `catch-up`: its last part. */
  readonly last?: boolean;
}
