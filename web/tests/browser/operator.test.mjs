/** The operator's page against the running stack, and its states against a scripted one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busy, install, quiet, troubled, unknownPath } from '../operator-scenes.mjs';
import { problem, useBrowser } from './harness.mjs';

/** @import { Page, Route } from 'playwright-core' */

const open = useBrowser('/operator/');

/** The cells of the row with this name. @param {Page} page @param {string} name */
const cells = (page, name) => page.getByRole('row').filter({ hasText: name }).locator('td').allInnerTexts();

/**
 * Waits until a cell of a row has the wanted text.
 *
 * @param {Page} page
 * @param {string} name
 * @param {number} at
 * @param {RegExp} wanted
 */
const cell = (page, name, at, wanted) =>
  page.getByRole('row').filter({ hasText: name }).locator('td').nth(at).getByText(wanted).waitFor();

test('a click appears in its function, its stream, its table and the chart of counted clicks', async () => {
  const { page, close } = await open();
  await page.getByTestId('alerts').waitFor();
  const before = Number((await cells(page, 'click-writer'))[0]?.replaceAll(/\D/g, ''));
  const clicked = await page.request.post(new URL('/clicks', page.url()).href, { data: { userId: 'operator' } });
  assert.equal(clicked.status(), 201);
  await page.waitForFunction((before) => {
    const row = [...document.querySelectorAll('tbody tr')].find((row) => row.textContent?.startsWith('click-writer'));
    return Number(row?.querySelector('td')?.textContent?.replaceAll(/\D/g, '')) > before;
  }, before);
  await page.getByRole('img', { name: /^Chart.*Clicks counted: ClicksCounted [1-9]/ }).waitFor();
  await cell(page, 'StatsAggregatorFunction-ClickInserted', 2, /[1-9]/);
  await cell(page, 'DateIndex', 1, /[1-9]/);
  await close();
});

test('the numbers update automatically', async () => {
  let metrics = quiet();
  const { page, close } = await open({ prepare: (page) => install(page, () => metrics) });
  await page.getByText('No activity in the last 15 minutes').waitFor();
  await page.getByText('No problems found').waitFor();
  metrics = busy();
  await cell(page, 'stats-aggregator', 7, /^2 \(1 busy\)$/);
  await page.getByText('No activity').waitFor({ state: 'detached' });
  await close();
});

test('alerts are shown on top and marked in the tables', async () => {
  const { page, close } = await open({ prepare: (page) => install(page, troubled) });
  const alerts = await page.getByTestId('alerts').innerText();
  assert.equal(
    alerts,
    '2 records in quarantine · 3 failed batches in a failure queue · 15 failed invocations · 65 throttled requests',
  );
  assert.deepEqual(await cells(page, 'StatsAggregatorFunction-ClickInserted'), [
    ...['96,000 ms', '1,840', '1,235', '15', '4', '3', '3'],
  ]);
  const marked = await page.locator('td.alarm').allInnerTexts();
  assert.deepEqual(marked, ['15', '13', '3', '3', '52']);
  await close();
});

test('waiting items are shown until they are resolved', async () => {
  /** @param {number} count @returns {Record<string, any>} */
  const waiting = (count) => ({
    ...quiet(),
    waiting: [{ table: 'qit-db-local', name: 'quarantine', count, command: 'tidemark quarantine list' }],
  });
  let metrics = waiting(1);
  const { page, close } = await open({ prepare: (page) => install(page, () => metrics) });
  // After a restart, no metric contains the record, but the record is still there.
  await page.getByText('1 record in quarantine').waitFor();
  await page.getByText('To review and resolve: tidemark quarantine list').waitFor();
  assert.equal(await page.getByText('No problems found').count(), 0);
  metrics = waiting(0);
  Object.assign(metrics['functions'][1].metrics, busy()['functions'][1].metrics);
  await page.getByText('No problems found').waitFor();
  assert.equal(await page.getByText('tidemark quarantine list').count(), 0);
  await close();
});

test('when the stack stops, the last numbers stay, and the page recovers when it is back', async () => {
  let isGone = false;
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/_local/metrics', (route) => (isGone ? route.abort() : route.fulfill({ json: busy() }))),
  });
  await page.getByTestId('alerts').waitFor();
  const before = await cells(page, 'click-writer');
  isGone = true;
  await page.getByText('The local stack is not responding').waitFor();
  assert.deepEqual(await cells(page, 'click-writer'), before);
  isGone = false;
  await page.getByText('The local stack is not responding').waitFor({ state: 'detached' });
  await close();
});

test('a starting stack is not taken for a missing one', async () => {
  const { page, close } = await open({
    prepare: (page) => page.route('**/_local/metrics', (route) => route.fulfill(problem(503, 'Starting'))),
  });
  await page.getByText('The local stack is not responding').waitFor();
  assert.equal(await page.getByTestId('no-stack').count(), 0);
  await close();
});

for (const [what, answer] of /** @type {const} */ ([
  ['an error of the CDN', unknownPath],
  [
    'an HTML page of the CDN',
    (/** @type {Route} */ route) => route.fulfill({ contentType: 'text/html', body: '<h1>Tidemark</h1>' }),
  ],
  [
    'a rejected client',
    (/** @type {Route} */ route) => route.fulfill({ status: 403, json: { message: 'only from this machine' } }),
  ],
])) {
  test(`without a local stack (${what}), the page names the dashboard and stops polling`, async () => {
    let asked = 0;
    const { page, close } = await open({
      prepare: (page) =>
        page.route('**/_local/metrics', (route) => {
          asked += 1;
          return answer(route);
        }),
    });
    await page.getByText('tidemark-<stage>').waitFor();
    assert.equal(await page.locator('table, figure').count(), 0);
    // Longer than the backoff after a failure.
    await page.waitForTimeout(2_500);
    assert.equal(asked, 1);
    await close();
  });
}

test('every table can be focused and scrolled with the keyboard', async () => {
  const { page, close } = await open({
    viewport: { width: 320, height: 700 },
    prepare: (page) => install(page, busy),
  });
  await page.getByTestId('alerts').waitFor();
  for (const name of ['Functions', 'Streams', 'Tables and indexes']) {
    const frame = page.getByRole('region', { name });
    for (let stops = 0; !(await frame.evaluate((frame) => frame === document.activeElement)); stops++) {
      assert.ok(stops < 40, `${name} was not reached`);
      await page.keyboard.press('Tab');
    }
    const left = () => frame.evaluate((frame) => frame.scrollLeft);
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction((frame) => (frame?.scrollLeft ?? 0) > 0, await frame.elementHandle());
    assert.ok((await left()) > 0);
  }
  await close();
});
