/** The points of a stroke, and the keys and colours of the board. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DIGIT_COLOURS, PALETTE } from '../../src/game/board/palette.ts';
import type { Point } from '../../src/game/board/brush.ts';
import { decodePoints, encodePoints, snapped, simplified } from '../../src/game/board/points.ts';
import { followed } from '../../src/game/board/pointer.ts';
import { commandOf } from '../../src/game/board/shortcuts.ts';
import { rng } from './board-drawing.ts';
import { words } from '../../src/game/words.ts';

test('decoding returns the encoded points', () => {
  const random = rng(1);
  const points = Array.from({ length: 50 }, () =>
    snapped({ x: random() * 3_000 - 700, y: random() * 3_000 - 700, pressure: random() * 150 }),
  );
  assert.deepEqual(decodePoints(encodePoints(points)), points);
  assert.ok(points.every(({ x, y }) => x >= -200 && x <= 1_800 && y >= -200 && y <= 1_400));
});

test('simplifying moves no point by a whole unit, and keeps the last one', () => {
  const random = rng(2);
  const start = { x: 800, y: 600, pressure: 50 };
  let [x, y, angle] = [start.x, start.y, 0];
  const points = Array.from({ length: 300 }, () => {
    angle += random() - 0.5;
    x += 4 * Math.cos(angle);
    y += 4 * Math.sin(angle);
    return snapped({ x, y, pressure: 50 });
  });
  const fewer = simplified(start, points, 10);
  assert.ok(fewer.length < points.length * 0.8, `${fewer.length} of ${points.length}`);
  assert.deepEqual(fewer.at(-1), points.at(-1));
  const line = [start, ...fewer];
  for (const point of points) {
    const off = Math.min(
      ...line.slice(1).map((to, index) => {
        const from = line[index] ?? start;
        const length = Math.hypot(to.x - from.x, to.y - from.y);
        const along = ((point.x - from.x) * (to.x - from.x) + (point.y - from.y) * (to.y - from.y)) / length ** 2;
        const t = Math.min(1, Math.max(0, along));
        return Math.hypot(point.x - from.x - t * (to.x - from.x), point.y - from.y - t * (to.y - from.y));
      }),
    );
    assert.ok(off < 1, `${off}`);
  }
});

test('a straight line keeps a point every forty units, and a change of pressure keeps one too', () => {
  const start = { x: 0, y: 0, pressure: 50 };
  const straight = Array.from({ length: 100 }, (_, step) => ({ x: 4 * (step + 1), y: 0, pressure: 50 }));
  assert.ok(simplified(start, straight, 10).length >= 10);
  assert.ok(simplified(start, straight, 10).length <= 16);
  const pressed = [
    { x: 10, y: 0, pressure: 90 },
    { x: 20, y: 0, pressure: 50 },
  ];
  assert.equal(simplified(start, pressed, 40).length, 2);
  assert.equal(simplified(start, [start, start], 40).length, 1);
});

/** The stroke of a mouse at these places, as it is sent. */
function drawn(places: readonly (readonly [number, number])[]): readonly Point[] {
  const [start = { x: 0, y: 0, pressure: 50 }, ...rest] = places.map(([x, y]) => ({ x, y, pressure: 50 }));
  let at = start;
  return simplified(
    start,
    rest.map((to) => (at = followed(at, to))),
    10,
  ).map(snapped);
}

test('the corners of a fast stroke stay, and tremor is smoothed', () => {
  const corners = [
    [600, 0],
    [600, 400],
    [0, 400],
  ] as const;
  const steps = [[0, 0], [200, 0], [400, 0], corners[0], [600, 200], corners[1], [300, 400], corners[2]] as const;
  const stroke = drawn(steps);
  for (const [x, y] of corners)
    assert.ok(
      stroke.some((at) => at.x === x && at.y === y),
      `${x}, ${y}`,
    );
  const tremor = drawn(Array.from({ length: 40 }, (_, i) => [4 * i, i % 2 === 0 ? 3 : -3] as const));
  assert.ok(
    tremor.slice(2, -2).every(({ y }) => Math.abs(y) < 3),
    JSON.stringify(tremor),
  );
});

// --- colours

type Triple = readonly [number, number, number];

/** Simulates dichromacy on linear RGB: Machado, Oliveira and Fernandes 2009, severity 1. */
const VISIONS: Readonly<Record<string, readonly Triple[]>> = {
  'ordinary eyes': [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const times = (rows: readonly Triple[], [a, b, c]: Triple): Triple => {
  const [x = 0, y = 0, z = 0] = rows.map((row) => row[0] * a + row[1] * b + row[2] * c);
  return [x, y, z];
};

function linear(hex: string): Triple {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return [red, green, blue];
}

/** Ottosson's OKLab: a perceptual colour space, where a distance of about 0.02 is just visible. */
function oklab(rgb: Triple): Triple {
  const cones = times(
    [
      [0.4122214708, 0.5363325363, 0.0514459929],
      [0.2119034982, 0.6806995451, 0.1073969566],
      [0.0883024619, 0.2817188376, 0.6299787005],
    ],
    rgb,
  );
  return times(
    [
      [0.2104542553, 0.793617785, -0.0040720468],
      [1.9779984951, -2.428592205, 0.4505937099],
      [0.0259040371, 0.7827717662, -0.808675766],
    ],
    [Math.cbrt(cones[0]), Math.cbrt(cones[1]), Math.cbrt(cones[2])],
  );
}

for (const [vision, rows] of Object.entries(VISIONS)) {
  test(`any two colours can be distinguished with ${vision}`, () => {
    const least = vision === 'ordinary eyes' ? 0.1 : 0.065;
    const labs = PALETTE.map(({ hex }) => {
      const [red, green, blue] = times(rows, linear(hex)).map((value) => Math.min(1, Math.max(0, value))) as [
        number,
        number,
        number,
      ];
      return oklab([red, green, blue]);
    });
    for (const [i, a] of labs.entries()) {
      for (const [j, b] of labs.entries()) {
        if (j >= i) continue;
        const distance = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
        assert.ok(distance >= least, `${PALETTE[i]?.name} and ${PALETTE[j]?.name}: ${distance.toFixed(3)}`);
      }
    }
  });
}

test('there are 24 colours with unique names in each language', () => {
  assert.equal(PALETTE.length, 24);
  for (const { board } of Object.values(words))
    assert.equal(new Set(PALETTE.map(({ name }) => board.colours[name])).size, 24);
});

// --- keys

const plain = { ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, isComposing: false };

test('keys select tools, sizes and colours, and undo and redo', () => {
  assert.deepEqual(commandOf({ ...plain, key: 'b', code: 'KeyB' }), { kind: 'tool', tool: 'pen' });
  assert.deepEqual(commandOf({ ...plain, key: 'こ', code: 'KeyB' }), { kind: 'tool', tool: 'pen' });
  assert.deepEqual(commandOf({ ...plain, key: ']', code: 'BracketRight' }), { kind: 'size', step: 1 });
  assert.deepEqual(commandOf({ ...plain, key: '1', code: 'Digit1' }), { kind: 'colour', colour: DIGIT_COLOURS[0] });
  assert.deepEqual(commandOf({ ...plain, key: '0', code: 'Digit0' }), { kind: 'colour', colour: DIGIT_COLOURS[9] });
  assert.deepEqual(commandOf({ ...plain, key: 'z', code: 'KeyZ', ctrlKey: true }), { kind: 'undo' });
  assert.deepEqual(commandOf({ ...plain, key: 'Z', code: 'KeyZ', metaKey: true, shiftKey: true }), { kind: 'redo' });
  assert.deepEqual(commandOf({ ...plain, key: 'Delete', code: 'Delete' }), { kind: 'clear' });
});

test('shortcuts of the browser and keys of a kana conversion are ignored', () => {
  assert.equal(commandOf({ ...plain, key: 'f', code: 'KeyF', ctrlKey: true }), null);
  assert.equal(commandOf({ ...plain, key: 'b', code: 'KeyB', altKey: true }), null);
  assert.equal(commandOf({ ...plain, key: 'b', code: 'KeyB', isComposing: true }), null);
  assert.equal(commandOf({ ...plain, key: 'x', code: 'KeyX' }), null);
});
