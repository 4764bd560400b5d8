/** Days of the reader's time zone from UTC hours. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addUp, isExactIn, localDayOf } from '../../src/clicks/localDays.ts';
import { addDays, type DayRange } from '../../src/shared/days.ts';

/** One click in each UTC hour of a range and a day around it. */
function hours({ from, to }: DayRange) {
  const first = Date.parse(addDays(from, -1));
  const count = (Date.parse(addDays(to, 2)) - first) / 3_600_000;
  return Array.from({ length: count }, (_, i) => ({
    ...{ period: new Date(first + i * 3_600_000).toISOString().slice(0, 13), totalClicks: 1, uniqueUsers: 1 },
  }));
}

test('a local day has its own hours, 23 or 25 when the clocks change', () => {
  const clicks = (zone: string, range: DayRange) =>
    addUp(zone, range, hours(range)).map(({ totalClicks }) => totalClicks);
  assert.deepEqual(clicks('Asia/Tokyo', { from: '2026-11-01', to: '2026-11-03' }), [24, 24, 24]);
  assert.deepEqual(clicks('America/New_York', { from: '2026-10-31', to: '2026-11-02' }), [24, 25, 24]);
  assert.deepEqual(clicks('Europe/Berlin', { from: '2026-03-28', to: '2026-03-30' }), [24, 23, 24]);
});

test('a click of a UTC evening belongs to the next day in Tokyo', () => {
  const evening = [{ period: '2026-11-01T15', totalClicks: 5, uniqueUsers: 1 }];
  const days = addUp('Asia/Tokyo', { from: '2026-11-01', to: '2026-11-02' }, evening);
  assert.deepEqual(days, [
    { period: '2026-11-01', totalClicks: 0 },
    { period: '2026-11-02', totalClicks: 5 },
  ]);
  assert.equal(localDayOf('Pacific/Pago_Pago', Date.parse('2026-11-01T10:59:59Z')), '2026-10-31');
});

test('only zones of whole hours are exact', () => {
  const range = { from: '2026-11-01', to: '2026-11-30' };
  for (const zone of ['Asia/Tokyo', 'America/New_York', 'Pacific/Kiritimati', 'UTC']) {
    assert.ok(isExactIn(zone, range), zone);
  }
  for (const zone of ['Asia/Kolkata', 'Asia/Kathmandu', 'Australia/Adelaide']) assert.ok(!isExactIn(zone, range), zone);
  // Half an hour of daylight saving time, from October to April.
  assert.ok(!isExactIn('Australia/Lord_Howe', { from: '2026-05-01', to: '2026-05-02' }));
  assert.ok(isExactIn('Australia/Lord_Howe', { from: '2026-12-01', to: '2026-12-02' }));
});
