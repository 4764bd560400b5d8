/** The states of the clicks page: empty, loading, failing, in the background; and small windows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../../chromium.mjs';
import { allRead, figures, periodsLoaded, useClicks } from '../clicks-page.mjs';
import { becomes, requestsArrived } from '../harness.mjs';

const { open } = useClicks();

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
  // A first read that fails has a notice of its own.
  await allRead(page);
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
  await periodsLoaded(page);
  assert.deepEqual(await places(), before);
  await close();
});

test('a page in the background sends no requests', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      Promise.all([
        page.clock.install(),
        page.addInitScript(() => {
          Object.defineProperty(document, 'visibilityState', {
            get: () => document.documentElement.dataset['test'] ?? 'visible',
          });
        }),
      ]),
  });
  // A request that began before is not in it, and its end changes nothing.
  const running = new Set();
  let begun = 0;
  page.on('request', (request) => running.add(request));
  await page.route('**/stats/**', (route) => (begun++, route.fallback()));
  page.on('requestfinished', (request) => running.delete(request));
  page.on('requestfailed', (request) => running.delete(request));
  await allRead(page);
  await page.evaluate(() => {
    document.documentElement.dataset['test'] = 'hidden';
    document.dispatchEvent(new Event('visibilitychange'));
  });
  // A read that was already running may finish. It has several requests, one after the other. After
  // that, there must be none for a minute.
  await becomes(async () => {
    const before = begun;
    await requestsArrived(page);
    return running.size === 0 && begun === before;
  }, true);
  const before = begun;
  await page.clock.runFor(60_000);
  await requestsArrived(page);
  assert.equal(begun, before);
  const asksAgain = page.waitForRequest('**/stats/total');
  await page.evaluate(() => {
    delete document.documentElement.dataset['test'];
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await asksAgain;
  await close();
});

for (const locale of ['en-GB', 'ja-JP']) {
  test(`nothing is wider than a phone of 320 pixels (${locale})`, async () => {
    const { page, close } = await open({ viewport: viewports.phone, locale });
    await figures(page);
    await periodsLoaded(page);
    for (const summary of await page.locator('summary').all()) await summary.click();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewports.phone.width);
    await close();
  });
}
