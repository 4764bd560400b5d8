/** The board's picture: the same ops always give the same pixels. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { PALETTE } from '../../src/game/board/palette.ts';
import { Picture } from '../../src/game/board/picture.ts';
import { Playout } from '../../src/game/board/playout.ts';
import { decodePoints, encodePoints } from '../../src/game/board/points.ts';
import { BOARD_HEIGHT, BOARD_WIDTH, type Op, type StrokeOp } from '../../src/game/board/protocol.ts';
import {
  blankRaster,
  COVERED,
  floodFill,
  mainColour,
  over,
  pixelOf,
  screenColours,
  WHOLE,
} from '../../src/game/board/raster.ts';
import { drawing, randomOps, rng } from './board-drawing.ts';

const COLOURS = screenColours(PALETTE.map(({ hex }) => hex));

/** The digest of the visible pixels. */
function seen(picture: Picture): string {
  const image = new Uint32Array(BOARD_WIDTH * BOARD_HEIGHT);
  picture.copyTo(image, WHOLE, COLOURS);
  return createHash('sha256').update(new Uint8Array(image.buffer)).digest('hex').slice(0, 16);
}

function seenOf(ops: readonly Op[]): string {
  const picture = new Picture();
  picture.apply(ops);
  return seen(picture);
}

/** Splits an op into several with some of its points each. */
function inPieces(op: Op, random: () => number): Op[] {
  if (op.op !== 'stroke') return [op];
  const points = decodePoints(op.points);
  const pieces: Op[] = [];
  while (points.length > 0) {
    const part = encodePoints(points.splice(0, 1 + Math.floor(random() * 5)));
    const head: StrokeOp = pieces.length === 0 ? { ...op, points: part } : { op: 'stroke', id: op.id, points: part };
    const { end: _end, ...open } = head;
    pieces.push(points.length === 0 && op.end === true ? { ...open, end: true } : open);
  }
  return pieces;
}

test('a drawing is the same in pieces, frame by frame, and all at once', () => {
  for (let seed = 1; seed <= 4; seed++) {
    const random = rng(seed);
    const ops = randomOps(random, 14);
    const picture = new Picture();
    for (const op of ops.flatMap((whole) => inPieces(whole, random))) {
      picture.apply([op]);
      picture.guess([{ x: random() * BOARD_WIDTH, y: random() * BOARD_HEIGHT, pressure: 50 }]);
    }
    picture.guess([]);
    assert.equal(seen(picture), seenOf(ops), `seed ${seed}`);
  }
});

test('the changed area covers every changed pixel', () => {
  const random = rng(7);
  const picture = new Picture();
  const image = new Uint32Array(BOARD_WIDTH * BOARD_HEIGHT);
  for (const op of randomOps(random, 8).flatMap((whole) => inPieces(whole, random))) {
    picture.apply([op]);
    picture.guess([{ x: random() * BOARD_WIDTH, y: random() * BOARD_HEIGHT, pressure: 50 }]);
    picture.copyTo(image, picture.takeDirty(), COLOURS);
  }
  const whole = new Uint32Array(BOARD_WIDTH * BOARD_HEIGHT);
  picture.copyTo(whole, WHOLE, COLOURS);
  assert.ok(Buffer.from(image.buffer).equals(Buffer.from(whole.buffer)));
});

test('an undo removes exactly its item, and a redo restores it', () => {
  const items = randomOps(rng(3), 22).filter(({ op }) => op !== 'undo' && op !== 'redo' && op !== 'clear');
  const picture = new Picture();
  picture.apply(items);
  const before = seen(picture);
  for (const at of [items.length - 1, items.length - 2, 9, 0]) {
    const { id } = items[at] ?? assert.fail();
    picture.apply([{ op: 'undo', id }]);
    assert.equal(seen(picture), seenOf(items.filter((item) => item.id !== id)), `without ${id}`);
    picture.apply([{ op: 'redo', id }]);
    assert.equal(seen(picture), before, `with ${id} again`);
  }
});

test('a clear empties the board, and its undo restores everything', () => {
  const strokes = drawing();
  const picture = new Picture();
  picture.apply(strokes);
  const before = seen(picture);
  picture.apply([{ op: 'clear', id: 900 }]);
  assert.equal(seen(picture), seenOf([]));
  picture.apply([{ op: 'undo', id: 900 }]);
  assert.equal(seen(picture), before);
});

test('invalid ops are ignored', () => {
  const picture = new Picture();
  picture.apply(drawing());
  const before = seen(picture);
  picture.apply([
    { op: 'undo', id: 4_711 },
    { op: 'stroke', id: 4_712, points: [10, 10, 50, 500, 500, 0], end: true },
    { op: 'stroke', id: 1, points: [10, 10, 50, 500, 500, 0], end: true },
    { op: 'redo', id: 1 },
    { op: 'fill', id: 4_713, color: 3, at: [-5, 1_300] },
  ]);
  assert.equal(seen(picture), before);
});

test('playing a drawing point by point ends with the same picture', () => {
  const ops = randomOps(rng(5), 10);
  const picture = new Picture();
  const playout = new Playout(picture);
  ops.forEach((op, index) => playout.push({ seq: index + 1, ops: [op] }));
  for (let frame = 0; !playout.isIdle; frame++) {
    assert.ok(frame < 5_000, 'the playing does not end');
    playout.advance(16.7);
  }
  assert.equal(seen(picture), seenOf(ops));
});

// When this fails, stored drawings look different than before. The browser test has the same
// digest.
test('the example drawing has the expected pixels', () => {
  assert.equal(seenOf(drawing()), '867ba17c7984cee1');
});

test('a pixel with colours over each other keeps two of them', () => {
  const half = pixelOf(0, 12, 32);
  assert.equal(over(half, 12, COVERED), pixelOf(12, 12, 0));
  assert.equal(mainColour(over(half, 4, 60)), 4);
  assert.equal(over(half, 4, 0), half);
  // The eraser over a soft edge makes it fainter, not thicker.
  assert.equal(over(half, 0, 32) >> 10, 16);
  // A faint third colour does not displace two strong ones.
  assert.equal(over(half, 4, 3), half);
});

test('a fill reaches under the soft edge and stays inside', () => {
  const picture = new Picture();
  const ring = Array.from({ length: 41 }, (_, step) => ({
    x: Math.round(800 + 300 * Math.cos((step / 40) * 2 * Math.PI)),
    y: Math.round(600 + 300 * Math.sin((step / 40) * 2 * Math.PI)),
    pressure: 50,
  }));
  picture.apply([{ op: 'stroke', id: 1, color: 12, width: 6, tool: 'pen', points: encodePoints(ring), end: true }]);
  picture.apply([{ op: 'fill', id: 2, color: 4, at: [800, 600] }]);
  const image = new Uint32Array(BOARD_WIDTH * BOARD_HEIGHT);
  picture.copyTo(image, WHOLE, COLOURS);
  const white = COLOURS[pixelOf(0, 0, 0)];
  assert.equal(image[0], white);
  // From the middle outwards no pixel is lighter than the red until the line: no white halo.
  for (let x = 800; x < 1_100; x++) {
    const red = (image[600 * BOARD_WIDTH + x] ?? 0) & 0xff;
    assert.ok(red <= 0xd4, `${x}: ${red}`);
  }
});

test('a fill ends on the whole board, on its own colour, and in a spiral', () => {
  const raster = blankRaster();
  assert.deepEqual(floodFill(raster, 5, 5, 3), WHOLE);
  assert.ok(raster.every((pixel) => pixel === pixelOf(3, 3, 0)));
  assert.ok(floodFill(raster, 5, 5, 3).right === 0);
  // A comb of walls, one pixel thick: the fill passes through all of it.
  for (let x = 1; x < BOARD_WIDTH; x += 2) {
    const gap = x % 4 === 1 ? 0 : BOARD_HEIGHT - 1;
    for (let y = 0; y < BOARD_HEIGHT; y++) if (y !== gap) raster[y * BOARD_WIDTH + x] = pixelOf(12, 12, 0);
  }
  floodFill(raster, 0, 600, 7);
  assert.equal(raster[600 * BOARD_WIDTH + 1_598], pixelOf(7, 7, 0));
  assert.ok(raster.every((pixel) => mainColour(pixel) !== 3));
});
