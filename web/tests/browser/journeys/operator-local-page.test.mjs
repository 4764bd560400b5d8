/** The page of the local stack itself, which shows any template. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unique, until, useBrowser, violations } from '../harness.mjs';
import { viewports } from '../../chromium.mjs';

const open = useBrowser('/_local/');

/** @import { Page } from 'playwright-core' */

/** Clicks for a user, whose name finds the invocation. @param {Page} page */
async function click(page) {
  const userId = unique('local-page');
  const clicked = await page.request.post(new URL('/clicks', page.url()).href, { data: { userId } });
  assert.equal(clicked.status(), 201);
  return userId;
}

test('an invocation shows its event and answer, and runs again', async () => {
  const { page, close } = await open();
  await page.getByRole('heading', { name: 'Activity' }).waitFor();
  const userId = await click(page);
  await page
    .getByRole('navigation')
    .getByRole('link', { name: /^ClickWriterFunction/ })
    .click();
  await page.getByRole('heading', { name: 'ClickWriterFunction' }).waitFor();
  // The newest one; the tests of other pages do not run at the same time.
  await page.getByRole('region', { name: 'Invocations' }).getByRole('link').first().click();
  await page.getByRole('heading', { name: 'POST /clicks' }).waitFor();
  await page.getByRole('group', { name: 'Event' }).getByText(userId).first().waitFor();
  assert.match(await page.getByRole('group', { name: 'Answer' }).innerText(), /"statusCode": 201/);
  const first = page.url();
  await page.getByRole('button', { name: 'Invoke again' }).click();
  const second = await until(
    () => page.url(),
    (url) => url !== first && url.includes('#/function/ClickWriterFunction/'),
  );
  // The address changes before the page has read the new invocation.
  await page.locator('code').getByText(second.replace(/^.*\//, ''), { exact: true }).waitFor();
  await page.getByRole('group', { name: 'Event' }).getByText(userId).first().waitFor();

  await page.getByText('Invoke with an event').click();
  await page.getByLabel('Event, JSON').fill('{"rawPath": "/nowhere"}');
  await page.getByRole('button', { name: 'Invoke', exact: true }).click();
  await page.getByRole('group', { name: 'Event' }).getByText('/nowhere').waitFor();
  await close();
});

test('items of a table are found by their partition key', async () => {
  const { page, close } = await open();
  const userId = await click(page);
  await page.getByRole('navigation').getByRole('link', { name: 'qit-db-local' }).click();
  await page.getByLabel('Partition key').fill(userId);
  await page.getByRole('button', { name: 'Read' }).click();
  await page.getByRole('button', { name: 'Query' }).waitFor();
  const items = page.getByRole('region', { name: 'Items' });
  await items.getByRole('rowheader', { name: userId }).first().waitFor();
  await items.locator('summary').first().click();
  assert.match(await items.getByRole('group', { name: 'Item' }).innerText(), /"S": "/);
  await close();
});

test('no view has an accessibility violation in either theme', async () => {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const viewport of [viewports.desktop, viewports.phone]) {
      const { page, close } = await open({ colorScheme, viewport });
      await page.getByRole('heading', { name: 'Activity' }).waitFor();
      await click(page);
      const { items } = await (await page.request.get(new URL('/_local/invocations', page.url()).href)).json();
      const { queues } = await (await page.request.get(new URL('/_local/state', page.url()).href)).json();
      const [{ function: name, requestId }] = items;
      const [queue] = queues;
      const views = [
        ['', 'Activity'],
        ['addresses', 'Addresses'],
        ['triggers', 'Triggers'],
        ['events', 'Events'],
        ['mail', 'Mail'],
        ['table/qit-db-local', 'qit-db-local'],
        [`queue/${queue.name}`, queue.name],
        [`function/${name}/${requestId}`, name],
      ];
      for (const [view, heading] of views) {
        await page.goto(new URL(`/_local/#/${view}`, page.url()).href);
        await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
        assert.deepEqual(await violations(page), [], `${view} ${colorScheme} ${viewport.width}`);
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= viewport.width, `${view} is ${width} px wide`);
      }
      await close();
    }
  }
});
