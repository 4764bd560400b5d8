/**
 * The start page: the data of each system, and that a failing system does not affect the others.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../chromium.mjs';
import { CLICKS, emptyShop, install, PATHS } from '../start-scenes.mjs';
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */

const open = useBrowser('/');

/**
 * What the page shows when the request to each path succeeds.
 *
 * @type {Record<string, (page: Page) => Promise<unknown>>}
 */
const signs = {
  '/stats/': (page) =>
    page
      .getByTestId('today')
      .getByText(String(CLICKS.at(-1)), { exact: true })
      .waitFor(),
  '/games': (page) => page.getByText('3 games are waiting for players').waitFor(),
  '/products': (page) => page.getByText('Lowest in 30 days').waitFor(),
  '/journal/': (page) => page.getByTestId('entries').getByText('to €14.90').waitFor(),
};

test('every system shows live data', async () => {
  const { page, close } = await open({ prepare: (page) => install(page) });
  for (const sign of Object.values(signs)) await sign(page);
  await page.getByText('Highest: 540 · 12 Nov').waitFor();
  await page.getByText('Saturday 21 November').waitFor();
  assert.equal(await page.getByText('Could not load').count(), 0);
  await close();
});

for (const failing of PATHS) {
  test(`when ${failing} fails, its tile says so and keeps its link, and the others still work`, async () => {
    const { page, close } = await open({ prepare: (page) => install(page, { failing: [failing] }) });
    for (const [path, sign] of Object.entries(signs)) if (path !== failing) await sign(page);
    await page.getByText('Could not load this right now').waitFor();
    assert.equal(await page.getByText('Could not load this right now').count(), 1);
    for (const name of [
      'Go to clicks',
      'Play',
      failing === '/products' ? 'Go to shop' : 'View product',
      'Log today',
      'See all events',
    ]) {
      await page.getByRole('link', { name, exact: false }).last().waitFor();
    }
    await close();
  });
}

test('a failed request recovers automatically', async () => {
  /** @type {string[]} */
  const failing = ['/games'];
  const { page, close } = await open({ prepare: (page) => install(page, { failing }) });
  await page.getByText('Could not load this right now').waitFor();
  failing.pop();
  await signs['/games']?.(page);
  await page.getByText('Could not load this right now').waitFor({ state: 'detached' });
  await close();
});

test('an empty stack shows what to do first', async () => {
  const { page, close } = await open({
    prepare: (page) => install(page, { clicks: [], games: [], shop: emptyShop() }),
  });
  for (const text of ['No clicks yet today', 'No open games', 'No products yet', 'No events yet']) {
    await page.getByText(text).waitFor();
  }
  await close();
});

test('each link leads to its page', async () => {
  const { page, close } = await open({ prepare: (page) => install(page) });
  await signs['/products']?.(page);
  const links = await page
    .locator('main section > a, main .button')
    .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
  assert.deepEqual(
    links.map((link) => link.replace(/\?.*/, '')),
    ['/tide/', '/game/', '/shop/', '/okusuri/', '/lately/'],
  );
  for (const link of links) assert.equal((await page.request.get(new URL(link, page.url()).href)).status(), 200, link);
  await close();
});

test('the header links to every page and marks the current one', async () => {
  const { page, close } = await open({ prepare: (page) => install(page) });
  const header = page.getByRole('banner');
  const links = await header.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
  assert.deepEqual(links, ['/', '/tide/', '/game/', '/shop/', '/okusuri/', '/lately/', '/operator/']);
  assert.equal(await header.locator('[aria-current=page]').getAttribute('href'), '/');
  await header.getByRole('link', { name: 'Recent events' }).click();
  await page.getByRole('heading', { level: 1, name: 'Recent events' }).waitFor();
  assert.equal(await header.locator('[aria-current=page]').getAttribute('href'), '/lately/');
  await close();
});

test('the layout does not move when the data arrives', async () => {
  /** @type {() => void} */
  let release = () => {};
  const released = new Promise((/** @type {(value: void) => void} */ resolve) => (release = resolve));
  const { page, close } = await open({
    viewport: viewports.desktop,
    prepare: async (page) => {
      await install(page);
      await page.route(/\/(stats|games|products|journal)/, async (route) => released.then(() => route.fallback()));
    },
  });
  const tops = () =>
    page.locator('main section').evaluateAll((all) => all.map((tile) => Math.round(tile.getBoundingClientRect().top)));
  await page.locator('.skeleton').first().waitFor();
  await page.evaluate(() => document.fonts.ready);
  const before = await tops();
  release();
  for (const sign of Object.values(signs)) await sign(page);
  assert.deepEqual(await tops(), before);
  await close();
});
