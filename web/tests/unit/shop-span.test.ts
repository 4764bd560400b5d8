/** The time span of the price chart. */
process.env['TZ'] = 'Europe/Berlin';

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { localDay } from '../../src/shared/days.ts';
import { parseSpan, presetDays, spanOf } from '../../src/shop/span.ts';

const now = Date.parse('2026-11-21T10:00:00+01:00');

test('a day is in the reader’s time zone', () => {
  assert.equal(localDay(Date.parse('2026-03-28T22:59:59Z')), '2026-03-28');
  assert.equal(localDay(Date.parse('2026-03-28T23:00:00Z')), '2026-03-29');
});

test('a span ends with its last day, and never in the future', () => {
  assert.deepEqual(spanOf({ from: '2026-11-01', to: '2026-11-03' }, now), {
    fromMs: Date.parse('2026-11-01T00:00:00+01:00'),
    toMs: Date.parse('2026-11-04T00:00:00+01:00'),
    isOpen: false,
  });
  assert.deepEqual(spanOf(presetDays(30, now), now), {
    fromMs: Date.parse('2026-10-23T00:00:00+02:00'),
    toMs: now,
    isOpen: true,
  });
  assert.deepEqual(spanOf(presetDays('all', now), now), { fromMs: null, toMs: now, isOpen: true });
});

test('a day on which the clocks change has 23 hours', () => {
  const day = spanOf({ from: '2026-03-29', to: '2026-03-29' }, now);
  assert.equal(day.toMs - Number(day.fromMs), 23 * 3_600_000);
});

test('30 days are today and the 29 before', () => {
  assert.deepEqual(presetDays(30, now), { from: '2026-10-23', to: '2026-11-21' });
});

test('an invalid or future range is rejected', () => {
  assert.deepEqual(parseSpan('2026-11-21', '2026-12-31', now), { from: '2026-11-21', to: '2026-12-31' });
  assert.equal(parseSpan('2026-11-22', '2026-12-31', now), 'future');
  assert.equal(parseSpan('2026-11-02', '2026-11-01', now), 'reversed');
  assert.equal(parseSpan('', '2026-11-01', now), 'incomplete');
});
