/** Days, months and ranges. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addMonths, monthsBeside, parseRange } from '../../src/clicks/calendar.ts';
import { addDays, dayCount, dayOf, lastDays } from '../../src/shared/days.ts';

test('a day is the UTC day', () => {
  assert.equal(dayOf(Date.parse('2025-10-02T23:59:59.999Z')), '2025-10-02');
  assert.equal(dayOf(Date.parse('2025-10-03T00:00:00.000+09:00')), '2025-10-02');
});

test('adding days and months crosses years and leap days', () => {
  assert.equal(addDays('2024-02-28', 1), '2024-02-29');
  assert.equal(addDays('2026-01-01', -1), '2025-12-31');
  assert.equal(addMonths('2026-01', -1), '2025-12');
  assert.equal(addMonths('2025-12', 2), '2026-02');
});

test('the last 7 days include today', () => {
  const range = lastDays('2025-03-02', 7);
  assert.deepEqual(range, { from: '2025-02-24', to: '2025-03-02' });
  assert.equal(dayCount(range), 7);
});

test('a range can be one day', () => {
  assert.deepEqual(parseRange('2025-10-02', '2025-10-02'), { from: '2025-10-02', to: '2025-10-02' });
});

test('a reversed range is rejected', () => {
  assert.equal(parseRange('2025-10-03', '2025-10-02'), 'reversed');
});

test('a range has at most 400 days', () => {
  assert.equal(typeof parseRange('2025-01-01', addDays('2025-01-01', 399)), 'object');
  assert.equal(parseRange('2025-01-01', addDays('2025-01-01', 400)), 'tooLong');
});

test('a missing or impossible date is not a range', () => {
  for (const text of ['', '2025-02-30', '2025-13-01', '2025-1-1', 'yesterday', '2025-10-02T00:00']) {
    assert.equal(parseRange(text, '2025-10-02'), 'incomplete', text);
    assert.equal(parseRange('2025-10-02', text), 'incomplete', text);
  }
});

test('the months of a range are the last twelve, or more for a longer range', () => {
  assert.deepEqual(monthsBeside({ from: '2025-10-01', to: '2025-10-07' }), { from: '2024-11', to: '2025-10' });
  assert.deepEqual(monthsBeside({ from: '2024-09-20', to: '2025-10-07' }), { from: '2024-09', to: '2025-10' });
});
