/** What a period is compared with, and whether the numbers of both are known. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, planOf } from '../../src/clicks/comparison.ts';
import type { View } from '../../src/clicks/units.ts';
import { addDays } from '../../src/shared/days.ts';

const view = (unit: View['unit'], from: string, to: string, target: string | null = null): View => ({
  unit,
  range: { from, to },
  target,
});

/** The parts that are compared on Wednesday, 18 March 2026, after 14:00 UTC. */
function parts(asked: View): unknown {
  const plan = planOf(asked, '2026-03-18T14');
  return plan && [plan.count, plan.hasEnded, plan.now, plan.before];
}

test('a period that has ended is compared as a whole', () => {
  assert.deepEqual(parts(view('day', '2026-03-01', '2026-03-07')), [
    7,
    true,
    { from: '2026-03-01', to: '2026-03-07' },
    { from: '2026-02-22', to: '2026-02-28' },
  ]);
  assert.deepEqual(parts(view('hour', '2026-03-17', '2026-03-17')), [
    1,
    true,
    { from: '2026-03-17', to: '2026-03-17' },
    { from: '2026-03-16', to: '2026-03-16' },
  ]);
  assert.deepEqual(parts(view('month', '2026-01-15', '2026-02-02')), [
    2,
    true,
    { from: '2026-01-01', to: '2026-02-28' },
    { from: '2025-11-01', to: '2025-12-31' },
  ]);
});

test('of a period with today, the days before today are compared', () => {
  assert.deepEqual(parts(view('day', '2026-03-12', '2026-03-18')), [
    7,
    false,
    { from: '2026-03-12', to: '2026-03-17' },
    { from: '2026-03-05', to: '2026-03-10' },
  ]);
  assert.deepEqual(parts(view('week', '2026-03-18', '2026-03-18')), [
    1,
    false,
    { from: '2026-03-16', to: '2026-03-17' },
    { from: '2026-03-09', to: '2026-03-10' },
  ]);
  assert.deepEqual(parts(view('month', '2026-03-01', '2026-03-18')), [
    1,
    false,
    { from: '2026-03-01', to: '2026-03-17' },
    { from: '2026-02-01', to: '2026-02-17' },
  ]);
});

test('of today, the hours that have ended are compared', () => {
  const [now, before] = [
    { from: '2026-03-18', to: '2026-03-18', hours: 14 },
    { from: '2026-03-17', to: '2026-03-17', hours: 14 },
  ];
  for (const unit of ['hour', 'day'] as const) {
    assert.deepEqual(parts(view(unit, '2026-03-18', '2026-03-18')), [1, false, now, before]);
  }
});

test('without a day or an hour that has ended, no part is compared', () => {
  assert.deepEqual(parts(view('day', '2026-03-18', '2026-03-18', 'tide')), [1, false, null, null]);
  assert.equal(planOf(view('hour', '2026-03-18', '2026-03-18'), '2026-03-18T00')?.now, null);
  assert.equal(planOf(view('month', '2026-03-01', '2026-03-01'), '2026-03-01T14')?.now, null);
  assert.equal(parts(view('day', '2026-03-19', '2026-03-20')), null);
});

test('the part of a longer month ends with the shorter month', () => {
  const plan = planOf(view('month', '2026-03-01', '2026-03-31'), '2026-03-31T14');
  assert.deepEqual(plan?.now, { from: '2026-03-01', to: '2026-03-30' });
  assert.deepEqual(plan.before, { from: '2026-02-01', to: '2026-02-28' });
});

/** Answers each day, hour, week or month with 10 clicks by 3 users. `left` rows are left out. */
function serve(left: (path: string) => number = () => 0): string[] {
  const asked: string[] = [];
  globalThis.fetch = (url) => {
    const { pathname, searchParams } = new URL(String(url), 'http://localhost');
    asked.push(pathname);
    const [from = '', to = ''] = [searchParams.get('from') ?? '', searchParams.get('to') ?? ''];
    const periods: string[] = [];
    if (pathname.endsWith('daily') || pathname.endsWith('hourly'))
      for (let day = from; day <= to; day = addDays(day, 1)) periods.push(day);
    else periods.push(from, to);
    const hours = pathname.endsWith('hourly') ? 24 : 1;
    const row = { totalClicks: hours === 24 ? 1 : 24, uniqueUsers: 3 };
    const items = periods.flatMap(() => Array.from({ length: hours }, () => row)).slice(left(pathname));
    return Promise.resolve(Response.json({ items }));
  };
  return asked;
}

const compared = (asked: View) => compare(asked, '2026-03-18T14', new AbortController().signal);

test('visitors are compared only for single whole periods', async () => {
  serve();
  const day = await compared(view('day', '2026-03-17', '2026-03-17'));
  assert.deepEqual(
    [day?.clicks, day?.visitors],
    [
      [24, 24],
      [3, 3],
    ],
  );
  const week = await compared(view('day', '2026-03-01', '2026-03-07'));
  assert.deepEqual([week?.clicks, week?.visitors, week?.whole], [[168, 168], null, null]);
  const month = await compared(view('month', '2026-03-01', '2026-03-18'));
  assert.deepEqual([month?.clicks, month?.visitors, month?.whole?.uniqueUsers], [[408, 408], null, 3]);
});

test('the first hours are compared if hours are counted', async () => {
  const today = view('hour', '2026-03-18', '2026-03-18');
  serve();
  assert.deepEqual((await compared(today))?.clicks, [14, 14]);
  serve((path) => (path.endsWith('hourly') ? 1 : 0));
  const incomplete = await compared(today);
  assert.deepEqual([incomplete?.clicks, incomplete?.whole?.totalClicks], [null, 24]);
});

test('a day that cannot be read makes a comparison impossible', async () => {
  serve(() => 1);
  const comparison = await compared(view('day', '2026-03-01', '2026-03-07'));
  assert.deepEqual([comparison?.clicks, comparison?.whole], [null, null]);
});

test('a long comparison has at most five requests', async () => {
  const asked = serve();
  await compared(view('month', '2025-01-01', '2026-02-28'));
  assert.equal(asked.length, 4);
});
