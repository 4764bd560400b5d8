/** The points of a stroke: simplification before sending, and the encoding in ops. */
import type { Point } from './brush.ts';
import { BOARD_HEIGHT, BOARD_WIDTH, MARGIN } from './protocol.ts';

/** How far the simplified line may be from a removed point, in units. */
const TOLERANCE = 0.7;
/**
 * A straight line keeps a point at least this often, in units. It limits how far the smooth curve
 * rounds off a bend.
 */
const GAP_MAX = 40;

/** Rounds a point to whole numbers within the allowed range. */
export function snapped(point: Point): Point {
  return {
    x: clamp(Math.round(point.x), -MARGIN, BOARD_WIDTH + MARGIN),
    y: clamp(Math.round(point.y), -MARGIN, BOARD_HEIGHT + MARGIN),
    pressure: clamp(Math.round(point.pressure), 0, 100),
  };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}

/**
 * Encodes points as `x, y, pressure` of the first one, then the differences to the previous point.
 */
export function encodePoints(points: readonly Point[]): number[] {
  return points.flatMap((point, index) => {
    const before = points[index - 1] ?? { x: 0, y: 0, pressure: 0 };
    return [point.x - before.x, point.y - before.y, point.pressure - before.pressure];
  });
}

/** Decodes the points of an op. An incomplete last point is ignored. */
export function decodePoints(flat: readonly number[]): Point[] {
  const points: Point[] = [];
  let [x, y, pressure] = [0, 0, 0];
  for (let index = 0; index + 2 < flat.length; index += 3) {
    x += flat[index] ?? 0;
    y += flat[index + 1] ?? 0;
    pressure += flat[index + 2] ?? 0;
    points.push({ x, y, pressure });
  }
  return points;
}

/**
 * Simplifies a line (Ramer-Douglas-Peucker). The pressure's effect on the width is a third
 * dimension. The last point always stays; `start` is not returned.
 */
export function simplified(start: Point, points: readonly Point[], width: number): Point[] {
  const all = [start, ...points];
  const keep = new Set<number>([all.length - 1]);
  const spans: [number, number][] = [[0, all.length - 1]];
  for (let span = spans.pop(); span !== undefined; span = spans.pop()) {
    const [first, last] = span;
    const from = all[first];
    const to = all[last];
    if (from === undefined || to === undefined || last - first < 2) continue;
    let farthest = 0;
    let at = 0;
    for (let index = first + 1; index < last; index++) {
      const off = distanceToLine(all[index] ?? from, from, to, width);
      if (off > farthest) [farthest, at] = [off, index];
    }
    if (farthest <= TOLERANCE && Math.hypot(to.x - from.x, to.y - from.y) > GAP_MAX) {
      [farthest, at] = [Infinity, (first + last) >> 1];
    }
    if (farthest <= TOLERANCE) continue;
    keep.add(at);
    spans.push([first, at], [at, last]);
  }
  return all.filter((_, index) => index > 0 && keep.has(index));
}

/** The distance of a point from the line between two others, in units. */
function distanceToLine(point: Point, from: Point, to: Point, width: number): number {
  const depth = (at: Point): number => (at.pressure / 100) * (width / 2);
  const line = [to.x - from.x, to.y - from.y, depth(to) - depth(from)] as const;
  const way = [point.x - from.x, point.y - from.y, depth(point) - depth(from)] as const;
  const squared = line[0] * line[0] + line[1] * line[1] + line[2] * line[2];
  const along = way[0] * line[0] + way[1] * line[1] + way[2] * line[2];
  const t = squared === 0 ? 0 : clamp(along / squared, 0, 1);
  return Math.hypot(way[0] - t * line[0], way[1] - t * line[1], way[2] - t * line[2]);
}
