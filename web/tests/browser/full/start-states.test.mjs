/** The start page: a failing system does not affect the others, and nothing moves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../../chromium.mjs';
import { install, PATHS } from '../../start-scenes.mjs';
import { useBrowser } from '../harness.mjs';
import { signs } from '../start-page.mjs';

const open = useBrowser('/');

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
