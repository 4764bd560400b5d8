/** What the page shows when there is nothing, not yet, or no answer; and how it is dressed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../chromium.mjs';
import { figures, problem, useBrowser } from './harness.mjs';

const open = useBrowser();

test('an error shows the problem in the server’s words, and trying again recovers', async () => {
  let failing = true;
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/stats/**', (route) =>
        failing ? route.fulfill(problem(503, 'The statistics are busy', 'Try again in a moment.')) : route.continue(),
      ),
  });
  await page.getByText('The live figures cannot be read').waitFor();
  await page.getByText('The statistics are busy: Try again in a moment.').waitFor();
  failing = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await figures(page);
  await page.getByText('The live figures cannot be read').waitFor({ state: 'detached' });
  await close();
});

test('an answer that is no problem detail is still told', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/stats/**', (route) =>
        route.fulfill({ status: 429, contentType: 'application/json', body: '{"message":"Too Many Requests"}' }),
      ),
  });
  await page.getByText('Too Many Requests').waitFor();
  await close();
});

test('a server that does not answer at all is told, and the last figures stay', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  await page.route('**/stats/**', (route) => route.abort());
  await page.getByText('No answer from the server').waitFor();
  assert.equal((await figures(page)).total, before.total);
  await close();
});

test('a day without clicks invites the first', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/stats/daily/*', (route) =>
        route.fulfill({ json: { date: route.request().url().slice(-10), totalClicks: 0, uniqueUsers: 0 } }),
      ),
  });
  await page.getByText('nobody has clicked today').waitFor();
  await close();
});

test('loading keeps the place of what comes', async () => {
  /** @type {() => void} */
  let release = () => {};
  const released = new Promise((/** @type {(value: void) => void} */ resolve) => (release = resolve));
  const { page, close } = await open({
    prepare: (page) => page.route('**/stats/**', async (route) => released.then(() => route.continue())),
  });
  const places = () =>
    page.evaluate(() =>
      ['.gauge', '.history', '.charts', '[data-testid=days]'].map((selector) => {
        const box = document.querySelector(selector)?.getBoundingClientRect();
        return [selector, Math.round(box?.top ?? NaN), Math.round(box?.height ?? NaN)];
      }),
    );
  await page.locator('.skeleton').first().waitFor();
  await page.evaluate(() => document.fonts.ready);
  const before = await places();
  release();
  await figures(page);
  await page.locator('[data-testid=days] tr:not([aria-hidden])').first().waitFor();
  assert.deepEqual(await places(), before);
  await close();
});

test('a page in the background asks nothing', async () => {
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
  // What was asked before may still come to its end; three intervals later nothing may follow.
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
  await page.getByRole('heading', { name: '正確に数えるクリック' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('lang'), 'ja');
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('heading', { name: 'Clicks, counted exactly' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Clicks, counted exactly' }).waitFor();
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
    await page.locator('[data-testid=days] tr:not([aria-hidden])').first().waitFor();
    await page.locator('summary').click();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewports.phone.width);
    await close();
  });
}
