/** The states of the operator's page, each with a scripted stack. */

import { setTimeout } from 'node:timers/promises';

/** @import { Page, Route } from 'playwright-core' */
/** @import { Scene } from './game-scenes.mjs' */

const SLOTS = 90;

/** @typedef {Record<string, any>} Json */

/**
 * A metric with these values in its last slots; `undefined` and 0 leave a slot empty.
 *
 * @param {readonly (number | undefined)[]} values
 */
export function series(values) {
  const points = values.flatMap((value, i) =>
    value ? [{ slot: SLOTS - values.length + i, count: 1, sum: value, maximum: value, p99: value }] : [],
  );
  const all = points.map(({ sum }) => sum).toSorted((a, b) => a - b);
  const at = (/** @type {number} */ share) => all[Math.ceil(all.length * share) - 1] ?? 0;
  const sum = all.reduce((total, value) => total + value, 0);
  return { count: points.length, sum, maximum: at(1), p50: at(0.5), p99: at(0.99), points };
}

/** A wave of whole numbers, one for each slot. @param {number} size @param {number} [phase] */
const wave = (size, phase = 0) =>
  Array.from({ length: SLOTS }, (_, i) =>
    Math.max(0, Math.round(size * (0.6 + 0.4 * Math.sin(i / 7 + phase) + (i % 3) / 12))),
  );

const FUNCTIONS = [
  ...['click-writer', 'stats-aggregator', 'stats-reader', 'game-api', 'game-archiver', 'journal', 'clicks-watch'],
  ...['ws-connect', 'ws-message', 'ws-disconnect', 'price-history', 'inventory-log', 'stock-watch', 'activity-log'],
  ...['activity-stats', 'okusuri-api', 'okusuri-reminder'],
];

const MAPPINGS = [
  ['StatsAggregatorFunction-ClickInserted', 'stats-aggregator', 'qit-db-local', 'aggregator'],
  ['GameArchiverFunction-GameChanged', 'game-archiver', 'EsiritoriGame', 'game-archiver'],
  ['ClicksWatchFunction-Noted', 'clicks-watch', 'qit-db-local', 'clicks-watch'],
  ['StockWatchFunction-ShopChanged', 'stock-watch', 'DynamoDBShop', 'stock-watch'],
  ['ActivityStatsFunction-ActivityChanged', 'activity-stats', 'DynamoDBShop', 'activity-stats'],
];

/** The metrics of an idle stack. @returns {Json} */
export function quiet() {
  const queue = (/** @type {string} */ name) => ({ name: `tidemark-${name}-failures-local`, messages: 0 });
  return {
    slotSeconds: 10,
    slots: SLOTS,
    api: { metrics: {} },
    functions: FUNCTIONS.map((binary) => ({
      binary,
      name: `tidemark-${binary}-local`,
      invocations: 0,
      errors: 0,
      instances: { running: 1, busy: 0 },
      metrics: {},
    })),
    mappings: MAPPINGS.map(([name, binary, table, failures = '']) => ({
      name,
      function: `tidemark-${binary}-local`,
      table,
      shards: 1,
      waitingRecords: 0,
      iteratorAgeMs: 0,
      lostAt: null,
      failureQueue: queue(failures),
      metrics: {},
    })),
    tables: [],
    waiting: [],
  };
}

/** The metrics of a stack with traffic. @returns {Json} */
export function busy() {
  const all = quiet();
  all['api'].metrics = { Count: series(wave(140)), '4xx': series([3, 0, 2, 0, 0, 5, 1]) };
  for (const [i, of] of all['functions'].entries()) {
    if (i > 12) continue;
    const calls = wave(60 / (i + 1), i);
    of.invocations = 12_000 - 900 * i;
    of.metrics = {
      Invocations: series(calls),
      Duration: series(calls.map((n) => n && 4 + ((n * 7 + i * 13) % 40))),
      InitDuration: series([31]),
    };
  }
  Object.assign(all['functions'][1].metrics, {
    CountingLagMs: series(wave(420, 2)),
    ClicksCounted: series(wave(130)),
    RecordsDuplicated: series([2, 0, 0, 7, 0, 0, 1, 0, 0]),
    FirstSeenElsewhere: series([1, 0, 3, 0]),
  });
  all['functions'][1].instances = { running: 2, busy: 1 };
  all['functions'][4].metrics.GamesFinished = series([1, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0]);
  for (const [i, of] of all['mappings'].entries()) {
    of.metrics = {
      Batches: series(wave(20, i)),
      IteratorAge: series(wave(700, i)),
      InvokedEventCount: series(wave(130, i)),
    };
  }
  const units = (/** @type {number} */ reads, /** @type {number} */ writes) => ({
    ...(reads && { ConsumedReadCapacityUnits: series(wave(reads)) }),
    ...(writes && { ConsumedWriteCapacityUnits: series(wave(writes, 1)) }),
  });
  all['tables'] = [
    { table: 'DynamoDBShop', index: null, metrics: units(12, 4) },
    { table: 'EsiritoriGame', index: null, metrics: units(80, 55) },
    { table: 'qit-db-local', index: null, metrics: units(20, 310) },
    { table: 'qit-db-local', index: 'DateIndex', metrics: units(0, 140) },
  ];
  return all;
}

/** The metrics of a stack with traffic and problems. @returns {Json} */
export function troubled() {
  const all = busy();
  Object.assign(all['functions'][1].metrics, { Errors: series([0, 4, 9, 2]), RecordsQuarantined: series([2, 0, 0]) });
  all['functions'][1].lastError = 'ClickInserted: the record has no target';
  all['waiting'] = [{ table: 'qit-db-local', name: 'quarantine', count: 2, command: 'tidemark quarantine list' }];
  all['functions'][9].metrics.Throttles = series([5, 8]);
  Object.assign(all['mappings'][0], { waitingRecords: 1_840, iteratorAgeMs: 96_000 });
  all['mappings'][0].failureQueue.messages = 3;
  Object.assign(all['mappings'][0].metrics, {
    Retries: series([4, 9, 2]),
    Bisects: series([1, 3]),
    OnFailureDestinationDeliveredEventCount: series([3]),
  });
  all['tables'][2].metrics.ThrottledRequests = series([40, 12]);
  return all;
}

/** The metrics of a stack that was off for two days. @returns {Json} */
export function lost() {
  const all = busy();
  all['mappings'][0].lostAt = '2026-11-21T14:05:00Z';
  return all;
}

/** The faults of a stack that injects none. @returns {Json} */
const noFaults = () => ({
  functions: { function: null, fail: {}, kill_before: { next: 0, probability: 0 }, delay_ms: 0 },
  sockets: { cut: { next: 0, probability: 0 } },
  engine: { fail_before: {}, fail_after: {}, failure_reply: 'internal_server_error' },
});

/** How long the scripted list of quarantined records takes: a page that does not wait for it shows the old one. */
const LIST_MS = 300;

/** The records in quarantine of {@link troubled}, as the command prints them. @returns {Json[]} */
const quarantined = () =>
  [1, 2].map((n) => ({
    id: `shardId-00000001790000000000-00000001#0000000000000000000${n}`,
    rollup: 'clicks',
    code: 'click-count',
    message: 'clickCount is not a whole number from 1 to 4294967295',
    quarantinedAt: `2026-11-21T14:0${n}:00Z`,
  }));

/**
 * Installs the commands for quarantined records. The first record can be read when it is redriven.
 *
 * @param {Page} page
 */
async function installQuarantine(page) {
  const records = quarantined();
  await page.route('**/_local/commands/quarantine**', async (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    const record = records.find(({ id }) => id === searchParams.get('id'));
    const ending = pathname.endsWith('dismiss') ? 'dismissed' : record === records[0] ? 'counted' : null;
    if (record && ending) record['ending'] = ending;
    if (!record) await setTimeout(LIST_MS);
    const output = record ? { id: record['id'], ending } : records;
    return route.fulfill({ json: { exitCode: record && !ending ? 1 : 0, output: JSON.stringify(output), error: '' } });
  });
}

/** Installs scripted metrics, and faults that change as asked. @param {Page} page @param {() => Json} metrics */
export async function install(page, metrics) {
  let faults = noFaults();
  await installQuarantine(page);
  await page.route('**/_local/metrics', (route) => route.fulfill({ json: metrics() }));
  await page.route('**/_local/faults', (route) => {
    if (route.request().method() === 'PUT') faults = { ...noFaults(), ...route.request().postDataJSON() };
    return route.fulfill({ json: faults });
  });
}

/** The response of a CDN to an unknown path. @param {Route} route */
export const unknownPath = (route) =>
  route.fulfill({ status: 403, contentType: 'application/xml', body: '<Error><Code>AccessDenied</Code></Error>' });

/** Opens the folded charts and tables. @param {Page} page */
export async function unfold(page) {
  for (const summary of await page.locator('summary').all()) await summary.click();
}

/** @param {Page} page */
const loaded = (page) => page.locator('[data-testid=alerts]').waitFor();

/** @param {() => Json} metrics @param {(page: Page) => Promise<unknown>} [play] @returns {Scene} */
const scene = (metrics, play = loaded) => ({ at: '/operator/', prepare: (page) => install(page, metrics), play });

/** @type {Record<string, Scene>} */
export const scenes = {
  operator: scene(busy),
  'operator-quiet': scene(quiet),
  'operator-troubled': scene(troubled),
  'operator-lost': scene(lost),
  'operator-unfolded': scene(troubled, async (page) => {
    await loaded(page);
    await unfold(page);
  }),
  'operator-faults': scene(busy, async (page) => {
    await loaded(page);
    await page.getByText(/Inject faults|障害を起こす/).click();
    await page.getByRole('checkbox').first().check();
    await page.getByTestId('faults-on').waitFor();
  }),
  'operator-gone': scene(busy, async (page) => {
    await loaded(page);
    await page.route('**/_local/metrics', (route) => route.abort());
    await page.getByRole('alert').waitFor();
  }),
  'operator-no-stack': {
    at: '/operator/',
    prepare: (page) => page.route('**/_local/metrics', unknownPath),
    play: (page) => page.locator('[data-testid=no-stack]').waitFor(),
  },
  'operator-loading': {
    at: '/operator/',
    prepare: (page) => page.route('**/_local/metrics', () => {}),
    play: (page) => page.locator('.skeleton').first().waitFor(),
  },
};
