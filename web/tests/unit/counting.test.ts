/** When a click is treated as counted. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counting, WAIT_MAX_MS } from '../../src/clicks/counting.ts';

/** One click, sent and stored after a total of 100 was read. */
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

test('a click that the total includes before the response arrives is counted once it is stored', () => {
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

test('an earlier rise of the total does not count a later click', () => {
  const counting = storedClick();
  assert.equal(counting.observe(150, 10), 1);
  counting.underWay(1);
  counting.stored(1, 20);
  counting.underWay(0);
  assert.equal(counting.observe(150, 30), 0);
  assert.equal(counting.observe(151, 40), 1);
});

test('a rejected click is not waited for', () => {
  const counting = new Counting();
  counting.observe(100, 0);
  counting.underWay(1);
  counting.underWay(0);
  assert.equal(counting.observe(105, 10), 0);
  assert.equal(counting.waiting, 0);
});

test('the wait for a click has a limit', () => {
  const counting = storedClick();
  assert.equal(counting.observe(100, WAIT_MAX_MS), 0);
  assert.equal(counting.waiting, 0);
});
