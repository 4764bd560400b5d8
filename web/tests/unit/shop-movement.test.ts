/** Movements of goods, and how full a shelf is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { levelOf, marksOf } from '../../src/shop/level.ts';
import { isId, parseQuantity, stockAfter } from '../../src/shop/movement.ts';

test('goods come and go by at least one', () => {
  for (const type of ['IN', 'OUT'] as const) {
    assert.equal(parseQuantity('1', type), 1);
    assert.equal(parseQuantity('0', type), 'sign');
    assert.equal(parseQuantity('-1', type), 'sign');
    assert.equal(parseQuantity('1000000000', type), 1_000_000_000);
    assert.equal(parseQuantity('1000000001', type), 'tooLarge');
  }
});

test('a correction has a sign and is not nothing', () => {
  assert.equal(parseQuantity('-1', 'ADJUST'), -1);
  assert.equal(parseQuantity('+1', 'ADJUST'), 1);
  assert.equal(parseQuantity('0', 'ADJUST'), 'zero');
  assert.equal(parseQuantity('-1000000001', 'ADJUST'), 'tooLarge');
});

test('a count may find nothing, and as much as a shelf can hold', () => {
  assert.equal(parseQuantity('0', 'COUNT'), 0);
  assert.equal(parseQuantity('-1', 'COUNT'), 'sign');
  assert.equal(parseQuantity('1,000,000,000,000', 'COUNT'), 10 ** 12);
  assert.equal(parseQuantity('1000000000001', 'COUNT'), 'tooLarge');
});

test('what a movement makes of a stock', () => {
  assert.deepEqual(
    (['IN', 'OUT', 'COUNT'] as const).map((type) => stockAfter(10, type, 3)),
    [13, 7, 3],
  );
  assert.equal(stockAfter(10, 'ADJUST', -3), 7);
});

test('an id is what an address can carry', () => {
  assert.ok(isId('p-1.B_2') && isId('x'.repeat(64)));
  for (const text of ['', '.', '..', 'a b', 'a#b', '商品', 'x'.repeat(65), 'a/b']) assert.ok(!isId(text), text);
});

test('a shelf is low from its threshold on, and empty at nothing', () => {
  const at = (stock: number): string => levelOf({ stock, lowStockThreshold: 5 });
  assert.deepEqual([6, 5, 1, 0].map(at), ['plenty', 'low', 'low', 'none']);
  assert.equal(levelOf({ stock: 1, lowStockThreshold: 0 }), 'plenty');
});

test('the gauge holds all of its marks', () => {
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
