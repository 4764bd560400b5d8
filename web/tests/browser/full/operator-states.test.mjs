/** The states of the operator’s page, against a scripted stack. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busy, install, lost, quiet, troubled, unfold, unknownPath } from '../../operator-scenes.mjs';
import { problem, requestsArrived, until, useBrowser } from '../harness.mjs';

/** @import { Route } from 'playwright-core' */

const open = useBrowser('/operator/');

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
  await page.getByText('tidemark quarantine list').waitFor();
  assert.equal(await page.getByText('No problems found').count(), 0);
  metrics = waiting(0);
  Object.assign(metrics['functions'][1].metrics, busy()['functions'][1].metrics);
  await page.getByText('No problems found').waitFor();
  assert.equal(await page.getByText('tidemark quarantine list').count(), 0);
  await close();
});

test('lost records are the first alert, with the commands that repair and forget them', async () => {
  const metrics = lost();
  metrics['waiting'] = troubled()['waiting'];
  const { page, close } = await open({ prepare: (page) => install(page, () => metrics) });
  const first = page.getByTestId('alerts').locator('li').first();
  await first.getByText('Lost records').waitFor();
  await first.getByText('qit-db-local → stats-aggregator').waitFor();
  assert.deepEqual(await first.locator('code').allInnerTexts(), [
    'tidemark recount --all --repair',
    'tidemark recount --details --repair',
    'tidemark recount --visitors --repair',
    `curl -X DELETE '${new URL(page.url()).origin}/_local/lost?mapping=${metrics['mappings'][0].name}'`,
  ]);
  metrics['mappings'][0].lostAt = null;
  await first.getByText('2 records in quarantine').waitFor();
  await close();
});

test('a failing function is named with its last error, or with the place of its log', async () => {
  const metrics = troubled();
  metrics['functions'][0].metrics.Errors = metrics['functions'][1].metrics.Errors;
  const { page, close } = await open({ prepare: (page) => install(page, () => metrics) });
  const alert = (/** @type {string} */ name) =>
    page.getByTestId('alerts').locator('li').filter({ hasText: 'failed invocations' }).filter({ hasText: name });
  await alert('stats-aggregator').getByText('the record has no target').waitFor();
  await alert('click-writer').getByText('in the terminal of the stack: lines with “click-writer |”').waitFor();
  await close();
});

for (const [size, viewport] of Object.entries({
  desktop: { width: 1440, height: 900 },
  phone: { width: 390, height: 844 },
})) {
  test(`alerts and main charts fit on one screen, and the others unfold (${size})`, async () => {
    const { page, close } = await open({ viewport, prepare: (page) => install(page, busy) });
    await page.getByTestId('alerts').waitFor();
    await until(
      () => page.locator('figure:visible').last().boundingBox(),
      (last) => last !== null && last.y + last.height < viewport.height,
    );
    assert.equal(await page.locator('figure:visible').count(), 4);
    await unfold(page);
    assert.equal(await page.locator('figure:visible').count(), 12);
    assert.equal(await page.locator('table:visible').count(), 3);
    await close();
  });
}

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
      prepare: async (page) => {
        await page.clock.install();
        await page.route('**/_local/metrics', (route) => {
          asked += 1;
          return answer(route);
        });
      },
    });
    await page.getByText('tidemark-<stage>').waitFor();
    assert.equal(await page.locator('table, figure').count(), 0);
    // Longer than any backoff after a failure.
    await page.clock.runFor(120_000);
    await requestsArrived(page);
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
  await unfold(page);
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
