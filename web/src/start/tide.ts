/** The line of the water: a count for each day, as a curve that goes through all of them and never beyond. */

/** A rectangle that the curve fills, y downwards. */
export interface Box {
  readonly width: number;
  readonly height: number;
}

/** Where a count lies, from above. Even no clicks at all leave some water. */
export function depthOf(count: number, highest: number, box: Box): number {
  const ZERO = 0.45;
  return box.height * (1 - ZERO) * (1 - count / Math.max(highest, 1));
}

/** The path of the line from the left edge to the right one; flat when there is only one count. */
export function tideLine(counts: readonly number[], box: Box): string {
  const highest = Math.max(...counts, 0);
  const step = box.width / Math.max(counts.length - 1, 1);
  const points = (counts.length > 1 ? counts : [counts[0] ?? 0, counts[0] ?? 0]).map(
    (count, i) => [i * (counts.length > 1 ? step : box.width), depthOf(count, highest, box)] as const,
  );
  const n = (value: number): string => String(Math.round(value * 10) / 10);
  return points
    .map(([x, y], i) => {
      const before = points[i - 1];
      if (!before) return `M${n(x)} ${n(y)}`;
      // Level at each day, as the tide is at its turn: between two of them nothing is higher or lower than they are.
      const middle = (before[0] + x) / 2;
      return `C${n(middle)} ${n(before[1])} ${n(middle)} ${n(y)} ${n(x)} ${n(y)}`;
    })
    .join('');
}
