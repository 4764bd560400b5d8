/** The months of the calendar. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addMonths, columnOf, dayByKey, dayInZone, daysIn, inMonth, weeksOf } from '../../src/okusuri/months.ts';

test('months continue over the end of a year', () => {
  assert.equal(addMonths('2026-11', 2), '2027-01');
  assert.equal(addMonths('2026-01', -1), '2025-12');
  assert.equal(addMonths('2026-03', -27), '2023-12');
});

test('a month has its days, in leap years too', () => {
  assert.deepEqual(['2026-02', '2024-02', '1900-02', '2026-04', '2026-12'].map(daysIn), [28, 29, 28, 30, 31]);
});

test('every day of a month appears once, in its column, in order', () => {
  for (let month = '2023-12'; month < '2027-02'; month = addMonths(month, 1)) {
    for (const weekStart of [0, 1] as const) {
      const weeks = weeksOf(month, weekStart);
      const days = weeks.flat().filter((day) => day !== null);
      assert.equal(days.length, daysIn(month));
      assert.equal(days[0], `${month}-01`);
      assert.deepEqual(days, days.toSorted());
      for (const week of weeks) {
        assert.equal(week.length, 7);
        assert.ok(week.some((day) => day !== null));
        week.forEach((day, column) => day && assert.equal(columnOf(day, weekStart), column));
      }
    }
  }
});

test('the keys move as in the ARIA grid pattern', () => {
  // A Wednesday.
  const day = '2026-11-18';
  const keys = ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End', 'PageUp', 'PageDown', 'Enter'];
  assert.deepEqual(
    keys.map((key) => dayByKey(day, key, 1)),
    [
      ...['2026-11-17', '2026-11-19', '2026-11-11', '2026-11-25', '2026-11-16', '2026-11-22', '2026-10-18'],
      ...['2026-12-18', null],
    ],
  );
  assert.equal(dayByKey(day, 'Home', 0), '2026-11-15');
  assert.equal(dayByKey('2026-03-31', 'PageUp', 1), '2026-02-28');
});

test('a day that a month does not have becomes its last day', () => {
  assert.equal(inMonth('2024-01-31', '2024-02'), '2024-02-29');
});

test('today is the date in the user’s time zone', () => {
  const moment = Date.UTC(2026, 10, 21, 15, 30);
  assert.equal(dayInZone(moment, 'Asia/Tokyo'), '2026-11-22');
  assert.equal(dayInZone(moment, 'America/Los_Angeles'), '2026-11-21');
  assert.match(dayInZone(moment, 'Nowhere/Atlantis'), /^2026-11-2[12]$/);
});
