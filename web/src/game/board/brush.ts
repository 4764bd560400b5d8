/**
 * Rasterises a stroke: a smooth curve through its points, drawn with a round tip.
 *
 * Coverage only increases, so the result does not depend on how many pieces a stroke arrives in.
 * Only `+ - * /` and square roots are used. IEEE 754 defines them to the last bit, so the same
 * points cover the same pixels in every browser.
 */
import { BOARD_HEIGHT, BOARD_WIDTH } from './protocol.ts';
import { COVERED, EMPTY, union, type Rect } from './raster.ts';

/**
 * The cosine of the turn from which on a point is a corner and is not smoothed: about 75 degrees.
 */
const CORNER = 0.25;

/** A point on the board. The pressure is in percent. */
export interface Point {
  readonly x: number;
  readonly y: number;
  readonly pressure: number;
}

/** The coverage of each pixel by a stroke, 0 to {@link COVERED}. */
export type Mask = Uint8Array<ArrayBuffer>;

export function blankMask(): Mask {
  return new Uint8Array(BOARD_WIDTH * BOARD_HEIGHT);
}

/** Half of the stroke's width at a pressure: 50 % to 150 % of the width without a pen. */
function radiusAt(width: number, pressure: number): number {
  return (width / 2) * (0.5 + pressure / 100);
}

/**
 * Covers one segment of the curve: from halfway to the previous point to halfway to the next one.
 * The segment bends towards `points[index]` without reaching it, which smooths tremor. The curve
 * starts and ends exactly at its first and last points, and it reaches the points that are corners.
 *
 * A segment is final once `points[index + 1]` exists or the stroke has ended.
 */
export function coverSegment(mask: Mask, points: readonly Point[], index: number, width: number): Rect {
  const at = points[index];
  if (at === undefined) return EMPTY;
  const before = points[index - 1];
  const after = points[index + 1];
  const from = before === undefined ? at : halfway(before, at);
  const to = after === undefined ? at : halfway(at, after);
  if (before === undefined || after === undefined) return coverLine(mask, from, to, width);
  if (isCorner(before, at, after)) return union(coverLine(mask, from, at, width), coverLine(mask, at, to, width));

  // A parabola departs from its chord by a quarter of `bend` at most, and with n pieces by n * n
  // times less. This n leaves an eighth of a unit.
  const bend = length(from.x - 2 * at.x + to.x, from.y - 2 * at.y + to.y);
  const pieces = Math.max(1, Math.ceil(Math.sqrt(2 * bend)));
  let box = EMPTY;
  let start = from;
  for (let piece = 1; piece <= pieces; piece++) {
    const t = piece / pieces;
    const along = (a: number, b: number, c: number): number => (1 - t) * (1 - t) * a + 2 * t * (1 - t) * b + t * t * c;
    const end = {
      x: along(from.x, at.x, to.x),
      y: along(from.y, at.y, to.y),
      pressure: along(from.pressure, at.pressure, to.pressure),
    };
    box = union(box, coverLine(mask, start, end, width));
    start = end;
  }
  return box;
}

function halfway(a: Point, b: Point): Point {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, pressure: (a.pressure + b.pressure) / 2 };
}

function isCorner(before: Point, at: Point, after: Point): boolean {
  const inX = at.x - before.x;
  const inY = at.y - before.y;
  const outX = after.x - at.x;
  const outY = after.y - at.y;
  return inX * outX + inY * outY < CORNER * length(inX, inY) * length(outX, outY);
}

/** Not `Math.hypot`: its last bit differs between browsers. */
function length(x: number, y: number): number {
  return Math.sqrt(x * x + y * y);
}

/** Covers a line with round ends and a linearly changing radius. */
function coverLine(mask: Mask, start: Point, end: Point, width: number): Rect {
  const { x: x0, y: y0 } = start;
  const { x: x1, y: y1 } = end;
  const r0 = radiusAt(width, start.pressure);
  const r1 = radiusAt(width, end.pressure);
  const reach = Math.max(r0, r1) + 1;
  const left = Math.max(0, Math.floor(Math.min(x0, x1) - reach));
  const right = Math.min(BOARD_WIDTH, Math.ceil(Math.max(x0, x1) + reach));
  const top = Math.max(0, Math.floor(Math.min(y0, y1) - reach));
  const bottom = Math.min(BOARD_HEIGHT, Math.ceil(Math.max(y0, y1) + reach));
  if (left >= right || top >= bottom) return EMPTY;

  const dx = x1 - x0;
  const dy = y1 - y0;
  const lengthSquared = dx * dx + dy * dy;
  const perLength = lengthSquared === 0 ? 0 : 1 / lengthSquared;
  // Half of the width that one row cuts out of the infinite strip around the line.
  const slant = dy === 0 ? 0 : (reach * Math.sqrt(lengthSquared)) / Math.abs(dy);
  for (let y = top; y < bottom; y++) {
    // A pixel is tested at its centre.
    const py = y + 0.5 - y0;
    const row = y * BOARD_WIDTH;
    // Visits only the pixels of the row near the line. The bounding box of a long oblique line is
    // mostly empty.
    const middle = dy === 0 ? 0 : x0 + (py * dx) / dy;
    const from = dy === 0 ? left : Math.max(left, Math.floor(middle - slant - 1));
    const to = dy === 0 ? right : Math.min(right, Math.ceil(middle + slant + 1));
    for (let x = from; x < to; x++) {
      const covered = mask[row + x] ?? 0;
      if (covered === COVERED) continue;
      const px = x + 0.5 - x0;
      const along = (px * dx + py * dy) * perLength;
      const t = along < 0 ? 0 : along > 1 ? 1 : along;
      const offX = px - t * dx;
      const offY = py - t * dy;
      const squared = offX * offX + offY * offY;
      const outer = r0 + (r1 - r0) * t + 0.5;
      if (squared >= outer * outer) continue;
      const inner = outer - 1;
      const isInside = inner > 0 && squared <= inner * inner;
      const coverage = isInside ? COVERED : Math.floor(Math.min(1, outer - Math.sqrt(squared)) * COVERED + 0.5);
      if (coverage > covered) mask[row + x] = coverage;
    }
  }
  return { left, top, right, bottom };
}
