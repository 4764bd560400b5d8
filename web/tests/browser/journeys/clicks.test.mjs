/** Clicks from the button to the figures, the periods, the targets and the lists of the page. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { stackUrl } from '../../chromium.mjs';
import {
  allRead,
  clicksCounted,
  day,
  figures,
  target,
  targets,
  totalReaches,
  unit,
  useClicks,
} from '../clicks-page.mjs';
import { ClicksServer, today } from '../clicks-server.mjs';
import { pressIfThere, problem, unique, until } from '../harness.mjs';

const { open, openWith } = useClicks();

test('a click raises today, the month and the total by one, and a new visitor by one', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  await page.getByTestId('click').click();
  await totalReaches(page, before.total + 1);
  await clicksCounted(page);
  const after = await figures(page);
  assert.deepEqual(after, {
    today: before.today + 1,
    visitors: before.visitors + 1,
    month: before.month + 1,
    total: before.total + 1,
  });
  await close();
});

test('the button works from the keyboard, and a key held down is one click', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  await page.getByTestId('click').focus();
  await page.keyboard.down('Enter');
  await page.keyboard.down('Enter');
  await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  await totalReaches(page, before.total + 1);
  await clicksCounted(page);
  assert.equal((await figures(page)).total, before.total + 1);
  await close();
});

test('the first row of the table is today, with the same count as the gauge', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  await page.getByTestId('click').click();
  await totalReaches(page, before.total + 1);
  const first = page.getByTestId('periods').locator('tr').first();
  await first
    .getByText(String(before.today + 1), { exact: true })
    .first()
    .waitFor();
  await close();
});

test('a click whose response was lost is sent again with the same key and counted once', async () => {
  /** @type {(string | undefined)[]} */
  const keys = [];
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/clicks', async (route) => {
        keys.push(route.request().headers()['idempotency-key']);
        if (keys.length > 1) return route.continue();
        // The stack stores the click, but the browser gets no response.
        await route.fetch();
        return route.abort();
      }),
  });
  const before = await figures(page);
  await page.getByTestId('click').click();
  await clicksCounted(page);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  assert.match(keys[0] ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal((await figures(page)).total, before.total + 1);
  await close();
});

test('a click made offline is sent when the browser is online again', async () => {
  const { page, context, close } = await open();
  const before = await figures(page);
  await context.setOffline(true);
  await page.getByText('You are offline').waitFor();
  await page.getByTestId('click').click();
  await page.locator('[data-phase=offline]').waitFor();
  await context.setOffline(false);
  await totalReaches(page, before.total + 1);
  assert.equal((await figures(page)).total, before.total + 1);
  await close();
});

test('the CSV file has a header and one line per day of the range, oldest first', async () => {
  const { page, close } = await open();
  const { today } = await figures(page);
  await page.getByRole('button', { name: '7 days', exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV', exact: true }).click(),
  ]);
  assert.equal(download.suggestedFilename(), `tidemark-clicks_${day(-6)}_${day(0)}.csv`);
  const lines = (await readFile(await download.path(), 'utf8')).trim().split(/\r?\n/);
  assert.equal(lines[0], 'date,totalClicks,uniqueUsers');
  assert.deepEqual(
    lines.slice(1).map((line) => line.split(',')[0]),
    [-6, -5, -4, -3, -2, -1, 0].map(day),
  );
  assert.equal(Number(lines[7]?.split(',')[1]), today);
  await close();
});

test('a counter on another page shows the clicks of its target', async () => {
  const { page, close } = await open();
  const name = unique('counter');
  await page.getByLabel('Target', { exact: true }).fill(name);
  await page.getByRole('button', { name: 'Save: Target' }).click();
  await page.getByTestId('click').click();
  // The function keeps the number that it reads first.
  await until(
    async () => (await page.request.get(`${stackUrl()}/stats/daily?target=${name}`)).text(),
    (days) => days.includes('"totalClicks":1'),
  );
  await page.locator('summary').first().click();
  await page.getByLabel('Target of the counter').fill(name);
  await page.getByLabel('Target of the counter').blur();
  const [, address = ''] = /src="([^"]+)"/.exec(await page.getByTestId('embed').inputValue()) ?? [];
  assert.match(address, /target=counter-/);
  await page.waitForFunction(() => document.querySelector('img')?.naturalHeight === 56);
  await page.goto(address);
  assert.equal(await page.locator('title').textContent(), `${name}: 1 click`);
  await close();
});

test('the chart is drawn, and a tooltip shows the numbers of a bar', async () => {
  const { page, close } = await open();
  // A chart that moves under the pointer loses its tooltip.
  await allRead(page);
  const chart = page.getByRole('img', { name: /^Chart: By day/ });
  await chart.locator('canvas').waitFor();
  const isPainted = await chart.locator('canvas').evaluate((element) => {
    const canvas = /** @type {HTMLCanvasElement} */ (element);
    return canvas
      .getContext('2d')
      ?.getImageData(0, 0, canvas.width, canvas.height)
      .data.some((byte) => byte !== 0);
  });
  assert.equal(isPainted, true);
  await chart.scrollIntoViewIfNeeded();
  await chart.locator('.u-over').hover();
  await page.locator('.tip').getByText('unique visitors').waitFor();
  await close();
});

test('a selected target filters chart, table and CSV file, and the filter can be removed', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await targets(page);
  const first = page.getByTestId('periods').locator('tr').first();
  await first.getByText('386').waitFor();
  await unit(page, 'Weeks').click();
  await page.getByRole('img', { name: /^Chart: By week/ }).waitFor();

  await target(page, '/pricing').click();
  await first.getByText('96', { exact: true }).waitFor();
  await page.getByRole('img', { name: /^Chart: By day/ }).waitFor();
  await server.asks(`/stats/daily?from=2026-10-23&to=${today}&target=/pricing`);
  assert.equal(await target(page, '/pricing').getAttribute('aria-pressed'), 'true');
  assert.match(await page.getByTestId('filter').innerText(), /Target: \/pricing/);
  for (const name of ['Hours', 'Weeks', 'Months']) assert.equal(await unit(page, name).isDisabled(), true);
  await page.getByRole('status').getByText('Shows the days of /pricing.').waitFor({ state: 'attached' });
  const button = page.getByRole('button', { name: 'Download CSV', exact: true });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  assert.equal(download.suggestedFilename(), `tidemark-target_2026-10-23_${today}.csv`);
  assert.match(await readFile(await download.path(), 'utf8'), /2026-11-21,96,14\r\n$/);

  await page.getByRole('button', { name: 'Show all targets' }).click();
  await first.getByText('386').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'history-heading');
  assert.equal(await target(page, '/pricing').getAttribute('aria-pressed'), 'false');
  assert.equal(await unit(page, 'Hours').isDisabled(), false);

  await target(page, 'tide').click();
  await first.getByText('168').waitFor();
  await target(page, 'tide').click();
  await first.getByText('386').waitFor();
  await close();
});

test('hours, weeks and months replace the days in chart, table and CSV file', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  const first = page.getByTestId('periods').locator('tr:not([aria-hidden]) th').first();
  await first.waitFor();
  for (const [name, path, row, file] of /** @type {const} */ ([
    ['Hours', `/stats/hourly?from=${today}&to=${today}`, '14:00', `${today}_${today}`],
    ['Weeks', '/stats/weekly?from=2026-W36&to=2026-W47', 'Week 47, 2026 · 16 Nov – 22 Nov', '2026-W36_2026-W47'],
    ['Months', '/stats/monthly?from=2025-12&to=2026-11', 'November 2026', '2025-12_2026-11'],
    ['Days', `/stats/daily?from=2026-10-23&to=${today}`, 'Sat, 21 Nov 2026', `2026-10-23_${today}`],
  ])) {
    await unit(page, name).click();
    await server.asks(path);
    await first.getByText(row, { exact: true }).waitFor();
    await page.getByRole('img', { name: `Chart: By ${name.toLowerCase().slice(0, -1)},` }).waitFor();
    assert.equal(await unit(page, name).getAttribute('aria-pressed'), 'true');
    const button = page.getByRole('button', { name: 'Download CSV', exact: true });
    const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
    assert.equal(download.suggestedFilename(), `tidemark-clicks_${file}.csv`);
  }
  await close();
});

test('an error shows the server’s problem details, and a retry recovers', async () => {
  let failing = true;
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/stats/**', (route) =>
        failing ? route.fulfill(problem(503, 'The statistics are busy', 'Try again in a moment.')) : route.continue(),
      ),
  });
  await page.getByText('Could not load the live figures').waitFor();
  await page.getByText('The statistics are busy: Try again in a moment.').waitFor();
  failing = false;
  await pressIfThere(page.getByRole('button', { name: 'Try again' }));
  await figures(page);
  await page.getByText('Could not load the live figures').waitFor({ state: 'detached' });
  await close();
});

test('the language follows the browser, can be changed, and is remembered', async () => {
  const { page, close } = await open({ locale: 'ja-JP' });
  await page.getByRole('heading', { name: 'クリックの正確な集計' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'ja');
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('heading', { name: 'Clicks, counted exactly once' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Clicks, counted exactly once' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'en');
  assert.equal(await page.title(), 'Clicks · Tidemark');
  await close();
});

test('the theme follows the system, can be changed, and is remembered', async () => {
  const { page, close } = await open({ colorScheme: 'dark' });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await paper();
  await page.getByRole('button', { name: 'Light theme' }).click();
  const light = await paper();
  assert.notEqual(light, dark);
  await page.reload();
  assert.equal(await paper(), light);
  await page.getByRole('button', { name: 'Dark theme' }).click();
  assert.equal(await paper(), dark);
  await close();
});
