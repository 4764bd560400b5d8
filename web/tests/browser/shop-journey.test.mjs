/** A product from its creation to its entries in the journal, on the running stack. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */

const open = useBrowser('/shop/');
const token = process.env['TIDEMARK_STAFF_TOKEN'];
if (!token)
  throw new Error(
    'TIDEMARK_STAFF_TOKEN is not set. The running stack prints its tokens; `make test` sets it automatically.',
  );

/** @param {Page} page @param {string} text */
async function useToken(page, text) {
  await page.getByLabel('Staff token').fill(text);
  await page.getByRole('button', { name: 'Use token', exact: true }).click();
}

/** @param {Page} page @param {string} name */
const field = (page, name) => page.getByRole('textbox', { name, exact: true });

/**
 * Creates a product in the form and stays on its page.
 *
 * @param {Page} page
 * @param {string} id
 * @param {string} name
 */
async function create(page, id, name) {
  await page.getByRole('link', { name: 'New product' }).click();
  await useToken(page, String(token));
  await field(page, 'ID').fill(id);
  await field(page, 'Name').fill(name);
  await field(page, 'Currency').fill('EUR');
  await field(page, 'Price').fill('14,90');
  await field(page, 'Initial stock').fill('5');
  await field(page, 'Low-stock level').fill('3');
  await field(page, 'Your name').fill('Mio');
  await page.getByRole('button', { name: 'Create product' }).click();
  await page.getByRole('heading', { name }).waitFor();
}

/** @param {Page} page @param {string} movement @param {string} quantity */
async function move(page, movement, quantity) {
  await page.getByRole('button', { name: 'Change stock' }).click();
  await page.locator('fieldset').getByText(movement, { exact: true }).click();
  await page.getByLabel('Quantity').fill(quantity);
  await page.getByRole('button', { name: 'Record movement' }).click();
}

test('a new product, its price change and its stock movements appear in its ledgers and in the journal', async () => {
  const id = `mug-${Date.now()}`;
  const name = `Mug ${id}`;
  const { page, context, close } = await open();
  await create(page, id, name);
  await page.getByTestId('price').getByText('€14.90').waitFor();

  await page.getByLabel('New price in EUR').fill('12.90');
  await page.getByLabel('Reason').fill('Winter sale');
  await page.getByRole('button', { name: 'Set price' }).click();
  await page.getByText('The price is now €12.90.').waitFor();
  await page.getByTestId('price').getByText('€12.90').waitFor();
  await page.getByText('Lowest price in the 30 days before this reduction: €14.90 (now −13%).').waitFor();
  await page.getByRole('img', { name: /2 changes, between €12\.90 and €14\.90/ }).waitFor();
  await page.getByText('List of price changes (2)').click();
  assert.match(
    await page.getByTestId('changes').locator('tr').first().innerText(),
    /€12\.90\s+−13%\s+Winter sale\s+Mio/,
  );

  await move(page, 'Removed', '6');
  await page.getByText('Not enough stock: 5 in stock, 0 reserved, 5 available. Nothing was changed.').waitFor();
  await move(page, 'Removed', '2');
  await page.getByText('Recorded. The stock is now 3.').waitFor();
  await page.getByTestId('stock').getByText('3', { exact: true }).waitFor();
  await page.getByText('Low stock', { exact: true }).waitFor();
  const ledger = page.getByTestId('ledger').locator('tr.line');
  await ledger.nth(1).waitFor();
  assert.deepEqual(
    (await ledger.allInnerTexts()).map((row) => row.split('\t').slice(1, 5)),
    [
      ['Removed', '−2', '5', '3'],
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

  // Without the token, a visitor sees the prices but not the names and reasons.
  const visitor = await context.newPage();
  await visitor.goto(page.url());
  await visitor.getByText('List of price changes (2)').click();
  await visitor.getByTestId('changes').locator('tr').nth(1).waitFor();
  assert.equal(await visitor.getByText('Winter sale').count(), 0);

  await page.getByRole('link', { name: 'Recent events' }).click();
  const log = page.getByTestId('log').locator('li').filter({ hasText: name });
  await log.getByText('changed in price from €14.90 to €12.90 (−13%).').waitFor();
  await log.getByText('is low in stock: 3 left (low-stock level: 3).').waitFor();
  // Stock movements are in the journal stream for staff.
  assert.equal(await log.getByText('removed 2').count(), 0);
  await log.getByRole('link', { name }).first().click();
  await page.getByRole('heading', { name }).waitFor();
  await close();
});

test('an archived product leaves the list and can be restored', async () => {
  const id = `jug-${Date.now()}`;
  const name = `Jug ${id}`;
  const { page, context, close } = await open();
  await create(page, id, name);
  await page.getByRole('button', { name: 'Archive', exact: true }).click();
  await page.getByRole('button', { name: 'Archive product' }).click();
  await page.getByRole('button', { name: 'Yes, archive it' }).click();
  await page.getByTestId('archived').waitFor();
  const ids = async () => {
    const list = await context.request.get(new URL('/products?limit=1000', page.url()).href);
    return (await list.json()).items.map((/** @type {{ id: string }} */ product) => product.id);
  };
  assert.ok(!(await ids()).includes(id));
  await page.goto(new URL('/shop/?archived', page.url()).href);
  await page.getByRole('link', { name }).click();
  await page.getByRole('button', { name: 'Restore product' }).click();
  await page.getByText('Restored.', { exact: true }).waitFor();
  assert.ok((await ids()).includes(id));
  await close();
});

test('a new journal entry appears on an open page automatically', async () => {
  const { page, close } = await open({ at: '/lately/' });
  await page
    .getByText(/There are no older events|Load older events|No events yet/)
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

test('a wrong token is rejected when it is entered', async () => {
  const { page, close } = await open({ at: '/shop/?new' });
  await useToken(page, 'not-the-token');
  await page.getByText('The token was not accepted.').waitFor();
  assert.equal(await page.getByLabel('Staff token').inputValue(), 'not-the-token');
  assert.equal(await page.getByRole('button', { name: 'Create product' }).count(), 0);
  await close();
});
