/** Prices that staff have to confirm. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isUnusualPrice } from '../../src/shop/price.ts';

test('a price is unusual when it is more than ten times as high or as low', () => {
  const unusual = (before: number, prices: readonly number[]) =>
    prices.filter((price) => isUnusualPrice(before, price));
  assert.deepEqual(unusual(1_000, [99, 100, 1_000, 10_000, 10_001]), [99, 10_001]);
});

test('a price of 0 is unusual, and after it no other price is', () => {
  assert.deepEqual(
    [1_000, 0].map((before) => isUnusualPrice(before, 0)),
    [true, true],
  );
  assert.deepEqual(
    [1, 1_000, 10 ** 15].map((price) => isUnusualPrice(0, price)),
    [false, false, false],
  );
});
