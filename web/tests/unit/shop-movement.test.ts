/** Stock movements and stock levels. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { levelOf, marksOf } from '../../src/shop/level.ts';
import { isId, parseQuantity, stockAfter } from '../../src/shop/movement.ts';

test('received and removed quantities are at least 1', () => {
  for (const type of ['IN', 'OUT'] as const) {
    assert.equal(parseQuantity('1', type), 1);
    assert.equal(parseQuantity('0', type), 'zero');
    assert.equal(parseQuantity('-1', type), 'negative');
    assert.equal(parseQuantity('1000000000', type), 1_000_000_000);
    assert.equal(parseQuantity('1000000001', type), 'tooLarge');
  }
});

test('an adjustment may be negative but not 0', () => {
  assert.equal(parseQuantity('-1', 'ADJUST'), -1);
  assert.equal(parseQuantity('+1', 'ADJUST'), 1);
  assert.equal(parseQuantity('0', 'ADJUST'), 'zero');
  assert.equal(parseQuantity('-1000000001', 'ADJUST'), 'tooLarge');
});

test('a count is between 0 and the maximum stock', () => {
  assert.equal(parseQuantity('0', 'COUNT'), 0);
  assert.equal(parseQuantity('-1', 'COUNT'), 'negative');
  assert.equal(parseQuantity('1,000,000,000,000', 'COUNT'), 10 ** 12);
  assert.equal(parseQuantity('1000000000001', 'COUNT'), 'tooLarge');
});

test('a movement changes the stock', () => {
  assert.deepEqual(
    (['IN', 'OUT', 'COUNT'] as const).map((type) => stockAfter(10, type, 3)),
    [13, 7, 3],
  );
  assert.equal(stockAfter(10, 'ADJUST', -3), 7);
});

test('an ID has only characters that are safe in an address', () => {
  assert.ok(isId('p-1.B_2') && isId('x'.repeat(64)));
  for (const text of ['', '.', '..', 'a b', 'a#b', '商品', 'x'.repeat(65), 'a/b']) assert.ok(!isId(text), text);
});

test('the level is low at the threshold and none at 0', () => {
  const at = (stock: number): string => levelOf({ stock, lowStockThreshold: 5 });
  assert.deepEqual([6, 5, 1, 0].map(at), ['plenty', 'low', 'low', 'none']);
  assert.equal(levelOf({ stock: 1, lowStockThreshold: 0 }), 'plenty');
});

test('all marks are within the gauge', () => {
  for (const [stock, reserved, lowStockThreshold] of [
    [0, 0, 0],
    [10, 4, 5],
    [1, 1, 100],
    [10 ** 12, 0, 10 ** 12],
  ] as const) {
    const marks = marksOf({ stock, reserved, available: stock - reserved, lowStockThreshold });
    assert.ok(marks.available + marks.reserved <= 1 && (marks.lowLine ?? 0) < 1);
    assert.equal(marks.lowLine === null, lowStockThreshold === 0);
  }
});
