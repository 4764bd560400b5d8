/**
 * The board's pixels, identical on every device.
 *
 * Each browser and graphics card rasterises canvas paths differently. A fill that stops at an edge
 * on one device would leak through it on another. So this code draws the board, with integers and
 * with arithmetic that IEEE 754 defines to the last bit.
 *
 * A pixel has 16 bits: two palette colours, and the coverage of the upper one. Edges are smooth,
 * and a fill replaces exactly one of the two colours, so it leaves neither a halo nor a gap.
 */
import { BOARD_HEIGHT, BOARD_WIDTH } from './protocol.ts';

/** Pixels by row from the top. See {@link pixelOf}. */
export type Raster = Uint16Array<ArrayBuffer>;

/** The coverage of a fully covered pixel. */
export const COVERED = 63;

/** A half-open rectangle: `right` and `bottom` are just outside. */
export interface Rect {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export const EMPTY: Rect = { left: BOARD_WIDTH, top: BOARD_HEIGHT, right: 0, bottom: 0 };
export const WHOLE: Rect = { left: 0, top: 0, right: BOARD_WIDTH, bottom: BOARD_HEIGHT };

/** The smallest rectangle around both. */
export function union(a: Rect, b: Rect): Rect {
  return {
    left: Math.min(a.left, b.left),
    top: Math.min(a.top, b.top),
    right: Math.max(a.right, b.right),
    bottom: Math.max(a.bottom, b.bottom),
  };
}

export function isEmpty(rect: Rect): boolean {
  return rect.left >= rect.right || rect.top >= rect.bottom;
}

/**
 * A pixel of two colours. `coverage` (0 to {@link COVERED}) is the share of the upper one. A pixel
 * of one colour always has coverage 0.
 */
export function pixelOf(lower: number, upper: number, coverage: number): number {
  if (coverage === 0 || lower === upper) return lower | (lower << 5);
  if (coverage === COVERED) return upper | (upper << 5);
  return lower | (upper << 5) | (coverage << 10);
}

const lowerOf = (pixel: number): number => pixel & 31;
const upperOf = (pixel: number): number => (pixel >> 5) & 31;
const coverageOf = (pixel: number): number => pixel >> 10;

/** The colour that covers most of a pixel. */
export function mainColour(pixel: number): number {
  return coverageOf(pixel) > COVERED / 2 ? upperOf(pixel) : lowerOf(pixel);
}

/** An empty board: colour 0 everywhere. */
export function blankRaster(): Raster {
  return new Uint16Array(BOARD_WIDTH * BOARD_HEIGHT);
}

/** Draws a colour over a pixel. Where three colours meet in one pixel, the weakest is dropped. */
export function over(pixel: number, colour: number, coverage: number): number {
  if (coverage === 0) return pixel;
  if (coverage === COVERED) return pixelOf(colour, colour, 0);
  const lower = lowerOf(pixel);
  const upper = upperOf(pixel);
  const upperCoverage = coverageOf(pixel);
  if (upperCoverage === 0) return pixelOf(lower, colour, coverage);
  if (colour === upper) {
    return pixelOf(lower, upper, upperCoverage + roundedQuotient((COVERED - upperCoverage) * coverage, COVERED));
  }
  if (colour === lower) return pixelOf(lower, upper, roundedQuotient(upperCoverage * (COVERED - coverage), COVERED));
  const lowerWeight = (COVERED - upperCoverage) * (COVERED - coverage);
  const upperWeight = upperCoverage * (COVERED - coverage);
  const weight = COVERED * coverage;
  if (weight < lowerWeight && weight < upperWeight) return pixel;
  return upperWeight > lowerWeight
    ? pixelOf(upper, colour, roundedQuotient(COVERED * weight, weight + upperWeight))
    : pixelOf(lower, colour, roundedQuotient(COVERED * weight, weight + lowerWeight));
}

/** Integer division, rounded to the nearest. */
function roundedQuotient(part: number, whole: number): number {
  return Math.floor((2 * part + whole) / (2 * whole));
}

/** {@link mainColour} of every possible pixel. */
const MAIN = Uint8Array.from({ length: 1 << 16 }, (_, pixel) => mainColour(pixel));

/**
 * Fills the connected area (4 neighbours) of pixels with the same main colour as the given one. In
 * the soft edge around it, the area's colour is replaced too. Returns the changed rectangle.
 */
export function floodFill(raster: Raster, x: number, y: number, colour: number): Rect {
  if (x < 0 || y < 0 || x >= BOARD_WIDTH || y >= BOARD_HEIGHT) return EMPTY;
  const from = mainColour(raster[y * BOARD_WIDTH + x] ?? 0);
  if (from === colour) return EMPTY;

  // The replacement is calculated once for every possible pixel.
  const exchanged = new Uint16Array(1 << 16);
  for (let pixel = 0; pixel < exchanged.length; pixel++) exchanged[pixel] = exchange(pixel, from, colour);
  let { left, top, right, bottom } = EMPTY;
  // Positions to visit. A span adds one for each run of the area above and below it.
  const todo = [x, y];
  for (let startY = todo.pop(); startY !== undefined; startY = todo.pop()) {
    const startX = todo.pop() ?? 0;
    const row = startY * BOARD_WIDTH;
    // Another span has already filled this position.
    if (MAIN[raster[row + startX] ?? 0] !== from) continue;
    let spanLeft = startX;
    while (spanLeft > 0 && MAIN[raster[row + spanLeft - 1] ?? 0] === from) spanLeft--;
    let spanRight = startX + 1;
    while (spanRight < BOARD_WIDTH && MAIN[raster[row + spanRight] ?? 0] === from) spanRight++;

    // One pixel more on each side, for the soft edge.
    const edgeLeft = Math.max(0, spanLeft - 1);
    const edgeRight = Math.min(BOARD_WIDTH, spanRight + 1);
    for (let i = row + edgeLeft; i < row + edgeRight; i++) raster[i] = exchanged[raster[i] ?? 0] ?? 0;
    for (const nextY of [startY - 1, startY + 1]) {
      if (nextY < 0 || nextY >= BOARD_HEIGHT) continue;
      const next = nextY * BOARD_WIDTH;
      let inRun = false;
      for (let nextX = edgeLeft; nextX < edgeRight; nextX++) {
        const pixel = raster[next + nextX] ?? 0;
        const isArea = MAIN[pixel] === from;
        if (!isArea) raster[next + nextX] = exchanged[pixel] ?? 0;
        else if (!inRun && nextX >= spanLeft && nextX < spanRight) todo.push(nextX, nextY);
        inRun = isArea && nextX >= spanLeft;
      }
    }
    left = Math.min(left, edgeLeft);
    right = Math.max(right, edgeRight);
    top = Math.min(top, startY - 1);
    bottom = Math.max(bottom, startY + 2);
  }
  return { left, top: Math.max(0, top), right, bottom: Math.min(BOARD_HEIGHT, bottom) };
}

/** `pixel` with one of its colours replaced. */
function exchange(pixel: number, from: number, to: number): number {
  const lower = lowerOf(pixel);
  const upper = upperOf(pixel);
  return pixelOf(lower === from ? to : lower, upper === from ? to : upper, coverageOf(pixel));
}

/**
 * The screen colour of every possible pixel, as `ImageData` stores it on a little-endian machine
 * (all browsers run on one). `palette` has `#rrggbb` for each index.
 */
export function screenColours(palette: readonly string[]): Uint32Array {
  const channels = palette.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Uint32Array.from({ length: 1 << 16 }, (_, pixel) => {
    const lower = channels[lowerOf(pixel)];
    const upper = channels[upperOf(pixel)];
    if (lower === undefined || upper === undefined) return 0;
    const coverage = coverageOf(pixel);
    const [red = 0, green = 0, blue = 0] = lower.map((value, channel) =>
      roundedQuotient(value * (COVERED - coverage) + (upper[channel] ?? 0) * coverage, COVERED),
    );
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
}
