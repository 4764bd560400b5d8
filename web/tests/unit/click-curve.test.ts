import assert from 'node:assert/strict';
import { test } from 'node:test';
import { curveY, curvePath } from '../../src/start/clickCurve.ts';

const box = { width: 100, height: 10 };

/** The end points of a path's curves, one for each day. */
const days = (path: string): number[][] =>
  path.split(/[MC]/).flatMap((part) => (part === '' ? [] : [part.split(' ').map(Number).slice(-2)]));

test('the highest day is at the top, and a day without clicks is above the bottom', () => {
  assert.equal(curveY(7, 7, box), 0);
  assert.ok(curveY(0, 7, box) < box.height);
  assert.ok(curveY(0, 0, box) < box.height);
});

test('the curve goes from edge to edge through every day', () => {
  const path = curvePath([0, 4, 2], box);
  assert.deepEqual(days(path), [
    [0, curveY(0, 4, box)],
    [50, 0],
    [100, Math.round(curveY(2, 4, box) * 10) / 10],
  ]);
});

test('between two days the curve stays between their values', () => {
  const path = curvePath([1, 9, 9, 0, 5], box);
  const numbers = path.split(/[MC]/).map((part) => part.split(' ').map(Number));
  for (const [i, curve] of numbers.entries()) {
    if (curve.length !== 6) continue;
    const [before, after] = [numbers[i - 1]!.at(-1)!, curve[5]!];
    assert.deepEqual([curve[1], curve[3]], [before, after], 'level at both ends');
  }
});

test('one day or none is a flat line', () => {
  for (const counts of [[3], []]) {
    const [first, last] = days(curvePath(counts, box));
    assert.equal(first?.[1], last?.[1]);
    assert.equal(last?.[0], box.width);
  }
});
