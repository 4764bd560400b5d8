/** Ranges of days, and a CSV file that fails. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { day, figures, periodsLoaded, unit, useClicks } from '../clicks-page.mjs';
import { ClicksServer, today } from '../clicks-server.mjs';
import { problem } from '../harness.mjs';

const { open, openWith } = useClicks();

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

test('the units stand on the line of the presets, or above it', async () => {
  const { page, close } = await openWith(new ClicksServer());
  await figures(page);
  const units = page.getByRole('group', { name: 'Unit of time' });
  const preset = page.getByRole('button', { name: '7 days', exact: true });
  const lines = new Set();
  for (let width = 900; width <= 1280; width += 20) {
    await page.setViewportSize({ width, height: 900 });
    const [a, b] = [await units.boundingBox(), await preset.boundingBox()];
    assert.ok(a && b);
    lines.add(a.y === b.y);
    assert.ok(a.y === b.y || a.y + a.height < b.y, `${a.y} beside ${b.y} in a window of ${width} px`);
  }
  assert.deepEqual([...lines].sort(), [false, true]);
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
  await periodsLoaded(page);
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
    asked.filter((url) => url.includes(`from=${day(1)}`) || url.includes(`from=${day(-400)}`)),
    [],
  );
  await to.fill(day(0));
  await from.fill(day(-399));
  await page.getByRole('button', { name: 'Show all 400 days' }).waitFor();
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

test('figures stand beside those of the same part of the period before', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  const before = (/** @type {string} */ id) => page.getByTestId(`${id}-before`);
  await before('today').getByText('20 Nov 2026, 00:00–14:00 UTC').waitFor();
  assert.match(
    await before('today').innerText(),
    /^Clicks: \d+ more \(\+\d+%\)\nthan the same part of the day before\n/,
  );
  assert.match(await before('today').innerText(), /All of Fri, 20 Nov 2026: 419 clicks, 60 unique visitors/);
  await before('month').getByText('1 – 20 Nov 2026: 6,240 · 1 – 20 Oct 2026: 6,279').waitFor();
  await before('month').getByText('Clicks: 39 fewer (−0.6%) than the same part of the month before').waitFor();
  await before('range').getByText('23 Oct – 20 Nov 2026: 9,011 · 23 Sept – 21 Oct 2026: 9,353').waitFor();

  await unit(page, 'Hours').click();
  await page.getByRole('button', { name: 'Yesterday', exact: true }).click();
  await before('range').getByText('Unique visitors: 7 more (+13%) than the day before').waitFor();
  assert.equal(await before('range').getByText('same part').count(), 0);
  await close();
});

test('without earlier clicks no percentage is shown, and a failure says so', async () => {
  const server = new ClicksServer();
  Object.assign(server, { firstDay: today });
  const { page, close } = await openWith(server);
  const range = page.getByTestId('range-before');
  await page.getByRole('button', { name: '7 days', exact: true }).click();
  await range.getByText('Clicks: as many as the same part of the 7 days before', { exact: true }).waitFor();
  await page.getByLabel('From', { exact: true }).first().fill(today);
  await range.getByText(/^Clicks: \d+ more\sthan the same part of the day before$/).waitFor();
  server.failing = ['/stats/hourly'];
  await page.reload();
  await page.getByText('Could not compare with the period before. The page tries again.').first().waitFor();
  await close();
});

test('the chart shows days of the own time zone, without visitors, and the table stays in UTC', async () => {
  const { page, close } = await open({ timezoneId: 'Asia/Tokyo' });
  await figures(page);
  await periodsLoaded(page);
  const [section, rows] = [page.locator('section.history'), page.getByTestId('periods').locator('tr')];
  const newest = await rows.first().innerText();
  const hours = page.waitForResponse((response) => response.url().includes('/stats/hourly'));
  await section.getByLabel('Chart in days of Asia/Tokyo').check();
  assert.equal((await hours).status(), 200);
  await section.locator('.chart').getByText('unique visitors', { exact: true }).waitFor({ state: 'detached' });
  assert.equal(await rows.first().innerText(), newest);
  await section.getByLabel('Chart in days of Asia/Tokyo').uncheck();
  await section.locator('.chart').getByText('unique visitors', { exact: true }).waitFor();
  await unit(page, 'Months').click();
  assert.equal(await section.getByLabel('Chart in days of Asia/Tokyo').count(), 0);
  await close();
});

test('a zone that is not whole hours from UTC cannot be chosen, and the page says why', async () => {
  const { page, close } = await open({ timezoneId: 'Asia/Kolkata' });
  await figures(page);
  await page.getByText('this zone is not a whole number of hours from UTC').waitFor();
  assert.ok(await page.getByLabel(/Chart in days of Asia/).isDisabled());
  await close();
});
