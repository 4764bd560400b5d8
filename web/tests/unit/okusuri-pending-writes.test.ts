import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../src/okusuri/api.ts';
import { statusOn } from '../../src/okusuri/pendingWrites.ts';

const told: Status = {
  today: '2026-11-20',
  streak: 12,
  bestStreak: 31,
  consecutiveBleedingDays: 3,
  isResting: false,
  restDaysLeft: 4,
};

/** The status on a later day: whether it is a rest day, and how many are left. */
const rest = (status: Status, today: string): readonly [boolean, number] => {
  const { isResting, restDaysLeft } = statusOn(status, today);
  return [isResting, restDaysLeft];
};

test('an announced rest begins, continues and ends without the server', () => {
  assert.deepEqual(rest(told, '2026-11-20'), [false, 4]);
  assert.deepEqual(rest(told, '2026-11-21'), [true, 4]);
  assert.deepEqual(rest(told, '2026-11-24'), [true, 1]);
  assert.deepEqual(rest(told, '2026-11-25'), [false, 0]);
});

test('a rest that has begun loses a day each night', () => {
  const resting = { ...told, isResting: true, restDaysLeft: 2 };
  assert.deepEqual(rest(resting, '2026-11-20'), [true, 2]);
  assert.deepEqual(rest(resting, '2026-11-21'), [true, 1]);
  assert.deepEqual(rest(resting, '2026-11-22'), [false, 0]);
});

test('without a rest nothing begins, and a clock that is behind changes nothing', () => {
  const none = { ...told, restDaysLeft: 0 };
  assert.deepEqual(rest(none, '2026-11-22'), [false, 0]);
  assert.deepEqual(statusOn(told, '2026-11-19'), told);
});
