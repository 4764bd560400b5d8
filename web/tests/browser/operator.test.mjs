/** The operator's page: live against the running stack, and its states against a scripted one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busy, install, quiet, troubled, unknownPath } from '../operator-scenes.mjs';
import { problem, useBrowser } from './harness.mjs';

/** @import { Page, Route } from 'playwright-core' */

const open = useBrowser('/operator/');

/** The cells of a row, by what it is called. @param {Page} page @param {string} name */
const cells = (page, name) => page.getByRole('row').filter({ hasText: name }).locator('td').allInnerTexts();

/** Waits until a row's cell is as wanted. @param {Page} page @param {string} name @param {number} at @param {RegExp} wanted */
const cell = (page, name, at, wanted) =>
  page.getByRole('row').filter({ hasText: name }).locator('td').nth(at).getByText(wanted).waitFor();

test('a click shows up: its function, its stream, its table and the chart of what was counted', async () => {
  const { page, close } = await open();
  await page.getByTestId('calls').waitFor();
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

test('numbers come anew by themselves', async () => {
  let told = quiet();
  const { page, close } = await open({ prepare: (page) => install(page, () => told) });
  await page.getByText('Nothing has happened in the last 15 minutes').waitFor();
  await page.getByText('All is calm').waitFor();
  told = busy();
  await cell(page, 'stats-aggregator', 7, /^2 \(1 busy\)$/);
  await page.getByText('Nothing has happened').waitFor({ state: 'detached' });
  await close();
});

test('what needs a person is said on top, and marked where it is', async () => {
  const { page, close } = await open({ prepare: (page) => install(page, troubled) });
  const calls = await page.getByTestId('calls').innerText();
  assert.equal(calls, '2 records in quarantine · 3 batches given up · 15 failed invocations · 65 throttled');
  assert.deepEqual(await cells(page, 'StatsAggregatorFunction-ClickInserted'), [
    ...['96,000 ms', '1,840', '1,235', '15', '4', '3', '3'],
  ]);
  const marked = await page.locator('td.alarm').allInnerTexts();
  assert.deepEqual(marked, ['15', '13', '3', '3', '52']);
  await close();
});

test('what waits is told until it is settled, whatever happened lately', async () => {
  /** @param {number} count @returns {Record<string, any>} */
  const waiting = (count) => ({
    ...quiet(),
    waiting: [{ table: 'qit-db-local', name: 'quarantine', count, command: 'tidemark quarantine list' }],
  });
  let told = waiting(1);
  const { page, close } = await open({ prepare: (page) => install(page, () => told) });
  // After a restart no metric knows of the record; it is still there.
  await page.getByText('1 record in quarantine').waitFor();
  await page.getByText('To see and settle it: tidemark quarantine list').waitFor();
  assert.equal(await page.getByText('All is calm').count(), 0);
  told = waiting(0);
  Object.assign(told['functions'][1].metrics, busy()['functions'][1].metrics);
  await page.getByText('All is calm').waitFor();
  assert.equal(await page.getByText('tidemark quarantine list').count(), 0);
  await close();
});

test('a stack that is gone is told, the last numbers stay, and its return is noticed', async () => {
  let isGone = false;
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/_local/metrics', (route) => (isGone ? route.abort() : route.fulfill({ json: busy() }))),
  });
  await page.getByTestId('calls').waitFor();
  const before = await cells(page, 'click-writer');
  isGone = true;
  await page.getByText('The stack does not answer').waitFor();
  assert.deepEqual(await cells(page, 'click-writer'), before);
  isGone = false;
  await page.getByText('The stack does not answer').waitFor({ state: 'detached' });
  await close();
});

test('a stack that starts is no stack elsewhere', async () => {
  const { page, close } = await open({
    prepare: (page) => page.route('**/_local/metrics', (route) => route.fulfill(problem(503, 'Starting'))),
  });
  await page.getByText('The stack does not answer').waitFor();
  assert.equal(await page.getByTestId('elsewhere').count(), 0);
  await close();
});

for (const [what, answer] of /** @type {const} */ ([
  ['an error of the CDN', unknownPath],
  [
    'a document of the CDN',
    (/** @type {Route} */ route) => route.fulfill({ contentType: 'text/html', body: '<h1>Tidemark</h1>' }),
  ],
  [
    'a refusal',
    (/** @type {Route} */ route) => route.fulfill({ status: 403, json: { message: 'only from this machine' } }),
  ],
])) {
  test(`where there is no local stack (${what}), the page names the dashboard, and asks no more`, async () => {
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
    // Longer than the page waits after a failure.
    await page.waitForTimeout(2_500);
    assert.equal(asked, 1);
    await close();
  });
}

test('the keyboard comes to every table, and scrolls it', async () => {
  const { page, close } = await open({
    viewport: { width: 320, height: 700 },
    prepare: (page) => install(page, busy),
  });
  await page.getByTestId('calls').waitFor();
  for (const name of ['Functions', 'Streams', 'Tables and indexes']) {
    const frame = page.getByRole('region', { name });
    for (let stops = 0; !(await frame.evaluate((frame) => frame === document.activeElement)); stops++) {
      assert.ok(stops < 40, `${name} is not reached`);
      await page.keyboard.press('Tab');
    }
    const left = () => frame.evaluate((frame) => frame.scrollLeft);
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction((frame) => (frame?.scrollLeft ?? 0) > 0, await frame.elementHandle());
    assert.ok((await left()) > 0);
  }
  await close();
});
