import assert from 'node:assert/strict';
import { test } from 'node:test';
import { depthOf, tideLine } from '../../src/start/tide.ts';

const box = { width: 100, height: 10 };

/** The ends of a path's curves: the days. */
const days = (path: string): number[][] =>
  path.split(/[MC]/).flatMap((part) => (part === '' ? [] : [part.split(' ').map(Number).slice(-2)]));

test('the highest day touches the mark, and a day without clicks still has water', () => {
  assert.equal(depthOf(7, 7, box), 0);
  assert.ok(depthOf(0, 7, box) < box.height);
  assert.ok(depthOf(0, 0, box) < box.height);
});

test('the line goes from edge to edge through every day', () => {
  const path = tideLine([0, 4, 2], box);
  assert.deepEqual(days(path), [
    [0, depthOf(0, 4, box)],
    [50, 0],
    [100, Math.round(depthOf(2, 4, box) * 10) / 10],
  ]);
});

test('between two days the line is never higher or lower than they are', () => {
  const path = tideLine([1, 9, 9, 0, 5], box);
  const numbers = path.split(/[MC]/).map((part) => part.split(' ').map(Number));
  for (const [i, curve] of numbers.entries()) {
    if (curve.length !== 6) continue;
    const [before, after] = [numbers[i - 1]!.at(-1)!, curve[5]!];
    assert.deepEqual([curve[1], curve[3]], [before, after], 'level at both ends');
  }
});

test('one day, or none, is a flat line', () => {
  for (const counts of [[3], []]) {
    const [first, last] = days(tideLine(counts, box));
    assert.equal(first?.[1], last?.[1]);
    assert.equal(last?.[0], box.width);
  }
});
