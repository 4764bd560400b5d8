/** Parsing and formatting of money and quantities. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exponentOf, formatMoney, parseMoney, parseWhole, plainMoney, PRICE_MAX } from '../../src/shared/numbers.ts';

test('a price has the decimal places of its currency', () => {
  assert.equal(formatMoney('en-GB', 1250, 'EUR'), '€12.50');
  assert.equal(formatMoney('en-GB', 1200, 'JPY'), 'JP¥1,200');
  assert.equal(formatMoney('en-GB', 1250, 'KWD'), 'KWD\u00a01.250');
  // `Intl` omits the fraction of dinars by default; ISO 4217 has three decimal places.
  assert.equal(formatMoney('en-GB', 1250, 'IQD'), 'IQD\u00a01.250');
  assert.equal(formatMoney('en-GB', 999_999_999_999_999, 'EUR'), '€9,999,999,999,999.99');
  assert.equal(formatMoney('en-GB', 5, 'not a code'), '0.05 not a code');
});

test('a price in a field is read back as the same price', () => {
  for (const currency of ['EUR', 'JPY', 'KWD', 'CLF']) {
    for (const minor of [0, 1, 9, 10, 99, 100, 1_234, 12_345_678, PRICE_MAX]) {
      assert.equal(parseMoney(plainMoney(minor, currency), currency), minor, `${minor} ${currency}`);
    }
  }
  assert.equal(exponentOf('XXX'), 2);
});

test('prices can be typed in many formats', () => {
  for (const typed of [
    '1234.50',
    '1,234.50',
    '1.234,50',
    '1 234,5',
    '1’234.50',
    '€1,234.50',
    '１２３４．５',
    'eur 1234.5',
  ]) {
    assert.equal(parseMoney(typed, 'EUR'), 123_450, typed);
  }
  for (const typed of ['1200', '1,200', '¥1,200', '￥１，２００', '1200円', '1200.00', 'JPY1200']) {
    assert.equal(parseMoney(typed, 'JPY'), 1_200, typed);
  }
  assert.equal(parseMoney('12,-', 'EUR'), 1_200);
  assert.equal(parseMoney('.5', 'EUR'), 50);
  assert.equal(parseMoney('12.', 'EUR'), 1_200);
  assert.equal(parseMoney('12,34,567', 'INR'), 123_456_700);
  assert.equal(parseMoney('0', 'EUR'), 0);
});

test('one comma before three digits separates thousands; one point is ambiguous', () => {
  assert.equal(parseMoney('1,234', 'EUR'), 123_400);
  assert.equal(parseMoney('1.234', 'EUR'), 'ambiguous');
  assert.equal(parseMoney('1.200', 'JPY'), 'ambiguous');
  assert.equal(parseMoney('1.234.567', 'EUR'), 123_456_700);
  assert.equal(parseMoney('1234.567', 'EUR'), 'tooPrecise');
  assert.equal(parseMoney('0.234', 'EUR'), 'tooPrecise');
  assert.equal(parseMoney('1.234', 'KWD'), 1_234);
  assert.equal(parseMoney('1,234', 'KWD'), 1_234_000);
  assert.equal(parseMoney('1,23', 'KWD'), 1_230);
});

test('invalid prices have different errors', () => {
  assert.equal(parseMoney('  ', 'EUR'), 'empty');
  assert.equal(parseMoney('€', 'EUR'), 'empty');
  assert.equal(parseMoney('-5', 'EUR'), 'negative');
  assert.equal(parseMoney('−5', 'EUR'), 'negative');
  assert.equal(parseMoney('1.5', 'JPY'), 'tooPrecise');
  assert.equal(parseMoney('1.2345', 'EUR'), 'tooPrecise');
  assert.equal(parseMoney(plainMoney(PRICE_MAX + 1, 'EUR'), 'EUR'), 'tooLarge');
  for (const typed of ['twelve', '1,2,3', '1.2.3', '1,23.45', '12..5', '.', '1e3', '$1 or 2']) {
    assert.equal(parseMoney(typed, 'EUR'), 'notANumber', typed);
  }
});

test('a quantity is a whole number with a sign', () => {
  assert.equal(parseWhole('1,200'), 1_200);
  assert.equal(parseWhole('1.200'), 'notANumber');
  assert.equal(parseWhole('−5'), -5);
  assert.equal(parseWhole('+5'), 5);
  assert.equal(parseWhole('１２'), 12);
  assert.ok(Object.is(parseWhole('-0'), 0));
  assert.equal(parseWhole(''), 'empty');
  assert.equal(parseWhole('1.5'), 'notANumber');
  assert.equal(parseWhole('five'), 'notANumber');
  assert.equal(parseWhole('1000000001'), 'tooLarge');
});
