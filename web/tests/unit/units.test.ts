/** The units of time of the chart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { begunCount, isSameView, periodRange, PRESETS, presetRange, UNITS } from '../../src/clicks/units.ts';
import { parseRange } from '../../src/clicks/calendar.ts';

const today = '2026-11-21';

test('a preset has so many days, weeks or months, with the current one', () => {
  assert.deepEqual(presetRange('day', 30, today), { from: '2026-10-23', to: today });
  assert.deepEqual(presetRange('week', 12, today), { from: '2026-08-31', to: today });
  assert.deepEqual(presetRange('month', 12, today), { from: '2025-12-01', to: today });
});

test('the presets of hours are today and yesterday', () => {
  assert.deepEqual(presetRange('hour', 1, today), { from: today, to: today });
  assert.deepEqual(presetRange('hour', 2, today), { from: '2026-11-20', to: '2026-11-20' });
});

test('the API accepts every preset on every day of a leap year', () => {
  for (const unit of UNITS)
    for (const preset of PRESETS[unit])
      for (const day of ['2024-01-01', '2024-02-29', '2024-12-31', '2025-01-01']) {
        const { from, to } = presetRange(unit, preset, day);
        assert.equal(typeof parseRange(from, to), 'object', `${unit} ${preset} ${day}`);
      }
});

test('a range of days covers the weeks and months that it touches', () => {
  const range = { from: '2024-12-30', to: '2025-02-01' };
  assert.deepEqual(periodRange('hour', range), range);
  assert.deepEqual(periodRange('day', range), range);
  assert.deepEqual(periodRange('week', range), { from: '2025-W01', to: '2025-W05' });
  assert.deepEqual(periodRange('month', range), { from: '2024-12', to: '2025-02' });
});

test('hours to come are left out, unless they already have clicks', () => {
  const hours = (clicks: readonly number[]) =>
    clicks.map((totalClicks, i) => ({ period: `${today}T${String(i).padStart(2, '0')}`, totalClicks, uniqueUsers: 0 }));
  assert.equal(begunCount('hour', hours([3, 0, 0, 0, 0]), `${today}T02`), 3);
  // A click may be some minutes ahead of this clock.
  assert.equal(begunCount('hour', hours([3, 0, 0, 1, 0]), `${today}T02`), 4);
  assert.equal(begunCount('hour', hours([0, 0, 0]), '2026-11-22T00'), 3);
  assert.equal(begunCount('hour', hours([0, 0]), '2026-11-20T23'), 0);
});

test('all chosen days, weeks and months are shown', () => {
  const stat = (period: string) => ({ period, totalClicks: 0, uniqueUsers: 0 });
  assert.equal(begunCount('day', [today, '2026-11-22'].map(stat), `${today}T00`), 2);
  assert.equal(begunCount('week', ['2026-W47', '2026-W48'].map(stat), `${today}T00`), 2);
  assert.equal(begunCount('month', ['2026-11', '2026-12'].map(stat), `${today}T00`), 2);
});

test('views differ by unit, range and target', () => {
  const view = { unit: 'day', range: { from: today, to: today }, target: null } as const;
  assert.equal(isSameView(view, { ...view, range: { ...view.range } }), true);
  assert.equal(isSameView(view, { ...view, unit: 'hour' }), false);
  assert.equal(isSameView(view, { ...view, target: '' }), false);
  assert.equal(isSameView(view, { ...view, range: { from: '2026-11-20', to: today } }), false);
});
