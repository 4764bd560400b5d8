/** An outage of the server, on all pages. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, stackToken, unique, until, useBrowser } from '../harness.mjs';
import { stackUrl } from '../../chromium.mjs';

const open = useBrowser('/');
const ID = unique('outage');
const PAGES = ['/', '/tide/', '/game/', '/shop/', `/shop/?product=${ID}`, '/okusuri/', '/lately/'];

test('after an outage every page comes back by itself', async () => {
  const product = await fetch(`${stackUrl()}/products/${ID}`, {
    method: 'PUT',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${stackToken('TIDEMARK_STAFF_TOKEN')}`,
    },
    body: JSON.stringify({ name: 'Tea', price: 100, currency: 'EUR', stock: 1 }),
  });
  assert.equal(product.status, 201, await product.text());
  let isDown = true;
  const pages = await Promise.all(
    PAGES.map((at) =>
      open({
        at,
        prepare: (page) =>
          page.route('**', (route) =>
            isDown && route.request().resourceType() === 'fetch'
              ? route.fulfill({ status: 503, contentType: 'text/plain', body: 'Service Unavailable' })
              : route.fallback(),
          ),
      }),
    ),
  );
  const told = (/** @type {typeof pages} */ some) =>
    Promise.all(
      some.map(({ page }) =>
        page
          .locator('[role=alert], [role=status]')
          .filter({ hasText: /not responding|load/ })
          .allInnerTexts(),
      ),
    );
  // One by one, because a page that tries again tells nothing for a moment.
  for (const page of pages)
    await until(
      () => told([page]),
      ([texts]) => texts?.length !== 0,
    );
  for (const { page } of pages) assert.doesNotMatch(await page.locator('body').innerText(), /HTTP 503/);
  isDown = false;
  await becomes(
    () => told(pages),
    PAGES.map(() => []),
  );

  // A page with figures says when they are not up to date.
  isDown = true;
  await pages[0]?.page.getByText('Not up to date: the server is not responding.').first().waitFor();
  for (const { close } of pages) await close();
});
