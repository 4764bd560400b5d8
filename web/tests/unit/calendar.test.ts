/** Days, weeks, months and ranges. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addMonths, daysOfWeek, hourOf, mondayBefore, parseRange, weekOf } from '../../src/clicks/calendar.ts';
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

test('an hour is the UTC hour', () => {
  assert.equal(hourOf(Date.parse('2025-10-02T09:59:59.999Z')), '2025-10-02T09');
  assert.equal(hourOf(Date.parse('2025-10-03T00:30:00+09:00')), '2025-10-02T15');
});

test('an ISO week begins on Monday and belongs to the year of its Thursday', () => {
  for (const [day, week] of [
    ['2025-09-29', '2025-W40'],
    ['2025-10-05', '2025-W40'],
    ['2025-10-06', '2025-W41'],
    ['2024-12-30', '2025-W01'],
    ['2027-01-03', '2026-W53'],
    ['2027-01-04', '2027-W01'],
    ['2023-01-01', '2022-W52'],
    ['2026-12-31', '2026-W53'],
  ] as const)
    assert.equal(weekOf(day), week, day);
});

test('the days of an ISO week are those whose week it is', () => {
  assert.deepEqual(daysOfWeek('2025-W40'), { from: '2025-09-29', to: '2025-10-05' });
  assert.deepEqual(daysOfWeek('2025-W01'), { from: '2024-12-30', to: '2025-01-05' });
  for (let day = '2019-12-01'; day < '2028-02-01'; day = addDays(day, 1)) {
    const { from, to } = daysOfWeek(weekOf(day));
    assert.ok(from <= day && day <= to, day);
    assert.equal(from, mondayBefore(day));
  }
});
