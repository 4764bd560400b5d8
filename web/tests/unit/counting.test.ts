/** When a click passes for counted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counting, WAIT_MAX_MS } from '../../src/clicks/counting.ts';

/** One click, sent and stored, on a page that knew a total of 100. */
function storedClick(): Counting {
  const counting = new Counting();
  counting.observe(100, 0);
  counting.underWay(1);
  counting.stored(1, 0);
  counting.underWay(0);
  return counting;
}

test('a stored click waits until the total has risen by it', () => {
  const counting = storedClick();
  assert.equal(counting.observe(100, 10), 0);
  assert.equal(counting.waiting, 1);
  assert.equal(counting.observe(101, 20), 1);
  assert.equal(counting.waiting, 0);
});

test('a click that the total includes before the answer came is counted once it is stored', () => {
  const counting = new Counting();
  counting.observe(100, 0);
  counting.underWay(1);
  assert.equal(counting.observe(101, 10), 0);
  counting.stored(1, 20);
  counting.underWay(0);
  assert.equal(counting.observe(101, 30), 1);
});

test('two clicks need a rise of two', () => {
  const counting = new Counting();
  counting.observe(100, 0);
  counting.underWay(2);
  counting.stored(1, 0);
  counting.stored(1, 0);
  counting.underWay(0);
  assert.equal(counting.observe(101, 10), 1);
  assert.equal(counting.waiting, 1);
  assert.equal(counting.observe(102, 20), 1);
});

test('what the total rose by earlier does not count a later click', () => {
  const counting = storedClick();
  assert.equal(counting.observe(150, 10), 1);
  counting.underWay(1);
  counting.stored(1, 20);
  counting.underWay(0);
  assert.equal(counting.observe(150, 30), 0);
  assert.equal(counting.observe(151, 40), 1);
});

test('a refused click leaves nothing to wait for', () => {
  const counting = new Counting();
  counting.observe(100, 0);
  counting.underWay(1);
  counting.underWay(0);
  assert.equal(counting.observe(105, 10), 0);
  assert.equal(counting.waiting, 0);
});

test('a click is not waited for without end', () => {
  const counting = storedClick();
  assert.equal(counting.observe(100, WAIT_MAX_MS), 0);
  assert.equal(counting.waiting, 0);
});
