/** The metrics of the running stack, and their updates. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busy, install, quiet, troubled, unfold } from '../../operator-scenes.mjs';
import { becomes, unique, until, useBrowser } from '../harness.mjs';
import { cell, cells } from '../operator-page.mjs';

const open = useBrowser('/operator/');

test('a click appears in its function, its stream, its table and the chart of counted clicks', async () => {
  const { page, close } = await open();
  await page.getByTestId('alerts').waitFor();
  await unfold(page);
  // The page shows the last 15 minutes, which clicks of earlier tests may leave at any moment.
  const invocations = async () => {
    const metrics = await (await page.request.get(new URL('/_local/metrics', page.url()).href)).json();
    return metrics.functions.find((/** @type {{ binary: string }} */ of) => of.binary === 'click-writer').invocations;
  };
  const before = await invocations();
  // Clicks of earlier tests may still be counted, so the target is this test's own.
  const target = unique('operator');
  const clicked = await page.request.post(new URL('/clicks', page.url()).href, {
    data: { userId: 'operator', target },
  });
  assert.equal(clicked.status(), 201);
  // The tests of the clicks page must not see this click arrive.
  await until(
    async () => (await page.request.get(new URL(`/stats/daily?target=${target}`, page.url()).href)).text(),
    (days) => days.includes('"totalClicks":1'),
  );
  assert.ok((await invocations()) > before);
  await cell(page, 'click-writer', 0, /[1-9]/);
  await page.getByRole('img', { name: /^Chart.*Clicks counted: ClicksCounted [1-9]/ }).waitFor();
  await cell(page, 'StatsAggregatorFunction-ClickInserted', 2, /[1-9]/);
  await cell(page, 'DateIndex', 1, /[1-9]/);
  await close();
});

test('faults are switched on and off, and the page says that some are on', async () => {
  const { page, close } = await open();
  const faults = async () => (await page.request.get(new URL('/_local/faults', page.url()).href)).json();
  await page.getByText('Inject faults').click();
  // No other test calls this function, and a duplicate or delay does it no harm.
  await page.getByLabel('Faults of functions are for').selectOption('okusuri-reminder');
  await page.getByLabel('Deliver one stream batch in ten twice').check();
  await page.getByLabel('Delay every request to a function').check();
  await page.getByText('Faults are switched on').waitFor();
  await becomes(async () => (await faults()).functions.delay_ms, 500);
  const { functions } = await faults();
  assert.deepEqual([functions.function, functions.deliver_twice.probability], ['okusuri-reminder', 0.1]);
  await page.getByRole('button', { name: 'Switch all off' }).click();
  await page.getByText('Faults are switched on').waitFor({ state: 'detached' });
  assert.equal(await page.getByLabel('Delay every request to a function').isChecked(), false);
  assert.equal((await faults()).functions.delay_ms, 0);
  await close();
});

test('a failed invocation is an alert with its error and event', async () => {
  const { page, close } = await open();
  const post = (/** @type {string} */ path, data = {}) => page.request.post(new URL(path, page.url()).href, { data });
  const note = unique('event');
  // No other test calls this function.
  assert.equal((await post('/_local/fail?function=okusuri-reminder&times=1')).status(), 204);
  await post('/2015-03-31/functions/okusuri-reminder/invocations', { note });
  const alert = page.getByTestId('alerts').locator('li').filter({ hasText: 'okusuri-reminder' });
  await alert.getByText('Last error:').waitFor();
  await alert.getByText('Its event').click();
  await alert.locator('pre').getByText(note).waitFor();
  await alert.getByRole('link', { name: 'The invocation with its log' }).click();
  await page.getByRole('heading', { name: 'OkusuriReminderFunction' }).waitFor();
  await page.getByRole('group', { name: 'Event' }).getByText(note).first().waitFor();
  await close();
});

test('the numbers update automatically', async () => {
  let metrics = quiet();
  const { page, close } = await open({ prepare: (page) => install(page, () => metrics) });
  await page.getByText('No activity in the last 15 minutes').waitFor();
  await page.getByText('No problems found').waitFor();
  await unfold(page);
  metrics = busy();
  await cell(page, 'stats-aggregator', 7, /^2 \(1 busy\)$/);
  await page.getByText('No activity').waitFor({ state: 'detached' });
  await close();
});

test('alerts are shown on top and marked in the tables', async () => {
  const { page, close } = await open({ prepare: (page) => install(page, troubled) });
  await page.getByTestId('alerts').waitFor();
  await unfold(page);
  assert.deepEqual(await page.getByTestId('alerts').locator('strong, b').allInnerTexts(), [
    ...['2 records in quarantine', 'qit-db-local'],
    ...['3 failed batches', 'qit-db-local → stats-aggregator'],
    ...['15 failed invocations', 'stats-aggregator'],
    ...['13 throttled invocations', 'ws-disconnect'],
    ...['52 throttled requests', 'qit-db-local'],
  ]);
  assert.deepEqual(await cells(page, 'StatsAggregatorFunction-ClickInserted'), [
    ...['96,000 ms', '1,840', '1,235', '15', '4', '3', '3'],
  ]);
  const marked = await page.locator('td.alarm').allInnerTexts();
  assert.deepEqual(marked, ['15', '13', '3', '3', '52']);
  await close();
});

test('a quarantined record is counted or dismissed after a question', async () => {
  const { page, close } = await open({ prepare: (page) => install(page, troubled) });
  const panel = page.getByTestId('quarantine');
  const count = panel.getByRole('button', { name: 'Count it now' });
  await panel.getByText('clickCount is not a whole number').nth(1).waitFor();
  await count.first().click();
  await panel.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await count.count(), 2);
  await count.last().click();
  await panel.getByRole('dialog').getByRole('button', { name: 'Count it now' }).click();
  await panel.getByText('The item still cannot be read').waitFor();
  await count.first().click();
  await panel.getByRole('dialog').getByRole('button', { name: 'Count it now' }).click();
  await panel.getByText('The item was counted').waitFor();
  await panel.getByRole('button', { name: 'Do not count it' }).click();
  await panel.getByRole('dialog').getByRole('button', { name: 'Do not count it' }).click();
  await panel.getByText('Its item is not counted').waitFor();
  assert.equal(await count.count(), 0);
  await close();
});

test('when the stack stops, the last numbers stay, and the page recovers when it is back', async () => {
  let isGone = false;
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/_local/metrics', (route) => (isGone ? route.abort() : route.fulfill({ json: busy() }))),
  });
  await page.getByTestId('alerts').waitFor();
  await unfold(page);
  const before = await cells(page, 'click-writer');
  isGone = true;
  await page.getByText('The local stack is not responding').waitFor();
  assert.deepEqual(await cells(page, 'click-writer'), before);
  isGone = false;
  await page.getByText('The local stack is not responding').waitFor({ state: 'detached' });
  await close();
});
