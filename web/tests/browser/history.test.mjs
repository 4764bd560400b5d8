/** Days of the clicks page: ranges, table, CSV file and chart. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { figures, problem, useBrowser } from './harness.mjs';

const open = useBrowser();

/** The UTC day `days` after today. @param {number} days */
const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

test('a preset shows that many days, newest first', async () => {
  const { page, close } = await open();
  await figures(page);
  await page.getByRole('button', { name: '7 days', exact: true }).click();
  const rows = page.getByTestId('periods').locator('tr');
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=periods] tr').length === 7);
  const year = new Date().getUTCFullYear();
  assert.match(await rows.first().innerText(), new RegExp(String(year)));
  assert.equal(await page.getByLabel('From', { exact: true }).first().inputValue(), day(-6));
  assert.equal(await page.getByLabel('To', { exact: true }).first().inputValue(), day(0));
  await close();
});

test('two chosen dates are a range, and all its days can be shown', async () => {
  const { page, close } = await open();
  await figures(page);
  await page.getByLabel('From', { exact: true }).first().fill(day(-14));
  await page.getByRole('button', { name: 'Show all 15 days' }).click();
  assert.equal(await page.getByTestId('periods').locator('tr').count(), 15);
  await close();
});

test('a reversed range or one over 400 days shows an error and sends no request', async () => {
  const { page, close } = await open();
  await figures(page);
  await page.locator('[data-testid=periods] tr:not([aria-hidden])').first().waitFor();
  /** @type {string[]} */
  const asked = [];
  page.on('request', (request) => asked.push(request.url()));
  const [from, to] = [page.getByLabel('From', { exact: true }).first(), page.getByLabel('To', { exact: true }).first()];
  await from.fill(day(1));
  await page.getByText('The “From” date must not be after the “To” date.').waitFor();
  assert.equal(await from.getAttribute('aria-invalid'), 'true');
  await from.fill(day(-400));
  await page.getByText('Choose a range of at most 400 days.').waitFor();
  await from.fill('');
  await page.getByText('Choose both dates.').waitFor();
  assert.deepEqual(
    asked.filter((url) => url.includes('from=')),
    [],
  );
  await to.fill(day(0));
  await from.fill(day(-399));
  await page.getByRole('button', { name: 'Show all 400 days' }).waitFor();
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

test('a failed CSV download shows an error', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/stats/daily?*', (route) =>
        route.request().headers()['accept'] === 'text/csv'
          ? route.fulfill(problem(503, 'The statistics are busy'))
          : route.continue(),
      ),
  });
  await figures(page);
  await page.getByRole('button', { name: 'Download CSV', exact: true }).click();
  await page.getByText('Could not create the CSV file').waitFor();
  await page.getByText('The statistics are busy').waitFor();
  await close();
});

test('the chart is drawn, and a tooltip shows the numbers of a bar', async () => {
  const { page, close } = await open();
  await figures(page);
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
