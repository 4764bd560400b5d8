/** The states of the clicks page: empty, loading, failing; and its languages and themes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../chromium.mjs';
import { figures, problem, useBrowser } from './harness.mjs';

const open = useBrowser();

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
  await page.getByRole('button', { name: 'Try again' }).click();
  await figures(page);
  await page.getByText('Could not load the live figures').waitFor({ state: 'detached' });
  await close();
});

test('the message of an error without problem details is shown', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/stats/**', (route) =>
        route.fulfill({ status: 429, contentType: 'application/json', body: '{"message":"Too Many Requests"}' }),
      ),
  });
  await page.getByText('Too Many Requests').waitFor();
  await close();
});

test('when the server does not respond, the page says so and keeps the last figures', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  await page.route('**/stats/**', (route) => route.abort());
  await page.getByText('The server is not responding').waitFor();
  assert.equal((await figures(page)).total, before.total);
  await close();
});

test('a day without clicks says so', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/stats/daily/*', (route) =>
        route.fulfill({ json: { date: route.request().url().slice(-10), totalClicks: 0, uniqueUsers: 0 } }),
      ),
  });
  await page.getByText('No clicks yet today').waitFor();
  await close();
});

test('the layout does not move when the data arrives', async () => {
  /** @type {() => void} */
  let release = () => {};
  const released = new Promise((/** @type {(value: void) => void} */ resolve) => (release = resolve));
  const { page, close } = await open({
    prepare: (page) => page.route('**/stats/**', async (route) => released.then(() => route.continue())),
  });
  const places = () =>
    page.evaluate(() =>
      ['.gauge', '.history', '.chart', '[data-testid=periods]'].map((selector) => {
        const box = document.querySelector(selector)?.getBoundingClientRect();
        return [selector, Math.round(box?.top ?? NaN), Math.round(box?.height ?? NaN)];
      }),
    );
  await page.locator('.skeleton').first().waitFor();
  await page.evaluate(() => document.fonts.ready);
  const before = await places();
  release();
  await figures(page);
  await page.locator('[data-testid=periods] tr:not([aria-hidden])').first().waitFor();
  assert.deepEqual(await places(), before);
  await close();
});

test('a page in the background sends no requests', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      page.addInitScript(() => {
        Object.defineProperty(document, 'visibilityState', {
          get: () => document.documentElement.dataset['test'] ?? 'visible',
        });
      }),
  });
  await figures(page);
  await page.evaluate(() => {
    document.documentElement.dataset['test'] = 'hidden';
    document.dispatchEvent(new Event('visibilitychange'));
  });
  // A request that was already running may finish. After that, there must be none for three
  // intervals.
  await page.waitForTimeout(1_500);
  let asked = 0;
  page.on('request', () => asked++);
  await page.waitForTimeout(3_000);
  assert.equal(asked, 0);
  await page.evaluate(() => {
    delete document.documentElement.dataset['test'];
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await page.waitForRequest('**/stats/total');
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

for (const locale of ['en-GB', 'ja-JP']) {
  test(`nothing is wider than a phone of 320 pixels (${locale})`, async () => {
    const { page, close } = await open({ viewport: viewports.phone, locale });
    await figures(page);
    await page.locator('[data-testid=periods] tr:not([aria-hidden])').first().waitFor();
    await page.locator('summary').click();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewports.phone.width);
    await close();
  });
}
