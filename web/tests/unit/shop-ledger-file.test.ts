/** The stock ledger as a file. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ledgerCsv, ledgerJsonLines } from '../../src/shop/ledgerFile.ts';

const createdAt = '2026-11-21T13:05:00.000000000Z';
const row = {
  id: 'r-1',
  productId: 'mug-035',
  createdAt,
  type: 'OUT',
  quantity: -3,
  previousStock: 45,
  newStock: 42,
  idempotencyKey: 'k-1',
} as const;

test('a row of CSV has quoted texts, and numbers that stay numbers', () => {
  const rows = [{ ...row, reason: 'Sold, "as is"\nin two boxes', orderId: 'o-1', changedBy: '澪' }, row];
  assert.equal(
    ledgerCsv(rows),
    'id,createdAt,type,quantity,previousStock,newStock,reason,orderId,changedBy\r\n' +
      `r-1,${createdAt},OUT,-3,45,42,"Sold, ""as is""\nin two boxes",o-1,澪\r\n` +
      `r-1,${createdAt},OUT,-3,45,42,,,\r\n`,
  );
});

test('no text of a CSV file begins a formula', () => {
  const cellOf = (reason: string) =>
    ledgerCsv([{ ...row, reason }])
      .split('45,42,')[1]
      ?.replace(/,,\r\n$/, '');
  for (const [text, cell] of [
    ['=HYPERLINK(A1)', "'=HYPERLINK(A1)"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['＝１', "'＝１"],
    ["'=1", "''=1"],
    ['\t=1', "'\t'=1"],
    ['a;=1', "a;'=1"],
    ['a|+1', "a|'+1"],
    ['a\n=1', `"a\n'=1"`],
    ['a=b', 'a=b'],
    ['plain - text', 'plain - text'],
  ])
    assert.equal(cellOf(String(text)), cell);
});

test('a line of JSON has the members of a row, and texts unchanged', () => {
  const { productId, idempotencyKey, ...shown } = { ...row, reason: '=1\n"', changedBy: 'Mio' };
  const lines = ledgerJsonLines([{ ...shown, productId, idempotencyKey }, row]).split('\n');
  assert.equal(lines.length, 3);
  assert.deepEqual(JSON.parse(lines[0] ?? ''), shown);
  assert.equal(lines[2], '');
});
