/** The shop page against a scripted server: its requests, its texts, and lost responses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { named, problem, useBrowser } from './harness.mjs';
import { moment, now, priceRows, product, ShopServer } from './shop-server.mjs';

/** @import { Page } from 'playwright-core' */

const mug = '/shop/?product=mug-035';
const open = useBrowser(mug);

/**
 * Opens the page of the mug with the staff token.
 *
 * @param {ShopServer} server
 * @param {Parameters<typeof open>[0]} [options]
 */
async function openStaff(server, options = {}) {
  const visit = await open({ prepare: (page) => server.staff(page), ...options });
  await visit.page.getByTestId('ledger').locator('tr.line').first().waitFor();
  return visit;
}

/** @param {Page} page @param {string} price */
async function setPrice(page, price) {
  await page.getByLabel('New price in EUR').fill(price);
  await page.getByRole('button', { name: 'Set price' }).click();
}

/** @param {Page} page @param {string} movement @param {string} quantity */
async function move(page, movement, quantity) {
  await page.getByRole('button', { name: 'Change stock' }).click();
  await page.locator('fieldset').getByText(movement, { exact: true }).click();
  await page.getByLabel('Quantity').fill(quantity);
  await page.getByRole('button', { name: 'Record movement' }).click();
}

/** The rows of the price changes. @param {Page} page */
const changes = (page) => page.getByTestId('changes').locator('tr');

test('a price is sent in minor units with a key, in whatever format it was typed', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByLabel('Reason').fill('  Winter ');
  await setPrice(page, '1.234,5');
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

test('an invalid price shows an error and is not sent', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  for (const [typed, said] of [
    ['12.345.6', 'Enter a valid amount.'],
    ['0.005', 'This currency has fewer decimal places.'],
    ['-3', 'The price cannot be negative.'],
    ['', 'Enter a price.'],
  ]) {
    await setPrice(page, String(typed));
    await page.getByText(String(said)).waitFor();
  }
  assert.deepEqual(server.changes, []);
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

test('a rejected change shows the reason with its numbers', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  const level = { stock: 1_042, reserved: 6, available: 1_036 };
  for (const [type, said] of [
    ['insufficient-stock', 'Not enough stock: 1,042 in stock, 6 reserved, 1,036 available. Nothing was changed.'],
    ['reserved-stock', '6 are reserved for orders, so the stock cannot be lower.'],
    ['stock-overflow', 'The stock would be larger than the maximum.'],
    ['order-id-reused', 'This order has already changed the stock of this product'],
    ['conflict', 'Too many changes were made at the same time.'],
    ['idempotency-key-reused', 'This request was sent before with other values.'],
    ['product-not-found', 'This product does not exist.'],
  ]) {
    server.answers['POST /products/mug-035/stock'] = (route) => route.fulfill(named(409, String(type), 'x', level));
    await move(page, 'Removed', '40');
    await page.getByRole('alert').getByText(String(said)).waitFor();
  }
  server.answers['POST /products/mug-035/stock'] = (route) => route.fulfill(named(409, 'brand-new', 'Never heard of'));
  await move(page, 'Removed', '40');
  await page.getByText('Never heard of').waitFor();
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

test('a product is archived after a confirmation, listed among the archived ones, and restored', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByRole('button', { name: 'Archive', exact: true }).click();
  await page.getByRole('button', { name: 'Archive product' }).click();
  await page.getByText('Archive “Enamel mug, 0.35 l”? Press the button again to confirm.').waitFor();
  assert.equal(server.changes.length, 0);
  await page.getByRole('button', { name: 'Yes, archive it' }).click();
  await page.getByText('Archived.', { exact: true }).waitFor();
  await page.getByText('Archived on 21 Nov 2026').waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { name: 'Enamel mug, 0.35 l', archived: true });
  assert.equal(server.changes.at(-1)?.token, 'Bearer token-1');
  assert.equal(await page.getByRole('button', { name: 'Change price' }).count(), 0);

  await page.getByRole('link', { name: '← All products' }).click();
  const products = page.getByTestId('products').getByRole('link');
  await page.getByRole('link', { name: 'Kettle for two' }).waitFor();
  assert.equal(await products.count(), 3);
  await page.getByRole('link', { name: 'Archived products' }).click();
  await page.getByRole('heading', { name: 'Archived products' }).waitFor();
  await page.getByRole('link', { name: 'Enamel mug, 0.35 l' }).click();
  await page.getByRole('button', { name: 'Restore product' }).click();
  await page.getByText('Restored.', { exact: true }).waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { name: 'Enamel mug, 0.35 l', archived: false });
  await page.getByTestId('archived').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Change price' }).waitFor();
  assert.equal(await page.getByText('Restored.', { exact: true }).count(), 1, 'the message stays');
  await close();
});

test('archived products require the token', async () => {
  const server = new ShopServer();
  server.products = [product({ archivedAt: moment(now) })];
  const { page, close } = await open({ at: '/shop/?archived', prepare: (page) => server.install(page) });
  await page.getByLabel('Staff token').fill('token-1');
  assert.equal(await page.getByTestId('products').count(), 0);
  await page.getByRole('button', { name: 'Use token', exact: true }).click();
  await page.getByRole('link', { name: 'Enamel mug, 0.35 l' }).waitFor();
  await close();
});

test('the ledger is read page by page', async () => {
  const { page, close } = await openStaff(new ShopServer());
  const rows = page.getByTestId('ledger').locator('tr.line');
  assert.equal(await rows.count(), 25);
  await page.getByRole('button', { name: 'More' }).click();
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=ledger] tr.line').length === 50);
  await page.getByRole('button', { name: 'More' }).click();
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=ledger] tr.line').length === 60);
  assert.equal(await page.getByRole('button', { name: 'More' }).count(), 0);
  await close();
});

test('any days can be chosen, and the table has the same changes as the chart', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page), timezoneId: 'Asia/Tokyo' });
  await page.getByText('List of price changes (7)').click();
  assert.equal(await changes(page).count(), 7);
  await page.getByRole('button', { name: '30 days' }).click();
  await page.getByText('List of price changes (4)').waitFor();
  await page.getByRole('button', { name: 'All' }).click();
  await page.getByText('List of price changes (15)').waitFor();

  const asked = page.waitForRequest((request) => request.url().includes('/prices?') && request.url().includes('to='));
  await page.getByLabel('From').fill('2026-10-01');
  await page.getByLabel('To', { exact: true }).fill('2026-10-31');
  const query = new URL((await asked).url()).searchParams;
  // Days begin at midnight in the reader's time zone; the last day is included.
  assert.equal(query.get('from'), '2026-09-30T15:00:00.000Z');
  assert.equal(query.get('to'), '2026-10-31T15:00:00.000Z');
  await page.getByText('List of price changes (2)').waitFor();

  await page.getByLabel('To', { exact: true }).fill('2026-09-01');
  await page.getByText('The “From” date must not be after the “To” date.').waitFor();
  await page.getByLabel('To', { exact: true }).fill('2027-09-01');
  await page.getByLabel('From').fill('2027-08-01');
  await page.getByText('The “From” date must not be in the future.').waitFor();
  await close();
});

test('the chart describes its lowest price in words', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page), timezoneId: 'UTC' });
  await page.getByRole('button', { name: '1 year' }).click();
  await page.getByText('lowest €13.90, 24 May 2026 to 31 May 2026').waitFor();
  await page.getByRole('img', { name: /between €13\.90 and €18\.50/ }).waitFor();
  await close();
});

test('a day without a change shows the price that was in effect', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page), timezoneId: 'UTC' });
  await page.getByLabel('From').fill('2026-10-30');
  await page.getByLabel('To', { exact: true }).fill('2026-10-30');
  await page.getByText('lowest €17.90').waitFor();
  await page.getByText('List of price changes (0)').waitFor();
  await close();
});

test('the page shows the lowest price of 30 days, and for a reduction the lowest price before it', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('This is the lowest price in the last 30 days.').waitFor();
  await page.getByText('Lowest price in the 30 days before this reduction: €15.90 (now −6.3%).').waitFor();
  Object.assign(server.products[0] ?? {}, { price: 1_990, version: 2 });
  await page.getByText('Lowest price in the last 30 days: €14.90.').waitFor();
  assert.equal(await page.getByTestId('prior').count(), 0);
  await close();
});

test('reasons and names require the token', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('List of price changes').click();
  await changes(page).first().waitFor();
  assert.equal(await page.getByText('Autumn sale').count(), 0);
  await page.getByText('For staff').click();
  await page.getByLabel('Staff token').fill('token-1');
  await page.getByRole('button', { name: 'Use token', exact: true }).click();
  await page.getByText('Autumn sale').waitFor();
  await page.getByRole('button', { name: 'Forget token' }).click();
  await page.getByText('Autumn sale').waitFor({ state: 'detached' });
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes('token-1'));
  await close();
});

test('a wrong token shows an error, and the product stays readable without it', async () => {
  const server = new ShopServer();
  server.token = 'another';
  const { page, close } = await open({ prepare: (page) => server.staff(page) });
  await page.getByText('The staff token was not accepted.').first().waitFor();
  await page.getByRole('button', { name: 'Forget token' }).click();
  await page.getByText('List of price changes (7)').waitFor();
  await page.getByText('The staff token was not accepted.').waitFor({ state: 'detached' });
  await close();
});

test('typed values stay while another token is entered', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('For staff').click();
  const use = async (/** @type {string} */ token) => {
    await page.getByLabel('Staff token').fill(token);
    await page.getByRole('button', { name: 'Use token', exact: true }).click();
  };
  await use('wrong');
  await page.getByText('The token was not accepted.').waitFor();
  assert.equal(await page.getByLabel('New price in EUR').count(), 0);
  await use('token-1');
  await page.getByLabel('New price in EUR').fill('12.5');
  server.token = 'token-2';
  await page.getByRole('button', { name: 'Set price' }).click();
  await page.getByText('The staff token was not accepted.').first().waitFor();
  await page.getByRole('button', { name: 'Forget token' }).click();
  await use('token-2');
  assert.equal(await page.getByLabel('New price in EUR').inputValue(), '12.5');
  await page.getByRole('button', { name: 'Set price' }).click();
  await page.getByText('The price is now €12.50.').waitFor();
  await close();
});

test('a price of 0 must be confirmed', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await setPrice(page, '0');
  await page.getByText('makes the product free.').waitFor();
  assert.equal(server.changes.length, 0);
  await page.getByLabel('New price in EUR').fill('0.5');
  await page.getByText('makes the product free.').waitFor({ state: 'detached' });
  await setPrice(page, '0.00');
  await page.getByRole('button', { name: 'Yes, make it free' }).click();
  await page.getByText('The price is now €0.00.').waitFor();
  assert.equal(server.changes.length, 1);
  await close();
});

test('the tooltip at the right end shows since when the price is in effect', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  const plot = page.locator('.u-over').first();
  await plot.waitFor();
  const box = await plot.boundingBox();
  const newest = priceRows('mug-035', 'EUR')[0];
  assert.ok(box && newest);
  await plot.hover({ position: { x: box.width - 1, y: box.height / 2 } });
  const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' }).format(new Date(newest.createdAt));
  await page.locator('.tip').getByText(day).waitFor();
  await close();
});

test('a missing product can be created', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ at: '/shop/?product=tea-1', prepare: (page) => server.staff(page) });
  await page.getByRole('heading', { name: 'Product not found' }).waitFor();
  await page.getByRole('link', { name: 'New product' }).click();
  await page.getByRole('textbox', { name: 'ID', exact: true }).fill('tea-1');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Assam');
  await page.getByLabel('Currency').fill('jpy');
  await page.getByRole('textbox', { name: 'Price', exact: true }).fill('１，２００円');
  await page.getByLabel('Initial stock').fill('7');
  await page.getByRole('button', { name: 'Create product' }).click();
  await page.getByRole('heading', { name: 'Assam' }).waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, {
    name: 'Assam',
    lowStockThreshold: 0,
    price: 1_200,
    currency: 'JPY',
    stock: 7,
    changedBy: 'Mio',
  });
  assert.ok(page.url().endsWith('?product=tea-1'));
  await close();
});

test('an address with an invalid ID sends no request and says that the product was not found', async () => {
  const server = new ShopServer();
  let asked = 0;
  const { page, close } = await open({
    at: '/shop/?product=no%20id%2F',
    prepare: async (page) => {
      await server.install(page);
      page.on('request', (request) => (asked += request.url().includes('/products') ? 1 : 0));
    },
  });
  await page.getByRole('heading', { name: 'Product not found' }).waitFor();
  await page.getByText('“no id/”').waitFor();
  assert.equal(asked, 0);
  await close();
});

test('renaming a product does not send price and stock', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByRole('button', { name: 'Edit product' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mug');
  await page.getByLabel('Low-stock level').fill('50');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Mug' }).waitFor();
  await page.getByText('Low stock', { exact: true }).waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { name: 'Mug', lowStockThreshold: 50 });
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

test('a change by somebody else appears automatically', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByTestId('stock').getByText('42').waitFor();
  Object.assign(server.products[0] ?? {}, { stock: 9, available: 3, version: 2 });
  await page.getByTestId('stock').getByText('9', { exact: true }).waitFor();
  await page.getByText('Low stock', { exact: true }).waitFor();
  await close();
});

test('a failed request shows an error, and the next one recovers', async () => {
  const server = new ShopServer();
  server.answers['GET /products/mug-035'] = (route) => route.fulfill(named(503, 'busy', 'Busy'));
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('The database is busy.').waitFor();
  server.answers = {};
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Enamel mug, 0.35 l' }).waitFor();
  await page.getByText('The database is busy.').waitFor({ state: 'detached' });
  await close();
});

test('a long history shows only the newest changes and says so', async () => {
  const server = new ShopServer();
  const [row] = priceRows('mug-035', 'EUR');
  let asked = 0;
  server.answers['GET /products/mug-035/prices'] = (route) => {
    asked += 1;
    const at = moment(now - asked * 1_000);
    return route.fulfill({ json: { items: [{ ...row, id: `${at}~${asked}`, createdAt: at }], cursor: String(asked) } });
  };
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('List of price changes').click();
  await page.getByText('Only the latest 5 changes in this range are shown.').waitFor();
  assert.equal(asked, 5);
  await close();
});

test('the product’s page shows the visits of the last seven days, newest first', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  const rows = page.getByTestId('visits').locator('tr:not([aria-hidden])');
  await page.getByRole('cell', { name: '1,240' }).waitFor();
  assert.equal(await rows.count(), 7);
  assert.deepEqual(await rows.first().getByRole('cell').allInnerTexts(), ['Sat 21 Nov', '1,240', '810', '31']);
  assert.deepEqual(await rows.nth(3).getByRole('cell').allInnerTexts(), ['Wed 18 Nov', '0', '0', '0']);
  await close();
});

test('a product without visits says so, and a failure can be tried again', async () => {
  const server = new ShopServer();
  server.visits = [];
  const statistics = 'GET /products/mug-035/statistics';
  server.answers[statistics] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  const alert = page.getByRole('alert').filter({ hasText: 'Could not load the visits' });
  await alert.waitFor();
  delete server.answers[statistics];
  await alert.getByRole('button').click();
  await page.getByText('No visits in the last 7 days.').waitFor();
  assert.equal(await alert.count(), 0);
  await close();
});

test('the list names the most viewed products of today, without those that do not exist', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ at: '/shop/', prepare: (page) => server.install(page) });
  const top = page.getByTestId('most-viewed').locator('li');
  await top.first().waitFor();
  assert.deepEqual(
    (await top.allInnerTexts()).map((line) => line.replace(/\s+/g, ' ').trim()),
    ['Enamel mug, 0.35 l 1,240 views', '灯台のランプ 86 views', 'Sea chart of the North Sea, folded 1 view'],
  );
  await top.first().getByRole('link').click();
  await page.getByRole('heading', { level: 1, name: 'Enamel mug, 0.35 l' }).waitFor();
  await close();
});

test('without views today, the list has no section for them', async () => {
  const server = new ShopServer();
  server.top = [];
  const { page, close } = await open({ at: '/shop/', prepare: (page) => server.install(page) });
  await page.getByTestId('products').getByText('Enamel mug').waitFor();
  assert.equal(await page.getByText('Most viewed today').count(), 0);
  await close();
});
