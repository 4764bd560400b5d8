import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Metrics, Series, Snapshot } from '../../src/operator/api.ts';
import { alertsOf, LINES_MAX, lineOf, linesOf, PANELS, pathOf, topOf } from '../../src/operator/panels.ts';
import { words } from '../../src/operator/words.ts';

const SLOTS = 4;

/** A metric with one value in each of these slots. */
function series(values: Readonly<Record<number, number>>): Series {
  const points = Object.entries(values).map(([slot, value]) => ({
    ...{ slot: Number(slot), count: 1, sum: value, maximum: value, p99: value },
  }));
  const all = points.map(({ sum }) => sum);
  const greatest = Math.max(...all);
  return { count: all.length, sum: all.reduce((a, b) => a + b, 0), maximum: greatest, p50: 0, p99: greatest, points };
}

function snapshot(functions: Readonly<Record<string, Metrics>>, rest: Partial<Snapshot> = {}): Snapshot {
  return {
    slotSeconds: 10,
    slots: SLOTS,
    api: {},
    functions: Object.entries(functions).map(([binary, metrics]) => ({
      ...{ binary, invocations: 0, running: 1, busy: 0, lastError: null, metrics },
    })),
    mappings: [],
    tables: [],
    waiting: [],
    ...rest,
  };
}

const mapping = {
  ...{ name: 'm', binary: 'stats-aggregator', table: 'clicks', iteratorAgeMs: 0, waitingRecords: 0, lostAt: null },
};

test('the charts have the order and the titles of the dashboard in the template', () => {
  const template = readFileSync('../template.yaml', 'utf8');
  const dashboard = template.slice(template.indexOf('AWS::CloudWatch::Dashboard'));
  const titles = [...dashboard.matchAll(/"title": "([^"]+)"/g)].map(([, title]) => title);
  assert.deepEqual(
    PANELS.map((panel) => words.en.panels[panel]),
    titles,
  );
});

test('empty slots are 0 for counters and null for measurements', () => {
  const of = series({ 1: 5 });
  assert.deepEqual(lineOf('n', of, 'sum', SLOTS).values, [0, 5, 0, 0]);
  assert.deepEqual(lineOf('n', of, 'p99', SLOTS).values, [null, 5, null, null]);
  assert.equal(lineOf('n', undefined, 'sum', SLOTS).whole, 0);
});

test('a slot outside the chart is ignored', () => {
  assert.deepEqual(lineOf('n', series({ 9: 5 }), 'sum', SLOTS).values, [0, 0, 0, 0]);
});

test('only the slowest functions are drawn, without idle ones', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const busy = Object.fromEntries(names.map((name, i) => [name, { Duration: series({ 0: i + 1 }) }]));
  const lines = linesOf('durations', snapshot({ ...busy, idle: {} }));
  assert.deepEqual(
    lines.map(({ name }) => name),
    ['g', 'f', 'e'],
  );
  assert.equal(lines.length, LINES_MAX);
});

test('write units are those of the clicks table and its indexes', () => {
  const units = { ConsumedWriteCapacityUnits: series({ 0: 3 }) };
  const tables = [
    { table: 'clicks', index: null, metrics: units },
    { table: 'clicks', index: 'DateIndex', metrics: units },
    { table: 'other', index: null, metrics: units },
  ];
  const lines = linesOf('writeUnits', snapshot({}, { mappings: [{ ...mapping, queue: null, metrics: {} }], tables }));
  assert.deepEqual(
    lines.map(({ name }) => name),
    ['ConsumedWriteCapacityUnits', 'DateIndex'],
  );
});

test('alerts name the stream, the table or the function, lost records first', () => {
  const now = snapshot(
    {
      'stats-aggregator': { RecordsQuarantined: series({ 0: 2 }), Errors: series({ 0: 4 }) },
      'stock-watch': { RecordsUnreadable: series({ 1: 1 }), Throttles: series({ 1: 5 }) },
      'okusuri-api': { CodesNotMailed: series({ 3: 7 }) },
    },
    {
      mappings: [
        { ...mapping, queue: { name: 'q', messages: 3 }, metrics: {} },
        { ...mapping, binary: 'stock-watch', queue: null, metrics: {}, lostAt: '2026-11-21T14:05:00Z' },
      ],
      tables: [{ table: 't', index: null, metrics: { ThrottledRequests: series({ 2: 6 }) } }],
      waiting: [{ table: 'clicks', name: 'quarantine', count: 0, command: 'c' }],
    },
  );
  assert.deepEqual(
    alertsOf(now, 'http://here').map(({ kind, where, count }) => [kind, where, count]),
    [
      ['lost', 'clicks → stock-watch', 1],
      ['failed', 'clicks → stats-aggregator', 3],
      ['errors', 'stats-aggregator', 4],
      ['unsent', 'okusuri-api', 7],
      ['unreadable', 'stock-watch', 1],
      ['throttled', 'stock-watch', 5],
      ['throttledTable', 't', 6],
    ],
  );
  // A recount is one of the clicks.
  assert.deepEqual(alertsOf(now, 'http://here')[0]?.commands, ["curl -X DELETE 'http://here/_local/lost?mapping=m'"]);
  assert.deepEqual(alertsOf(snapshot({}), ''), []);
});

test('every chart can be drawn without data', () => {
  for (const panel of PANELS) for (const line of linesOf(panel, snapshot({}))) assert.equal(line.whole, 0, panel);
});

test('a path is interrupted without values, and a value without neighbours is a point', () => {
  assert.deepEqual(pathOf([0, 10, null, 5], 10, 30, 10), { line: 'M0 10L10 0M30 5', points: 'M10 0h0M30 5h0' });
  assert.deepEqual(pathOf([0, 0, 5, 5], 10, 30, 10).points, '');
  assert.deepEqual(pathOf([null, 0, null, null], 10, 30, 10).points, 'M10 10h0');
});

test('the top of a chart is a round number at or above all values', () => {
  const top = (...values: number[]): number => topOf([{ name: '', values, whole: 0 }]);
  assert.deepEqual([top(0), top(0.3), top(1), top(7), top(11), top(501)], [1, 0.5, 1, 10, 20, 1000]);
});
