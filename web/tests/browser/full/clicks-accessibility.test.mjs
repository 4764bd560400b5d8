/** WCAG 2.2 AA, as far as axe can check it, in both themes and sizes; and keyboard navigation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../../chromium.mjs';
import { clicksCounted, figures, periodsLoaded, useClicks } from '../clicks-page.mjs';
import { ClicksServer } from '../clicks-server.mjs';
import { becomes, problem, violations } from '../harness.mjs';

const { open, openWith } = useClicks();

for (const [size, viewport] of Object.entries(viewports)) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    const look = { viewport, colorScheme, reducedMotion: /** @type {const} */ ('reduce') };

    test(`axe finds no violations on the loaded page (${size}, ${colorScheme})`, async () => {
      const { page, close } = await open(look);
      await figures(page);
      await page.getByTestId('click').click();
      await clicksCounted(page);
      for (const summary of await page.locator('summary').all()) await summary.click();
      assert.deepEqual(await violations(page), []);
      await close();
    });

    test(`axe finds no violations on the failing page (${size}, ${colorScheme})`, async () => {
      const { page, close } = await open({
        ...look,
        prepare: (page) => page.route('**/stats/**', (route) => route.fulfill(problem(503, 'The statistics are busy'))),
      });
      await page.getByText('The statistics are busy').waitFor();
      await page.getByLabel('From', { exact: true }).first().fill('');
      await page.getByLabel('Your visitor name', { exact: true }).fill('#');
      await page.getByRole('button', { name: 'Save: Your visitor name' }).click();
      assert.deepEqual(await violations(page), []);
      await close();
    });
  }
}

test('the Tab key reaches everything in reading order, beginning with the skip link', async () => {
  // A page that loads slowly scrolls only after the browser has chosen where the Tab key starts.
  const slowly = () => {
    const scroll = Element.prototype.scrollIntoView;
    Element.prototype.scrollIntoView = function (/** @type {ScrollIntoViewOptions | boolean | undefined} */ how) {
      addEventListener('load', () => setTimeout(() => scroll.call(this, how)));
    };
  };
  const { page, close } = await open({ prepare: (page) => page.addInitScript(slowly) });
  await figures(page);
  await periodsLoaded(page);
  /** @type {(string | undefined)[]} */
  const stops = [];
  // Stops at the last expected element. The limit ends the test if that element is never reached.
  for (let i = 0; i < 60 && stops.at(-1) !== 'Who clicked'; i++) {
    await page.keyboard.press('Tab');
    stops.push(
      await page.evaluate(() => document.activeElement?.textContent?.trim() || document.activeElement?.tagName),
    );
  }
  const order = ['Skip to content', 'Tidemark', 'Clicks', '日本語', 'Click', 'Download CSV', '7 days', 'Who clicked'];
  const found = order.map((name) => stops.indexOf(name));
  assert.ok(!found.includes(-1), `missing among ${stops.join(', ')}`);
  assert.deepEqual(
    found,
    found.toSorted((a, b) => a - b),
  );
  await close();
});

test('several counted clicks are announced in one sentence', async () => {
  const server = new ClicksServer();
  const { page, close } = await openWith(server);
  await figures(page);
  // The page reads the total only after the server has all three clicks, so it counts them at once.
  await page.route('**/stats/total', async (route) => {
    await becomes(() => server.received.length, 3);
    await route.fallback();
  });
  for (let i = 0; i < 3; i++) await page.getByTestId('click').click();
  await page
    .locator('[aria-live=polite]')
    .getByText(/^3 counted\. Today: /)
    .waitFor({ state: 'attached' });
  await close();
});
