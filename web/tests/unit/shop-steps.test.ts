/** The steps of a price. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lowestOf, shareOf, stepAt, stepsWithin, type PriceBefore } from '../../src/shop/steps.ts';

const change = (atMs: number, price: number) => ({ atMs, price });
const span = { fromMs: 1_000, toMs: 2_000 };
/** A price that was set long before the span. */
const before = (price: number): PriceBefore => ({ price, sinceMs: 400 });

test('a span begins with the price that was in effect and ends with the last one', () => {
  assert.deepEqual(stepsWithin(span, [change(1_800, 30), change(1_500, 10)], before(20)), [
    { atMs: 1_000, price: 20, sinceMs: 400 },
    { atMs: 1_500, price: 10, sinceMs: 1_500 },
    { atMs: 1_800, price: 30, sinceMs: 1_800 },
    { atMs: 2_000, price: 30, sinceMs: 1_800 },
  ]);
});

test('a span without a change is one flat step', () => {
  assert.deepEqual(stepsWithin(span, [], before(20)), [
    { atMs: 1_000, price: 20, sinceMs: 400 },
    { atMs: 2_000, price: 20, sinceMs: 400 },
  ]);
  assert.equal(stepsWithin(span, [], { price: 20, sinceMs: null }).at(-1)?.sinceMs, null);
});

test('a product without an earlier price begins with its first', () => {
  assert.deepEqual(stepsWithin(span, [change(1_500, 10)], null), [
    { atMs: 1_500, price: 10, sinceMs: 1_500 },
    { atMs: 2_000, price: 10, sinceMs: 1_500 },
  ]);
  assert.deepEqual(stepsWithin({ fromMs: null, toMs: 2_000 }, [], null), []);
});

test('the lowest price includes the price in effect when the span began', () => {
  assert.deepEqual(lowestOf(stepsWithin(span, [change(1_500, 30)], before(20))), {
    price: 20,
    fromMs: 1_000,
    untilMs: 1_500,
  });
});

test('of equal lowest prices the latest period is returned', () => {
  const steps = stepsWithin(
    span,
    [change(1_900, 30), change(1_700, 10), change(1_600, 10), change(1_400, 30)],
    before(10),
  );
  assert.deepEqual(lowestOf(steps), { price: 10, fromMs: 1_600, untilMs: 1_900 });
  assert.deepEqual(lowestOf(stepsWithin(span, [change(1_500, 5)], before(20))), {
    price: 5,
    fromMs: 1_500,
    untilMs: 2_000,
  });
  assert.equal(lowestOf([]), null);
});

test('a moment between two changes has the earlier one’s price', () => {
  const steps = stepsWithin(span, [change(1_800, 30), change(1_500, 10)], before(20));
  assert.deepEqual(
    [900, 1_000, 1_499, 1_500, 1_799, 2_500].map((atMs) => stepAt(steps, atMs)),
    [0, 0, 0, 1, 1, 3],
  );
});

test('the relative change is null without a previous price', () => {
  assert.equal(shareOf({ price: 80, previousPrice: 100 }), 80 / 100 - 1);
  assert.equal(shareOf({ price: 80 }), null);
  assert.equal(shareOf({ price: 80, previousPrice: 0 }), null);
});
