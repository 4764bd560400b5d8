/** New and older entries of the recent events page, with its errors, against a scripted server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pressIfThere, problem } from '../harness.mjs';
import { atLeast, lines, times, useJournal } from '../journal-page.mjs';
import { entries, entry, now, ShopServer } from '../shop-server.mjs';

/** @import { Page } from 'playwright-core' */

const { open, openLog } = useJournal();

/** Waits until exactly this many entries are shown. @param {Page} page @param {number} count */
const shown = (page, count) =>
  page.waitForFunction((n) => document.querySelectorAll('[data-testid=log] li').length === n, count);

/** A new entry. @param {number} n */
const news = (n) => entry(now + n, `News ${n}`, { kind: 'harbour-master' }, n);

test('pages without entries do not stop the loading of older ones', async () => {
  const server = new ShopServer();
  server.answers['GET /journal/suite'] = (route) => {
    const step = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
    const items = step === 6 ? [entry(now - 1_000, 'At last', {})] : [];
    return route.fulfill({ json: { items, ...(step < 6 && { cursor: String(step + 1) }) } });
  };
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('At last').waitFor();
  await page.getByText('There are no older events.').waitFor();
  await close();
});

test('new entries appear on top automatically and are announced', async () => {
  const server = new ShopServer();
  const { page, close } = await openLog(server);
  server.entries = [news(2), news(1), ...server.entries];
  await shown(page, 52);
  assert.match(await lines(page).first().innerText(), /News 2/);
  await page.locator('[aria-live=polite]').getByText('2 new events').waitFor({ state: 'attached' });
  await close();
});

test('new entries wait behind a button while somebody reads further down', async () => {
  const server = new ShopServer();
  const { page, close } = await openLog(server);
  await page.mouse.wheel(0, 900);
  await page.waitForFunction(() => scrollY > 800);
  server.entries = [news(1), ...server.entries];
  const button = page.getByRole('button', { name: '1 new event' });
  await button.waitFor();
  assert.equal(await page.getByText('News 1').count(), 0);
  await button.click();
  await page.getByText('News 1').waitFor();
  await page.waitForFunction(() => scrollY === 0);
  assert.equal(await button.count(), 0);
  await close();
});

test('more new entries than a page holds leave no gap, and too many restart the list', async () => {
  const server = new ShopServer();
  const { page, close } = await openLog(server);
  const old = server.entries;
  server.entries = [...Array.from({ length: 120 }, (_, i) => news(120 - i)), ...old];
  await shown(page, 170);
  const all = await times(page);
  assert.deepEqual(all, all.toSorted().toReversed());
  server.entries = [...Array.from({ length: 900 }, (_, i) => news(1_020 - i)), ...server.entries];
  await lines(page).getByText('News 1020').waitFor();
  await shown(page, 200);
  assert.equal(await page.getByText('News 120', { exact: true }).count(), 0);
  await close();
});

test('an entry that arrives late is inserted at its place', async () => {
  const server = new ShopServer();
  server.entries = [news(9), news(7), ...entries(3)];
  const { page, close } = await openLog(server);
  server.entries = [news(9), news(8), news(7), ...entries(3)];
  await page.getByText('News 8').waitFor();
  assert.deepEqual(
    (await lines(page).locator('p').allInnerTexts()).slice(0, 3).map((text) => text.trim()),
    ['News 9', 'News 8', 'News 7'],
  );
  await close();
});

test('a failed request shows an error, and the next one recovers', async () => {
  const server = new ShopServer();
  server.answers['GET /journal/suite'] = (route) => route.fulfill(problem(500, 'Out of ink'));
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('Out of ink').waitFor();
  server.answers = {};
  await pressIfThere(page.getByRole('button', { name: 'Try again' }));
  await lines(page).first().waitFor();
  await page.getByText('Out of ink').waitFor({ state: 'detached' });
  await close();
});

test('after older entries failed to load, the button retries', async () => {
  const server = new ShopServer();
  server.answers['GET /journal/suite'] = (route) =>
    new URL(route.request().url()).searchParams.has('cursor')
      ? route.fulfill(problem(500, 'Out of ink'))
      : route.fulfill({ json: { items: server.entries.slice(0, 50), cursor: '50' } });
  const { page, close } = await openLog(server);
  await page.mouse.wheel(0, 20_000);
  await page.getByText('Could not load older events').waitFor();
  server.answers = {};
  await pressIfThere(page.getByRole('button', { name: 'Try again' }));
  await atLeast(page, 100);
  await close();
});

test('an offline page says so and keeps its entries', async () => {
  const { page, context, close } = await openLog(new ShopServer());
  await context.setOffline(true);
  await page.getByText('You are offline').waitFor();
  assert.equal(await lines(page).count(), 50);
  await context.setOffline(false);
  await page.getByText('You are offline').waitFor({ state: 'detached' });
  await close();
});

test('the same entries are shown in Japanese', async () => {
  const { page, close } = await openLog(new ShopServer(), { locale: 'ja-JP' });
  await page.getByRole('heading', { name: '最近のできごと' }).waitFor();
  await page.getByText('の価格が €17.90 から €14.90 になりました(−17%)。').first().waitFor();
  await page.getByText('The harbour master has waved.').first().waitFor();
  await close();
});
