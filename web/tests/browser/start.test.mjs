/** The start page: what it shows of each system, and that one that fails leaves the others alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../chromium.mjs';
import { CLICKS, emptyShop, install, READINGS } from '../start-scenes.mjs';
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */

const open = useBrowser('/');

/** What must be seen of each reading when it succeeds. @type {Record<string, (page: Page) => Promise<unknown>>} */
const signs = {
  '/stats/': (page) =>
    page
      .getByTestId('today')
      .getByText(String(CLICKS.at(-1)), { exact: true })
      .waitFor(),
  '/games': (page) => page.getByText('3 games wait for players').waitFor(),
  '/products': (page) => page.getByText('Lowest of 30 days').waitFor(),
  '/journal/': (page) => page.getByTestId('news').getByText('costs €14.90 now').waitFor(),
};

test('every system shows something that is alive', async () => {
  const { page, close } = await open({ prepare: (page) => install(page) });
  for (const sign of Object.values(signs)) await sign(page);
  await page.getByText('High water 540 · 12 Nov').waitFor();
  await page.getByText('Saturday 21 November').waitFor();
  assert.equal(await page.getByText('Cannot be read').count(), 0);
  await close();
});

for (const failing of READINGS) {
  test(`when ${failing} fails, the rest stands, and its tile says so and still leads on`, async () => {
    const { page, close } = await open({ prepare: (page) => install(page, { failing: [failing] }) });
    for (const [path, sign] of Object.entries(signs)) if (path !== failing) await sign(page);
    await page.getByText('Cannot be read right now').waitFor();
    assert.equal(await page.getByText('Cannot be read right now').count(), 1);
    for (const way of ['To the buoy', 'Draw', 'Look closer', 'Log today', 'Read on']) {
      await page.getByRole('link', { name: way, exact: false }).last().waitFor();
    }
    await close();
  });
}

test('a reading that failed recovers by itself', async () => {
  /** @type {string[]} */
  const failing = ['/games'];
  const { page, close } = await open({ prepare: (page) => install(page, { failing }) });
  await page.getByText('Cannot be read right now').waitFor();
  failing.pop();
  await signs['/games']?.(page);
  await page.getByText('Cannot be read right now').waitFor({ state: 'detached' });
  await close();
});

test('an empty suite invites', async () => {
  const { page, close } = await open({
    prepare: (page) => install(page, { clicks: [], games: [], shop: emptyShop() }),
  });
  for (const text of [
    'nobody has clicked yet',
    'The paper is blank',
    'The shelves are empty',
    'Nothing has happened yet',
  ]) {
    await page.getByText(text).waitFor();
  }
  await close();
});

test('each way leads to its page', async () => {
  const { page, close } = await open({ prepare: (page) => install(page) });
  await signs['/products']?.(page);
  const ways = await page
    .locator('main section > a, main .button')
    .evaluateAll((all) => all.map((way) => way.getAttribute('href') ?? ''));
  assert.deepEqual(
    ways.map((way) => way.replace(/\?.*/, '')),
    ['/tide/', '/game/', '/shop/', '/okusuri/', '/lately/'],
  );
  for (const way of ways) assert.equal((await page.request.get(new URL(way, page.url()).href)).status(), 200, way);
  await close();
});

test('the header leads to every page and says where one is', async () => {
  const { page, close } = await open({ prepare: (page) => install(page) });
  const header = page.getByRole('banner');
  const links = await header.getByRole('link').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
  assert.deepEqual(links, ['/', '/tide/', '/game/', '/shop/', '/okusuri/', '/lately/', '/operator/']);
  assert.equal(await header.locator('[aria-current=page]').getAttribute('href'), '/');
  await header.getByRole('link', { name: 'Lately' }).click();
  await page.getByRole('heading', { level: 1, name: 'What happened lately' }).waitFor();
  assert.equal(await header.locator('[aria-current=page]').getAttribute('href'), '/lately/');
  await close();
});

test('loading keeps the place of what comes', async () => {
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
