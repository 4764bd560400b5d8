/** What people type and browsers say, read; and what was written laid over what was read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Day, Dose } from '../../src/okusuri/api.ts';
import { digitsOf } from '../../src/okusuri/code.ts';
import { deviceName } from '../../src/okusuri/device.ts';
import { dayWith, dosePath, doseWith } from '../../src/okusuri/overlay.ts';
import { parseTime, parseTimes, TIMES_MAX } from '../../src/okusuri/times.ts';
import type { Write } from '../../src/okusuri/writes.ts';

test('a code is found in whatever is pasted', () => {
  for (const typed of ['123456', ' 123 456 ', '１２３４５６', '123-456', 'Your code is 123456.', 'At 10:30: 123456'])
    assert.equal(digitsOf(typed), '123456', typed);
  assert.equal(digitsOf('12345'), '12345');
  assert.equal(digitsOf(''), '');
});

test('times are read as people write them', () => {
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

test('a device is called by its browser and system', () => {
  const edge = 'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0';
  assert.equal(deviceName(edge), 'Edge · Windows');
  assert.equal(deviceName('curl/8.5.0'), 'curl');
  assert.equal(deviceName('something'), null);
  assert.equal(deviceName(null), null);
});

const write = (method: Write['method'], path: string, body: Write['body'] = null): Write => ({
  ...{ id: path, userId: 'ann', method, path, body, refusedAs: null },
});
const day = (state: Day['state'], log: Day['log'] = null): Day => ({ date: '2026-11-20', state, log });

test('a day shows what was last written about it, and the note that the server has', () => {
  const noted = { date: '2026-11-20', hasBleeding: false, isTaken: true, note: 'late' };
  const put = write('PUT', 'logs/2026-11-20', { hasBleeding: true });
  const shown = dayWith(day('taken', noted), '2026-11-21', [put]);
  assert.deepEqual(shown, { ...day('bleeding', { ...noted, hasBleeding: true }), isWaiting: true });
  assert.equal(dayWith(day('taken', noted), '2026-11-21', [write('DELETE', put.path)]).state, 'missed');
  assert.equal(dayWith(day('taken', noted), '2026-11-20', [write('DELETE', put.path)]).state, 'none');
  assert.equal(dayWith(day('taken', noted), '2026-11-21', [write('DELETE', put.path), put]).state, 'bleeding');
  assert.equal(dayWith(day('taken', noted), '2026-11-21', [write('PUT', 'logs/2026-11-19')]).isWaiting, false);
});

test('bleeding alone leaves a day open, or missed', () => {
  const put = write('PUT', 'logs/2026-11-20', { hasBleeding: true, isTaken: false });
  for (const [today, state] of [
    ['2026-11-20', 'none'],
    ['2026-11-21', 'missed'],
  ] as const) {
    const shown = dayWith(day('taken'), today, [put]);
    assert.deepEqual([shown.state, shown.log?.hasBleeding, shown.log?.isTaken], [state, true, false]);
  }
});

test('a rest day stays one, whatever is written', () => {
  const put = write('PUT', 'logs/2026-11-20', { hasBleeding: false });
  const shown = dayWith(day('rest'), '2026-11-21', [put]);
  assert.equal(shown.state, 'rest');
  assert.notEqual(shown.log, null);
});

test('a dose shows what was last written about it', () => {
  const dose: Dose = {
    ...{
      date: '2026-11-20',
      time: '08:00',
      medicineId: 'a/b',
      name: 'Iron',
      dose: '1',
      state: 'due',
      snoozedUntil: null,
    },
  };
  assert.equal(dosePath(dose), 'doses/2026-11-20/08:00/a%2Fb');
  assert.equal(doseWith(dose, [write('PUT', dosePath(dose), { state: 'skipped' })]).state, 'skipped');
  assert.equal(doseWith({ ...dose, state: 'taken' }, [write('DELETE', dosePath(dose))]).state, 'due');
});
