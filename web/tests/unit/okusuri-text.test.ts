/** Parsing of input and user agents, and pending writes applied to data. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Day, Dose, Log, Medicine } from '../../src/okusuri/api.ts';
import { digitsOf } from '../../src/okusuri/signInCode.ts';
import { deviceName } from '../../src/okusuri/device.ts';
import {
  dayWithPending,
  dosePath,
  dosesWithPending,
  doseWithPending,
  unsentDetails,
} from '../../src/okusuri/pendingWrites.ts';
import { asksBleeding, choiceOf, PACKS } from '../../src/okusuri/regimen.ts';
import { daysLeft, parseStock } from '../../src/okusuri/stock.ts';
import { clockInZone, lastClock, parseTime, parseTimes, TIMES_MAX } from '../../src/okusuri/times.ts';
import { detailTexts, words } from '../../src/okusuri/words.ts';
import type { Write } from '../../src/okusuri/writeQueue.ts';

test('a code is found in pasted text', () => {
  for (const typed of ['123456', ' 123 456 ', '１２３４５６', '123-456', 'Your code is 123456.', 'At 10:30: 123456'])
    assert.equal(digitsOf(typed), '123456', typed);
  assert.equal(digitsOf('12345'), '12345');
  assert.equal(digitsOf(''), '');
});

test('a regimen is shown as the choice that makes it', () => {
  const cycle = { kind: 'cycle', startOn: '2026-11-02' } as const;
  assert.equal(choiceOf({ ...cycle, ...PACKS['24/4'] }), '24/4');
  assert.equal(choiceOf({ ...cycle, activeDays: 24, restDays: 5 }), 'own');
  assert.equal(choiceOf({ kind: 'continuous' }), 'continuous');
  // An earlier version of the page has cached a user without a regimen.
  assert.deepEqual([{}, { regimen: { kind: 'medicines' } } as const, null].map(asksBleeding), [true, false, true]);
});

test('times are parsed in several formats', () => {
  for (const [typed, time] of [
    ...[
      ['8', '08:00'],
      ['8:05', '08:05'],
      ['20.30', '20:30'],
      ['８時', '08:00'],
      ['８時30分', '08:30'],
      ['0:00', '00:00'],
    ],
    ...[
      ['24:00', null],
      ['8:60', null],
      ['8:5:5', null],
      ['noon', null],
      ['', null],
      ['-1', null],
    ],
  ] as const) {
    assert.equal(parseTime(typed), time, typed);
  }
  assert.deepEqual(parseTimes('20:30, 8、８時'), ['08:00', '20:30']);
  assert.equal(parseTimes(''), null);
  assert.equal(parseTimes('8, x'), null);
  assert.equal(parseTimes(Array.from({ length: TIMES_MAX + 1 }, (_, i) => i).join(',')), null);
});

test('a time of day is the last one that is not to come, in the zone of the user', () => {
  const at = (time: string, now: string, zone: string): string =>
    new Date(lastClock(time, Date.parse(now), zone)).toISOString();
  assert.equal(at('00:05', '2026-11-21T15:10:30Z', 'Asia/Tokyo'), '2026-11-21T15:05:00.000Z');
  assert.equal(at('23:50', '2026-11-21T15:10:30Z', 'Asia/Tokyo'), '2026-11-21T14:50:00.000Z');
  // The clock was put forward from 02:00 to 03:00, and back from 03:00 to 02:00.
  assert.equal(at('01:30', '2026-03-29T02:00:00Z', 'Europe/Berlin'), '2026-03-29T00:30:00.000Z');
  assert.equal(at('02:30', '2026-03-29T02:00:00Z', 'Europe/Berlin'), '2026-03-29T00:30:00.000Z');
  assert.equal(at('01:30', '2026-10-25T03:00:00Z', 'Europe/Berlin'), '2026-10-24T23:30:00.000Z');
});

test('a device is named after its browser and system', () => {
  const edge = 'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0';
  assert.equal(deviceName(edge), 'Edge · Windows');
  assert.equal(deviceName('curl/8.5.0'), 'curl');
  assert.equal(deviceName('something'), null);
  assert.equal(deviceName(null), null);
});

const write = (method: Write['method'], path: string, body: Write['body'] = null): Write => ({
  ...{ id: path, userId: 'ann', method, path, body, refusedAs: null },
});
const day = (state: Day['state'], log?: Log): Day => ({ date: '2026-11-20', state, ...(log && { log }) });

test('a day shows the newest pending write, and the note from the server', () => {
  const noted = { date: '2026-11-20', hasBleeding: false, isTaken: true, note: 'late' };
  const put = write('PUT', 'logs/2026-11-20', { hasBleeding: true });
  const shown = dayWithPending(day('taken', noted), '2026-11-21', [put]);
  assert.deepEqual(shown, { ...day('bleeding', { ...noted, hasBleeding: true }), isPending: true });
  assert.equal(dayWithPending(day('taken', noted), '2026-11-21', [write('DELETE', put.path)]).state, 'missed');
  assert.equal(dayWithPending(day('taken', noted), '2026-11-20', [write('DELETE', put.path)]).state, 'none');
  assert.equal(dayWithPending(day('taken', noted), '2026-11-21', [write('DELETE', put.path), put]).state, 'bleeding');
  assert.equal(dayWithPending(day('taken', noted), '2026-11-21', [write('PUT', 'logs/2026-11-19')]).isPending, false);
});

test('a write repeats the details of the unsent one that it replaces', () => {
  const after = (unsent: Write, hasBleeding: boolean) => unsentDetails('2026-11-20', hasBleeding, [unsent]);
  const put = write('PUT', 'logs/2026-11-20', { hasBleeding: true, flow: 'light', symptoms: ['mood'] });
  assert.deepEqual(after(put, true), { flow: 'light', symptoms: ['mood'] });
  assert.deepEqual(after(put, false), { flow: null, symptoms: ['mood'] });
  assert.deepEqual(after(write('DELETE', put.path), true), { note: null, flow: null, symptoms: [] });
  assert.deepEqual(after(write('PUT', 'logs/2026-11-19', { note: 'late' }), true), {});
});

test('a pending write keeps flow and symptoms, and flow only with bleeding', () => {
  const told = { date: '2026-11-20', hasBleeding: true, isTaken: true, flow: 'light', symptoms: ['mood'] } as const;
  const after = (body: Write['body']): Log | undefined =>
    dayWithPending(day('bleeding', told), '2026-11-21', [write('PUT', 'logs/2026-11-20', body)]).log;
  assert.deepEqual(after({ hasBleeding: true }), told);
  assert.deepEqual(after({ hasBleeding: true, flow: null, symptoms: [] }), {
    ...{ date: told.date, hasBleeding: true, isTaken: true },
  });
  const without = after({ hasBleeding: false });
  assert.deepEqual([without?.flow, without?.symptoms], [undefined, ['mood']]);
  assert.deepEqual(detailTexts(words.en, told), ['flow: light', 'mood changes']);
  assert.deepEqual(detailTexts(words.ja, told), ['量：少なめ', '気分の変化']);
  assert.deepEqual(detailTexts(words.en, undefined), []);
});

test('bleeding alone leaves a day open, or missed', () => {
  const put = write('PUT', 'logs/2026-11-20', { hasBleeding: true, isTaken: false });
  for (const [today, state] of [
    ['2026-11-20', 'none'],
    ['2026-11-21', 'missed'],
  ] as const) {
    const shown = dayWithPending(day('taken'), today, [put]);
    assert.deepEqual([shown.state, shown.log?.hasBleeding, shown.log?.isTaken], [state, true, false]);
  }
});

test('a rest day stays a rest day with any write', () => {
  const put = write('PUT', 'logs/2026-11-20', { hasBleeding: false });
  const shown = dayWithPending(day('rest'), '2026-11-21', [put]);
  assert.equal(shown.state, 'rest');
  assert.ok(shown.log);
});

test('a dose shows the newest pending write', () => {
  const dose: Dose = {
    ...{ date: '2026-11-20', time: '08:00', medicineId: 'a/b', name: 'Iron', dose: '1', state: 'due' },
    dueAt: '2026-11-20T08:00:00Z',
  };
  assert.equal(dosePath(dose), 'doses/2026-11-20/08:00/a%2Fb');
  assert.equal(doseWithPending(dose, [write('PUT', dosePath(dose), { state: 'skipped' })]).state, 'skipped');
  assert.equal(doseWithPending({ ...dose, state: 'taken' }, [write('DELETE', dosePath(dose))]).state, 'due');
});

test('doses as needed come and go with their pending writes', () => {
  const medicine: Medicine = {
    ...{ id: 'a/b', name: 'Ibuprofen', dose: '1', times: [], from: '2026-11-01' },
    ...{ createdAt: '2026-11-01T00:00:00Z', updatedAt: '2026-11-01T00:00:00Z' },
  };
  const known: Dose = {
    ...{ date: '2026-11-20', time: '09:00', medicineId: 'a/b', name: 'Ibuprofen', dose: '1', state: 'taken' },
    ...{ dueAt: '2026-11-20T09:00:00Z', isAsNeeded: true },
  };
  const at = '2026-11-20T08:01:00Z';
  const put = (path: string): Write => write('PUT', path, { state: 'taken', at });
  const shown = (...pending: Write[]): readonly (readonly [string, string, boolean])[] =>
    dosesWithPending([known], [medicine], '2026-11-20', pending).map((dose) => [dose.time, dose.state, dose.isPending]);
  const own = 'doses/2026-11-20/08:00/a%2Fb';
  assert.deepEqual(shown(put(own), put(own), put('doses/2026-11-19/07:00/a%2Fb'), put('doses/2026-11-20/07:00/x')), [
    ['08:00', 'taken', true],
    ['09:00', 'taken', false],
  ]);
  assert.deepEqual(shown(put(own), write('DELETE', own), write('DELETE', dosePath(known))), []);
});

test('a stock keeps the number that was shown, and refuses others', () => {
  const fields = { left: '12', perDose: '1', packSize: '２８', warnDays: '7' };
  assert.deepEqual(parseStock(fields, '12'), { perDose: 1, packSize: 28, warnDays: 7 });
  assert.deepEqual(parseStock(fields, null), { left: 12, perDose: 1, packSize: 28, warnDays: 7 });
  for (const bad of [{ left: '' }, { left: '-1' }, { perDose: '0' }, { packSize: '0.5' }, { packSize: '10001' }]) {
    assert.equal(parseStock({ ...fields, ...bad }, '12'), null, JSON.stringify(bad));
  }
  assert.equal(parseStock({ ...fields, warnDays: '91' }, '12'), null);
  const stock = { left: 6, perDose: 1, packSize: 28, warnDays: 7, packs: 0, isLow: true, runsOutOn: '2026-11-26' };
  assert.deepEqual([daysLeft(stock, '2026-11-20'), daysLeft(stock, '2026-11-26')], [6, 0]);
  assert.equal(daysLeft(undefined, '2026-11-20'), null);
  assert.equal(clockInZone(Date.parse('2026-11-20T15:07:00Z'), 'Asia/Tokyo'), '00:07');
  assert.match(clockInZone(Date.parse('2026-11-20T15:07:00Z'), 'Nowhere/Atlantis'), /^\d\d:\d\d$/);
});
