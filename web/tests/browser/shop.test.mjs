/** The shop's page against a scripted server: what is sent, what is said, and what a lost answer does. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { named, useBrowser } from './harness.mjs';
import { moment, now, priceRows, product, ShopServer } from './shop-server.mjs';

/** @import { Page } from 'playwright-core' */

const mug = '/shop/?product=mug-035';
const open = useBrowser(mug);

/** Opens the mug's page for somebody who has the token. @param {ShopServer} server @param {Parameters<typeof open>[0]} [options] */
async function openStaff(server, options = {}) {
  const visit = await open({ prepare: (page) => server.staff(page), ...options });
  await visit.page.getByTestId('ledger').locator('tr.line').first().waitFor();
  return visit;
}

/** @param {Page} page @param {string} price */
async function setPrice(page, price) {
  await page.getByLabel('New price in EUR').fill(price);
  await page.getByRole('button', { name: 'Set the price' }).click();
}

/** @param {Page} page @param {string} movement @param {string} quantity */
async function move(page, movement, quantity) {
  await page.getByRole('button', { name: 'Move stock' }).click();
  await page.locator('fieldset').getByText(movement, { exact: true }).click();
  await page.getByLabel('Quantity').fill(quantity);
  await page.getByRole('button', { name: 'Write it down' }).click();
}

/** The rows of the table of changes. @param {Page} page */
const changes = (page) => page.getByTestId('changes').locator('tr');

test('a price is sent in minor units with a key, however it was written', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByLabel('Reason').fill('  Winter ');
  await setPrice(page, '1.234,5');
  await page.getByText('The price is €1,234.50 now.').waitFor();
  const [sent] = server.changes;
  assert.equal(sent?.path, '/products/mug-035/price');
  assert.deepEqual(sent?.body, { price: 123_450, currency: 'EUR', reason: 'Winter', changedBy: 'Mio' });
  assert.match(sent?.key ?? '', /^[0-9a-f-]{36}$/);
  assert.equal(sent?.token, 'Bearer token-1');
  await page.getByTestId('price').getByText('€1,234.50').waitFor();
  assert.equal(await page.getByLabel('New price in EUR').inputValue(), '');
  await close();
});

test('what is no price is told and not sent', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  for (const [typed, said] of [
    ['12.345.6', 'This is not an amount.'],
    ['0.005', 'That is finer than the currency’s smallest coin.'],
    ['-3', 'A price cannot be below zero.'],
    ['', 'Please write a price.'],
  ]) {
    await setPrice(page, String(typed));
    await page.getByText(String(said)).waitFor();
  }
  assert.deepEqual(server.changes, []);
  await close();
});

test('a change whose answer is lost is sent again under its key, also when somebody presses again after a reload', async () => {
  const server = new ShopServer();
  let isDown = true;
  const post = 'POST /products/mug-035/stock';
  server.answers[post] = (route) => (isDown ? route.abort() : (delete server.answers[post], route.fallback()));
  const { page, close } = await openStaff(server);
  await move(page, 'Came in', '5');
  await page.getByText('No answer from the server').waitFor();
  const lost = server.changes.length;
  assert.ok(lost > 1, 'it was tried again');
  isDown = false;
  server.answers[post] = (route) =>
    route.fulfill({ status: 201, json: { previousStock: 42, newStock: 47, quantity: 5, type: 'IN' } });
  await page.reload();
  await move(page, 'Came in', '5');
  await page.getByText('Written. The stock is 47 now.').waitFor();
  assert.equal(server.changes.length, lost + 1);
  assert.equal(new Set(server.changes.map(({ key }) => key)).size, 1);

  // The same once more is meant once more.
  await move(page, 'Came in', '5');
  await page.getByText('Written. The stock is 47 now.').waitFor();
  assert.equal(new Set(server.changes.map(({ key }) => key)).size, 2);
  await close();
});

test('what the server refuses is told in words, with its numbers', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  const level = { stock: 1_042, reserved: 6, available: 1_036 };
  for (const [type, said] of [
    ['insufficient-stock', '1,042 in stock, 6 of them reserved, 1,036 to take. Nothing was moved.'],
    ['reserved-stock', '6 are promised to orders; the stock cannot fall below that.'],
    ['stock-overflow', 'The stock would become larger than the ledger can hold.'],
    ['order-id-reused', 'This order has already moved goods of this product'],
    ['conflict', 'this one did not get its turn'],
    ['idempotency-key-reused', 'The same request was sent before'],
    ['product-not-found', 'There is no such product.'],
  ]) {
    server.answers['POST /products/mug-035/stock'] = (route) => route.fulfill(named(409, String(type), 'x', level));
    await move(page, 'Went out', '40');
    await page.getByRole('alert').getByText(String(said)).waitFor();
  }
  server.answers['POST /products/mug-035/stock'] = (route) => route.fulfill(named(409, 'brand-new', 'Never heard of'));
  await move(page, 'Went out', '40');
  await page.getByText('Never heard of').waitFor();
  await close();
});

test('a movement says what it will make of the stock', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByRole('button', { name: 'Move stock' }).click();
  for (const [movement, quantity, said] of [
    ['Came in', '1,000', 'Stock: 42 → 1,042'],
    ['Went out', '2', 'Stock: 42 → 40'],
    ['Correction', '−2', 'Stock: 42 → 40'],
    ['Counted', '0', 'Stock: 42 → 0'],
  ]) {
    await page.locator('fieldset').getByText(String(movement), { exact: true }).click();
    await page.getByLabel('Quantity').fill(String(quantity));
    await page.getByText(String(said)).waitFor();
  }
  await page.getByRole('button', { name: 'Write it down' }).click();
  await page.getByText('Written. The stock is 0 now.').waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { type: 'COUNT', quantity: 0, changedBy: 'Mio' });
  await close();
});

test('a product is archived after a question, found among the archived ones, and restored', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByRole('button', { name: 'Archive', exact: true }).click();
  await page.getByRole('button', { name: 'Archive the product' }).click();
  await page.getByText('Archive “Enamel mug, 0.35 l”? Press the button again to confirm.').waitFor();
  assert.equal(server.changes.length, 0);
  await page.getByRole('button', { name: 'Yes, archive it' }).click();
  await page.getByText('Archived.', { exact: true }).waitFor();
  await page.getByText('Archived on 21 Nov 2026').waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { name: 'Enamel mug, 0.35 l', archived: true });
  assert.equal(server.changes.at(-1)?.token, 'Bearer token-1');
  assert.equal(await page.getByRole('button', { name: 'Change the price' }).count(), 0);

  await page.getByRole('link', { name: '← All products' }).click();
  const products = page.getByTestId('products').getByRole('link');
  await page.getByRole('link', { name: 'Kettle for two' }).waitFor();
  assert.equal(await products.count(), 3);
  await page.getByRole('link', { name: 'Archived products' }).click();
  await page.getByRole('heading', { name: 'Archived products' }).waitFor();
  await page.getByRole('link', { name: 'Enamel mug, 0.35 l' }).click();
  await page.getByRole('button', { name: 'Restore the product' }).click();
  await page.getByText('Restored.', { exact: true }).waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { name: 'Enamel mug, 0.35 l', archived: false });
  await page.getByTestId('archived').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Change the price' }).waitFor();
  await close();
});

test('archived products are shown to whoever has the token', async () => {
  const server = new ShopServer();
  server.products = [product({ archivedAt: moment(now) })];
  const { page, close } = await open({ at: '/shop/?archived', prepare: (page) => server.install(page) });
  await page.getByLabel('Staff token').fill('token-1');
  assert.equal(await page.getByTestId('products').count(), 0);
  await page.getByRole('button', { name: 'Use', exact: true }).click();
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

test('any days can be chosen, and the table has what the chart shows', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page), timezoneId: 'Asia/Tokyo' });
  await page.getByText('The changes as a table (7)').click();
  assert.equal(await changes(page).count(), 7);
  await page.getByRole('button', { name: '30 days' }).click();
  await page.getByText('The changes as a table (4)').waitFor();
  await page.getByRole('button', { name: 'All' }).click();
  await page.getByText('The changes as a table (15)').waitFor();

  const asked = page.waitForRequest((request) => request.url().includes('/prices?') && request.url().includes('to='));
  await page.getByLabel('From').fill('2026-10-01');
  await page.getByLabel('To', { exact: true }).fill('2026-10-31');
  const query = new URL((await asked).url()).searchParams;
  // The reader's days, beginning at the reader's midnight; the last one is included.
  assert.equal(query.get('from'), '2026-09-30T15:00:00.000Z');
  assert.equal(query.get('to'), '2026-10-31T15:00:00.000Z');
  await page.getByText('The changes as a table (2)').waitFor();

  await page.getByLabel('To', { exact: true }).fill('2026-09-01');
  await page.getByText('The first day lies after the last.').waitFor();
  await page.getByLabel('To', { exact: true }).fill('2027-09-01');
  await page.getByLabel('From').fill('2027-08-01');
  await page.getByText('These days are still to come.').waitFor();
  await close();
});

test('the chart says its lowest in words', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page), timezoneId: 'UTC' });
  await page.getByRole('button', { name: 'Year' }).click();
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
  await page.getByText('The changes as a table (0)').waitFor();
  await close();
});

test('a price stands beside the lowest of the last 30 days, a reduction beside the lowest before it', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('No lower price in the last 30 days.').waitFor();
  await page.getByText('Lowest price in the 30 days before this reduction: €15.90 (now −6.3%).').waitFor();
  Object.assign(server.products[0] ?? {}, { price: 1_990, version: 2 });
  await page.getByText('Lowest price of the last 30 days: €14.90.').waitFor();
  assert.equal(await page.getByTestId('prior').count(), 0);
  await close();
});

test('reasons and names are shown to who holds the token, and asked for with it', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('The changes as a table').click();
  await changes(page).first().waitFor();
  assert.equal(await page.getByText('Autumn sale').count(), 0);
  await page.getByText('For staff').click();
  await page.getByLabel('Staff token').fill('token-1');
  await page.getByRole('button', { name: 'Use', exact: true }).click();
  await page.getByText('Autumn sale').waitFor();
  await page.getByRole('button', { name: 'Forget the token' }).click();
  await page.getByText('Autumn sale').waitFor({ state: 'detached' });
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes('token-1'));
  await close();
});

test('a wrong token is told, and the product stays readable without it', async () => {
  const server = new ShopServer();
  server.token = 'another';
  const { page, close } = await open({ prepare: (page) => server.staff(page) });
  await page.getByText('The staff’s token was not accepted.').first().waitFor();
  await page.getByRole('button', { name: 'Forget the token' }).click();
  await page.getByText('The changes as a table (7)').waitFor();
  await page.getByText('The staff’s token was not accepted.').waitFor({ state: 'detached' });
  await close();
});

test('what was typed is still there when another token is asked for', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('For staff').click();
  const use = async (/** @type {string} */ token) => {
    await page.getByLabel('Staff token').fill(token);
    await page.getByRole('button', { name: 'Use', exact: true }).click();
  };
  await use('wrong');
  await page.getByText('The token was not accepted.').waitFor();
  assert.equal(await page.getByLabel('New price in EUR').count(), 0);
  await use('token-1');
  await page.getByLabel('New price in EUR').fill('12.5');
  server.token = 'token-2';
  await page.getByRole('button', { name: 'Set the price' }).click();
  await page.getByText('The staff’s token was not accepted.').first().waitFor();
  await page.getByRole('button', { name: 'Forget the token' }).click();
  await use('token-2');
  assert.equal(await page.getByLabel('New price in EUR').inputValue(), '12.5');
  await page.getByRole('button', { name: 'Set the price' }).click();
  await page.getByText('The price is €12.50 now.').waitFor();
  await close();
});

test('a price of nothing is asked about before it is sent', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await setPrice(page, '0');
  await page.getByText('It makes the product free.').waitFor();
  assert.equal(server.changes.length, 0);
  await page.getByLabel('New price in EUR').fill('0.5');
  await page.getByText('It makes the product free.').waitFor({ state: 'detached' });
  await setPrice(page, '0.00');
  await page.getByRole('button', { name: 'Yes, make it free' }).click();
  await page.getByText('The price is €0.00 now.').waitFor();
  assert.equal(server.changes.length, 1);
  await close();
});

test('the chart tells at its right end since when the price holds', async () => {
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

test('a product that is not there offers to be made, and is made', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ at: '/shop/?product=tea-1', prepare: (page) => server.staff(page) });
  await page.getByRole('heading', { name: 'There is no such product' }).waitFor();
  await page.getByRole('link', { name: 'New product' }).click();
  await page.getByRole('textbox', { name: 'Id', exact: true }).fill('tea-1');
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Assam');
  await page.getByLabel('Currency').fill('jpy');
  await page.getByRole('textbox', { name: 'Price', exact: true }).fill('１，２００円');
  await page.getByLabel('In stock').fill('7');
  await page.getByRole('button', { name: 'Create the product' }).click();
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

test('an address that holds no id asks nothing and says that there is no such product', async () => {
  const server = new ShopServer();
  let asked = 0;
  const { page, close } = await open({
    at: '/shop/?product=no%20id%2F',
    prepare: async (page) => {
      await server.install(page);
      page.on('request', (request) => (asked += request.url().includes('/products') ? 1 : 0));
    },
  });
  await page.getByRole('heading', { name: 'There is no such product' }).waitFor();
  await page.getByText('“no id/”').waitFor();
  assert.equal(asked, 0);
  await close();
});

test('a product is renamed without touching price and stock', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByRole('button', { name: 'Edit the product' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mug');
  await page.getByLabel('Low stock from').fill('50');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Mug' }).waitFor();
  await page.getByText('Low stock', { exact: true }).waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { name: 'Mug', lowStockThreshold: 50 });
  await close();
});

test('the list leads to a product and back, with the keyboard’s place', async () => {
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

test('somebody else’s change appears by itself', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByTestId('stock').getByText('42').waitFor();
  Object.assign(server.products[0] ?? {}, { stock: 9, available: 3, version: 2 });
  await page.getByTestId('stock').getByText('9', { exact: true }).waitFor();
  await page.getByText('Low stock', { exact: true }).waitFor();
  await close();
});

test('a product that cannot be read says so, and comes when it can', async () => {
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

test('a long history is cut at the newest changes, and says so', async () => {
  const server = new ShopServer();
  const [row] = priceRows('mug-035', 'EUR');
  let asked = 0;
  server.answers['GET /products/mug-035/prices'] = (route) => {
    asked += 1;
    const at = moment(now - asked * 1_000);
    return route.fulfill({ json: { items: [{ ...row, id: `${at}~${asked}`, createdAt: at }], cursor: String(asked) } });
  };
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('The changes as a table').click();
  await page.getByText('Shown are the latest 5 changes of this range.').waitFor();
  assert.equal(asked, 5);
  await close();
});
