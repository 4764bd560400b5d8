/**
 * A curve through the clicks of each day. Between two days it never leaves the range of their
 * values.
 */

/** The rectangle that the curve fills. */
export interface Box {
  readonly width: number;
  readonly height: number;
}

/**
 * The y coordinate of a count, measured from the top. A count of 0 is above the bottom, so that
 * some water is visible.
 */
export function curveY(count: number, highest: number, box: Box): number {
  const ZERO = 0.45;
  return box.height * (1 - ZERO) * (1 - count / Math.max(highest, 1));
}

/**
 * The SVG path of the curve from the left edge to the right edge; flat when there is at most one
 * count.
 */
export function curvePath(counts: readonly number[], box: Box): string {
  const highest = Math.max(...counts, 0);
  const step = box.width / Math.max(counts.length - 1, 1);
  const points = (counts.length > 1 ? counts : [counts[0] ?? 0, counts[0] ?? 0]).map(
    (count, i) => [i * (counts.length > 1 ? step : box.width), curveY(count, highest, box)] as const,
  );
  const n = (value: number): string => String(Math.round(value * 10) / 10);
  return points
    .map(([x, y], i) => {
      const before = points[i - 1];
      if (!before) return `M${n(x)} ${n(y)}`;
      // A horizontal tangent at each day keeps the curve between the values of two neighbouring
      // days.
      const middle = (before[0] + x) / 2;
      return `C${n(middle)} ${n(before[1])} ${n(middle)} ${n(y)} ${n(x)} ${n(y)}`;
    })
    .join('');
}
