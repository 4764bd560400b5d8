/** The start page: the data of each system, and the way to every page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyShop, install } from '../../start-scenes.mjs';
import { useBrowser } from '../harness.mjs';
import { signs } from '../start-page.mjs';

const open = useBrowser('/');

test('every system shows live data', async () => {
  const { page, close } = await open({ prepare: (page) => install(page) });
  for (const sign of Object.values(signs)) await sign(page);
  await page.getByText('Highest: 540 · 12 Nov').waitFor();
  await page.getByText('Saturday 21 November').waitFor();
  assert.equal(await page.getByText('Could not load').count(), 0);
  await close();
});

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
    .locator('main section > a, main a.button')
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

test('the demo is added and removed on a local stack, after a question', async () => {
  const { page, close } = await open({ prepare: (page) => install(page, { commands: ['demo', 'demo-remove'] }) });
  const panel = page.getByTestId('demo');
  await panel.getByRole('button', { name: 'Add the demo' }).click();
  await panel.getByText('The demo was added.').waitFor();
  const links = panel.getByRole('link');
  assert.equal(await links.nth(1).getAttribute('href'), '/game/?game=game-of-the-demo');
  await panel.getByRole('button', { name: 'Add the demo' }).click();
  await panel.getByText('already there').waitFor();
  await panel.getByRole('button', { name: 'Remove the demo' }).click();
  await panel.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await panel.getByText('already there').waitFor();
  await panel.getByRole('button', { name: 'Remove the demo' }).click();
  await panel.getByRole('dialog').getByRole('button', { name: 'Remove the demo' }).click();
  await panel.getByText('The demo was removed.').waitFor();
  assert.equal(await links.count(), 0);
  await close();
});

test('a deployed stage offers no demo', async () => {
  const { page, close } = await open({ prepare: (page) => install(page) });
  await signs['/products']?.(page);
  assert.equal(await page.getByTestId('demo').count(), 0);
  await close();
});
