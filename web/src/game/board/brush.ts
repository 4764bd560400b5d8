/**
 * How a stroke covers the board: a smooth curve through its points, drawn with a round tip.
 *
 * Coverage only ever grows, so it does not matter in how many pieces a stroke arrived. Only `+ - * /` and square roots are used,
 * which IEEE 754 fixes to the last bit: the same points cover the same pixels in every browser.
 */
import { BOARD_HEIGHT, BOARD_WIDTH } from './protocol.ts';
import { COVERED, EMPTY, union, type Rect } from './raster.ts';

/** A point on the board, pressure in percent. */
export interface Point {
  readonly x: number;
  readonly y: number;
  readonly pressure: number;
}

/** How much of each pixel a stroke covers, 0 to {@link COVERED}. */
export type Mask = Uint8Array<ArrayBuffer>;

export function blankMask(): Mask {
  return new Uint8Array(BOARD_WIDTH * BOARD_HEIGHT);
}

/** Half the width of a stroke of `width` units at that pressure: from half to one and a half of what it is without a pen. */
export function radiusAt(width: number, pressure: number): number {
  return (width / 2) * (0.5 + pressure / 100);
}

/**
 * Covers the curve from `points[index]` to the next one. Its shape depends on one point before and one after, so it is final once
 * `points[index + 2]` is there or the stroke has ended. A stroke of one point is a dot, its segment 0.
 */
export function coverSegment(mask: Mask, points: readonly Point[], index: number, width: number): Rect {
  const from = points[index];
  if (from === undefined) return EMPTY;
  const to = points[index + 1] ?? from;
  const before = points[index - 1] ?? from;
  const after = points[index + 2] ?? to;

  const length = distance(from, to);
  const [outX, outY] = tangent(before, from, to);
  const [inX, inY] = tangent(from, to, after);
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  // How far its directions lead off the straight line. The curve itself goes at most a quarter as far, and cutting it into n pieces
  // makes that n * n times less: an eighth of a unit is left, which nobody sees.
  const bend = length === 0 ? 0 : Math.max(Math.abs(outX * dy - outY * dx), Math.abs(inX * dy - inY * dx)) / length;
  const pieces = Math.max(1, Math.ceil(Math.sqrt(2 * bend)));

  let box = EMPTY;
  let startX = from.x;
  let startY = from.y;
  let startRadius = radiusAt(width, from.pressure);
  for (let piece = 1; piece <= pieces; piece++) {
    const t = piece / pieces;
    const u = 1 - t;
    // A cubic Hermite curve: from and to with the directions in them.
    const endX = u * u * (1 + 2 * t) * from.x + t * u * u * outX + t * t * (3 - 2 * t) * to.x - t * t * u * inX;
    const endY = u * u * (1 + 2 * t) * from.y + t * u * u * outY + t * t * (3 - 2 * t) * to.y - t * t * u * inY;
    const endRadius = radiusAt(width, from.pressure + (to.pressure - from.pressure) * t);
    box = union(box, coverLine(mask, startX, startY, startRadius, endX, endY, endRadius));
    [startX, startY, startRadius] = [endX, endY, endRadius];
  }
  return box;
}

/**
 * The curve's direction in `at`: along its neighbours, as long as the nearer of them is away, and shorter the sharper the turn. From a
 * right angle on it is nothing, so a corner stays a corner.
 */
function tangent(before: Point, at: Point, after: Point): readonly [number, number] {
  const reach = Math.min(distance(before, at), distance(at, after));
  const across = distance(before, after);
  if (reach === 0 || across === 0) return [0, 0];
  const inX = at.x - before.x;
  const inY = at.y - before.y;
  const outX = after.x - at.x;
  const outY = after.y - at.y;
  const straightness = (inX * outX + inY * outY) / (distance(before, at) * distance(at, after));
  if (straightness <= 0) return [0, 0];
  const scale = (reach * straightness) / across;
  return [(after.x - before.x) * scale, (after.y - before.y) * scale];
}

function distance(a: Point, b: Point): number {
  // Not Math.hypot, whose last bit differs between browsers.
  return Math.sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y));
}

/** Covers a line with round ends and a radius that changes evenly. */
function coverLine(mask: Mask, x0: number, y0: number, r0: number, x1: number, y1: number, r1: number): Rect {
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
  // Half of what a row cuts out of the endless strip around the line.
  const slant = dy === 0 ? 0 : (reach * Math.sqrt(lengthSquared)) / Math.abs(dy);
  for (let y = top; y < bottom; y++) {
    // A pixel is judged by its centre.
    const py = y + 0.5 - y0;
    const row = y * BOARD_WIDTH;
    // Of this row only what lies along the line: its box is mostly empty when it is long and oblique.
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
