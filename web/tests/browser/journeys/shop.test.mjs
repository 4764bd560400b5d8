/** A product from its creation to the journal on the running stack, and the requests of staff. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { stackToken, unique } from '../harness.mjs';
import { move, setPrice, useShop, useToken } from '../shop-page.mjs';
import { ShopServer } from '../shop-server.mjs';

/** @import { Page } from 'playwright-core' */

const { open, openStaff } = useShop();
const token = stackToken('TIDEMARK_STAFF_TOKEN');

/** Creates a product in the form and stays on its page. @param {Page} page @param {string} id @param {string} name */
async function create(page, id, name) {
  const field = (/** @type {string} */ name) => page.getByRole('textbox', { name, exact: true });
  await page.getByRole('link', { name: 'New product' }).click();
  await useToken(page, token);
  await field('ID').fill(id);
  await field('Name').fill(name);
  await field('Currency').fill('EUR');
  await field('Price').fill('14,90');
  await field('Initial stock').fill('5');
  await field('Low-stock level').fill('3');
  await field('Your name').fill('Mio');
  await page.getByRole('button', { name: 'Create product' }).click();
  await page.getByRole('heading', { name }).waitFor();
}

test('a new product, its price change and its stock movements appear in its ledgers and in the journal', async () => {
  const id = unique('mug');
  const name = `Mug ${id}`;
  const { page, context, close } = await open({ at: '/shop/' });
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

test('a tenfold price is set after a question, and the ledger is saved', async () => {
  const id = unique('pot');
  const { page, close } = await open({ at: '/shop/' });
  await create(page, id, `Pot ${id}`);
  await setPrice(page, '150');
  await page.getByRole('alert').getByText('€150.00').waitFor();
  await page.getByTestId('price').getByText('€14.90').waitFor();
  await page.getByRole('button', { name: 'Yes, set this price' }).click();
  await page.getByText('The price is now €150.00.').waitFor();

  await move(page, 'Removed', '2');
  await page.getByText('Recorded. The stock is now 3.').waitFor();
  const save = async (/** @type {string} */ name) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
    return (await readFile(await download.path(), 'utf8')).trimEnd().split(/\r?\n/);
  };
  // The header, the first stock and the movement.
  assert.equal((await save('Download CSV')).length, 3);
  const movements = (await save('Download JSON Lines')).map((line) => JSON.parse(line));
  assert.deepEqual(
    movements.map(({ previousStock, newStock }) => [previousStock, newStock]),
    [
      [5, 3],
      [0, 5],
    ],
  );
  await close();
});

test('an order of two products is shown as reserved, then leaves both ledgers', async () => {
  const [cup, pan] = [unique('cup'), unique('pan')];
  const first = await open({ at: '/shop/' });
  await create(first.page, cup, `Cup ${cup}`);
  await first.close();
  const { page, close } = await open({ at: '/shop/' });
  await create(page, pan, `Pan ${pan}`);

  const orderId = unique('order');
  const send = (/** @type {string} */ path, /** @type {object} */ body) =>
    page.request.post(new URL(path, page.url()).href, { headers: { authorization: `Bearer ${token}` }, data: body });
  const line = (/** @type {string} */ productId, /** @type {number} */ quantity) => ({ productId, quantity });
  const refused = await send('/orders', { orderId: unique('order'), lines: [line(cup, 1), line(pan, 6)] });
  assert.equal(refused.status(), 409);
  // Lines of the same product are added up.
  const reserved = await send('/orders', { orderId, lines: [line(cup, 1), line(pan, 2), line(cup, 3)] });
  assert.equal(reserved.status(), 201);
  const shows = async (/** @type {string} */ product, /** @type {string} */ figure, /** @type {string} */ count) => {
    await page.goto(new URL(`/shop/?product=${product}`, page.url()).href);
    await page.getByTestId(figure).getByText(count, { exact: true }).waitFor();
  };
  await shows(cup, 'reserved', '4');
  await shows(pan, 'reserved', '2');

  assert.equal((await send(`/orders/${orderId}/commit`, {})).status(), 200);
  const left = async (/** @type {string} */ product, /** @type {string} */ count) => {
    await shows(product, 'stock', count);
    await page.getByTestId('reserved').getByText('0', { exact: true }).waitFor();
    await page.getByTestId('ledger').locator('tr.line').nth(1).waitFor();
  };
  await left(cup, '1');
  await left(pan, '3');
  await close();
});

test('an archived product leaves the list and can be restored', async () => {
  const id = unique('jug');
  const name = `Jug ${id}`;
  const { page, context, close } = await open({ at: '/shop/' });
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

test('a wrong token is rejected when it is entered', async () => {
  const { page, close } = await open({ at: '/shop/?new' });
  await useToken(page, 'not-the-token');
  await page.getByText('The token was not accepted.').waitFor();
  assert.equal(await page.getByLabel('Staff token').inputValue(), 'not-the-token');
  assert.equal(await page.getByRole('button', { name: 'Create product' }).count(), 0);
  await close();
});

test('a price is sent in minor units with a key, in whatever format it was typed', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByLabel('Reason').fill('  Winter ');
  await setPrice(page, '1.234,5');
  // More than ten times the old price has to be confirmed.
  await page.getByRole('alert').getByText('€1,234.50').waitFor();
  assert.equal(server.changes.length, 0);
  await page.getByRole('button', { name: 'Yes, set this price' }).click();
  await page.getByText('The price is now €1,234.50.').waitFor();
  const [sent] = server.changes;
  assert.equal(sent?.path, '/products/mug-035/price');
  assert.deepEqual(sent?.body, { price: 123_450, currency: 'EUR', reason: 'Winter', changedBy: 'Mio' });
  assert.match(sent?.key ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(sent?.token, 'Bearer token-1');
  await page.getByTestId('price').getByText('€1,234.50').waitFor();
  assert.equal(await page.getByLabel('New price in EUR').inputValue(), '');
  await close();
});

test('a change whose response is lost is sent again with the same key, also after a reload', async () => {
  const server = new ShopServer();
  let isDown = true;
  const post = 'POST /products/mug-035/stock';
  server.answers[post] = (route) => (isDown ? route.abort() : (delete server.answers[post], route.fallback()));
  const { page, close } = await openStaff(server);
  await move(page, 'Received', '5');
  await page.getByText('The server is not responding').waitFor();
  const lost = server.changes.length;
  assert.ok(lost > 1, 'it was retried');
  isDown = false;
  server.answers[post] = (route) =>
    route.fulfill({ status: 201, json: { previousStock: 42, newStock: 47, quantity: 5, type: 'IN' } });
  await page.reload();
  await move(page, 'Received', '5');
  await page.getByText('Recorded. The stock is now 47.').waitFor();
  assert.equal(server.changes.length, lost + 1);
  assert.equal(new Set(server.changes.map(({ key }) => key)).size, 1);

  // After a known outcome, the same change is a new one.
  await move(page, 'Received', '5');
  await page.getByText('Recorded. The stock is now 47.').waitFor();
  assert.equal(new Set(server.changes.map(({ key }) => key)).size, 2);
  await close();
});

test('a movement shows the resulting stock before it is sent', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByRole('button', { name: 'Change stock' }).click();
  for (const [movement, quantity, said] of [
    ['Received', '1,000', 'Stock: 42 → 1,042'],
    ['Removed', '2', 'Stock: 42 → 40'],
    ['Adjusted', '−2', 'Stock: 42 → 40'],
    ['Counted', '0', 'Stock: 42 → 0'],
  ]) {
    await page.locator('fieldset').getByText(String(movement), { exact: true }).click();
    await page.getByLabel('Quantity').fill(String(quantity));
    await page.getByText(String(said)).waitFor();
  }
  await page.getByRole('button', { name: 'Record movement' }).click();
  await page.getByText('Recorded. The stock is now 0.').waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { type: 'COUNT', quantity: 0, changedBy: 'Mio' });
  await close();
});

test('the list links to a product, whose heading gets the focus', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ at: '/shop/', prepare: (page) => server.install(page) });
  await page.getByRole('link', { name: 'Kettle for two' }).click();
  await page.getByRole('heading', { name: 'Kettle for two' }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'H1');
  assert.equal(await page.title(), 'Kettle for two · Shop · Tidemark');
  await page.goBack();
  await page.getByRole('link', { name: 'Kettle for two' }).waitFor();
  assert.equal(await page.title(), 'Shop · Tidemark');
  await close();
});
