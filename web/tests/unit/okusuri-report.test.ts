import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Log } from '../../src/okusuri/api.ts';
import {
  bleedingPeriods,
  figuresOf,
  markOf,
  medicineMonths,
  symptomMonths,
  withAsNeeded,
} from '../../src/okusuri/report.ts';

type ReportDay = Parameters<typeof figuresOf>[0][number];

const day = (date: string, state: ReportDay['state'], isTaken?: boolean, hasBleeding = false): ReportDay => ({
  date,
  state,
  ...(isTaken === undefined ? {} : { log: { date, isTaken, hasBleeding } }),
});

const DAYS: readonly ReportDay[] = [
  day('2026-10-29', 'none'),
  day('2026-10-30', 'taken', true),
  day('2026-10-31', 'bleeding', true, true),
  { ...day('2026-11-01', 'missed', false, true), doses: { planned: 3, taken: 1, skipped: 1, missed: 1, asNeeded: 2 } },
  day('2026-11-02', 'missed'),
  day('2026-11-03', 'rest'),
  { ...day('2026-11-04', 'rest', true, true), doses: { planned: 2, taken: 2, skipped: 0, missed: 0, asNeeded: 0 } },
  day('2026-11-05', 'future'),
];

test('each day counts once as taken, missed or rest, and bleeding beside it', () => {
  assert.deepEqual(figuresOf(DAYS), { taken: 3, missed: 2, rest: 1, bleeding: 3, dosesTaken: 3, dosesPlanned: 5 });
  assert.deepEqual(DAYS.map(markOf), [null, 'taken', 'bleeding', 'bleedingOnly', 'missed', 'rest', 'bleeding', null]);
});

test('a period of bleeding continues over the end of a month, newest first', () => {
  assert.deepEqual(bleedingPeriods(DAYS), [
    { from: '2026-11-04', to: '2026-11-04' },
    { from: '2026-10-31', to: '2026-11-01' },
  ]);
  assert.deepEqual(bleedingPeriods([]), []);
});

test('a symptom has its days of each month, in one order', () => {
  const withSymptoms = (date: string, symptoms: NonNullable<Log['symptoms']>): ReportDay => ({
    ...{ date, state: 'none', log: { date, isTaken: false, hasBleeding: false, symptoms } },
  });
  const months = [
    { days: [withSymptoms('2026-10-01', ['mood']), withSymptoms('2026-10-02', ['cramps', 'mood'])] },
    { days: [withSymptoms('2026-11-01', ['cramps']), day('2026-11-02', 'taken', true)] },
  ];
  assert.deepEqual(symptomMonths(months), [
    { symptom: 'cramps', counts: [1, 1] },
    { symptom: 'mood', counts: [2, 0] },
  ]);
  assert.deepEqual(symptomMonths([]), []);
});

test('a medicine has its doses of each month, and none where it was not planned', () => {
  const iron = { medicineId: 'm1', name: 'Iron' };
  const months = [
    {},
    { medicines: [{ ...iron, due: 4, taken: 3, asNeeded: 0 }] },
    {
      medicines: [
        { ...iron, due: 2, taken: 2, asNeeded: 1 },
        { medicineId: 'm2', name: 'Zinc', due: 1, taken: 0, asNeeded: 0 },
      ],
    },
  ];
  const shares = medicineMonths(months).map(({ name, shares }) => [name, shares.map(({ taken, due }) => [taken, due])]);
  assert.deepEqual(shares, [
    [
      'Iron',
      [
        [0, 0],
        [3, 4],
        [2, 2],
      ],
    ],
    [
      'Zinc',
      [
        [0, 0],
        [0, 0],
        [0, 1],
      ],
    ],
  ]);
});

test('doses as needed stand beside the planned ones, or alone', () => {
  assert.deepEqual(
    [withAsNeeded('3/4', 4, '0'), withAsNeeded('3/4', 4, '2'), withAsNeeded('0/0', 0, '2'), withAsNeeded('–', 0, '0')],
    ['3/4', '3/4 + 2×', '2×', '–'],
  );
});
