/** From a new product to the line about it on the page of what happened lately, on the real stack. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */

const open = useBrowser('/shop/');
const token = process.env['TIDEMARK_STAFF_TOKEN'];
if (!token)
  throw new Error(
    'TIDEMARK_STAFF_TOKEN is not set. The running stack prints its tokens; `make test` sets it by itself.',
  );

/** @param {Page} page @param {string} text */
async function useToken(page, text) {
  await page.getByLabel('Staff token').fill(text);
  await page.getByRole('button', { name: 'Use', exact: true }).click();
}

/** @param {Page} page @param {string} name */
const field = (page, name) => page.getByRole('textbox', { name, exact: true });

/** Makes a product by hand and stays on its page. @param {Page} page @param {string} id @param {string} name */
async function create(page, id, name) {
  await page.getByRole('link', { name: 'New product' }).click();
  await useToken(page, String(token));
  await field(page, 'Id').fill(id);
  await field(page, 'Name').fill(name);
  await field(page, 'Currency').fill('EUR');
  await field(page, 'Price').fill('14,90');
  await field(page, 'In stock').fill('5');
  await field(page, 'Low stock from').fill('3');
  await field(page, 'Your name').fill('Mio');
  await page.getByRole('button', { name: 'Create the product' }).click();
  await page.getByRole('heading', { name }).waitFor();
}

/** @param {Page} page @param {string} movement @param {string} quantity */
async function move(page, movement, quantity) {
  await page.getByRole('button', { name: 'Move stock' }).click();
  await page.locator('fieldset').getByText(movement, { exact: true }).click();
  await page.getByLabel('Quantity').fill(quantity);
  await page.getByRole('button', { name: 'Write it down' }).click();
}

test('a product is made, gets another price, loses goods, and all of it stands in its ledgers and in the journal', async () => {
  const id = `mug-${Date.now()}`;
  const name = `Mug ${id}`;
  const { page, context, close } = await open();
  await create(page, id, name);
  await page.getByTestId('price').getByText('€14.90').waitFor();

  await page.getByLabel('New price in EUR').fill('12.90');
  await page.getByLabel('Reason').fill('Winter sale');
  await page.getByRole('button', { name: 'Set the price' }).click();
  await page.getByText('The price is €12.90 now.').waitFor();
  await page.getByTestId('price').getByText('€12.90').waitFor();
  await page.getByText('Lowest price in the 30 days before this reduction: €14.90 (now −13%).').waitFor();
  await page.getByRole('img', { name: /2 changes, between €12\.90 and €14\.90/ }).waitFor();
  await page.getByText('The changes as a table (2)').click();
  assert.match(
    await page.getByTestId('changes').locator('tr').first().innerText(),
    /€12\.90\s+−13%\s+Winter sale\s+Mio/,
  );

  await move(page, 'Went out', '6');
  await page.getByText('5 in stock, 0 of them reserved, 5 to take. Nothing was moved.').waitFor();
  await move(page, 'Went out', '2');
  await page.getByText('Written. The stock is 3 now.').waitFor();
  await page.getByTestId('stock').getByText('3', { exact: true }).waitFor();
  await page.getByText('Low stock', { exact: true }).waitFor();
  const ledger = page.getByTestId('ledger').locator('tr.line');
  await ledger.nth(1).waitFor();
  assert.deepEqual(
    (await ledger.allInnerTexts()).map((row) => row.split('\t').slice(1, 5)),
    [
      ['Went out', '−2', '5', '3'],
      ['Counted', '+5', '0', '5'],
    ],
  );

  const visited = await page.request.post(new URL('/users/visitor-1/activities', page.url()).href, {
    data: { action: 'viewed', productId: id, attributes: { from: 'list' } },
  });
  assert.equal(visited.status(), 201);
  await page.getByRole('button', { name: '7 days' }).click();
  const activity = page.getByTestId('activities').locator('tr.line');
  await activity.first().waitFor();
  assert.match(await activity.first().innerText(), /visitor-1\s+viewed\s+from: list/);

  // Whoever comes without the token sees the prices and nothing of who made them.
  const visitor = await context.newPage();
  await visitor.goto(page.url());
  await visitor.getByText('The changes as a table (2)').click();
  await visitor.getByTestId('changes').locator('tr').nth(1).waitFor();
  assert.equal(await visitor.getByText('Winter sale').count(), 0);

  await page.getByRole('link', { name: 'Lately' }).click();
  const log = page.getByTestId('log').locator('li').filter({ hasText: name });
  await log.getByText('costs €12.90 now, it was €14.90 (−13%).').waitFor();
  await log.getByText('runs low: 3 left, low from 3.').waitFor();
  // How goods move is in a stream for staff.
  assert.equal(await log.getByText('2 went out').count(), 0);
  await log.getByRole('link', { name }).first().click();
  await page.getByRole('heading', { name }).waitFor();
  await close();
});

test('an archived product leaves the list, and comes back', async () => {
  const id = `jug-${Date.now()}`;
  const name = `Jug ${id}`;
  const { page, context, close } = await open();
  await create(page, id, name);
  await page.getByRole('button', { name: 'Archive', exact: true }).click();
  await page.getByRole('button', { name: 'Archive the product' }).click();
  await page.getByRole('button', { name: 'Yes, archive it' }).click();
  await page.getByTestId('archived').waitFor();
  const ids = async () => {
    const list = await context.request.get(new URL('/products?limit=1000', page.url()).href);
    return (await list.json()).items.map((/** @type {{ id: string }} */ product) => product.id);
  };
  assert.ok(!(await ids()).includes(id));
  await page.goto(new URL('/shop/?archived', page.url()).href);
  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Restore the product' }).click();
  await page.getByText('Restored.', { exact: true }).waitFor();
  assert.ok((await ids()).includes(id));
  await close();
});

test('what is written into the journal appears on an open page by itself', async () => {
  const { page, close } = await open({ at: '/lately/' });
  await page
    .getByText(/The journal begins here|Older entries|Nothing has happened yet/)
    .first()
    .waitFor();
  const message = `The harbour master waved at ${Date.now()}.`;
  const response = await page.request.post(new URL('/journal/suite', page.url()).href, {
    headers: { authorization: `Bearer ${token}` },
    data: { message, attributes: { kind: 'harbour-master' } },
  });
  assert.equal(response.status(), 201);
  await page.getByTestId('log').getByText(message).waitFor();
  await close();
});

test('a wrong token is refused when it is entered', async () => {
  const { page, close } = await open({ at: '/shop/?new' });
  await useToken(page, 'not-the-token');
  await page.getByText('The token was not accepted.').waitFor();
  assert.equal(await page.getByLabel('Staff token').inputValue(), 'not-the-token');
  assert.equal(await page.getByRole('button', { name: 'Create the product' }).count(), 0);
  await close();
});
