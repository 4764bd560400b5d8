/** Changes by staff against a scripted server: what is sent, rejected and confirmed. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { named } from '../harness.mjs';
import { changes, move, setPrice, useShop, useToken } from '../shop-page.mjs';
import { moment, now, product, ShopServer } from '../shop-server.mjs';

const { open, openStaff } = useShop();

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

test('the whole ledger is downloaded as CSV and as JSON Lines', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  const save = async (/** @type {string} */ name) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
    return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
  };
  const csv = await save('Download CSV');
  assert.equal(csv.name, 'ledger-mug-035.csv');
  assert.equal(csv.text.split('\r\n').length, server.ledger.length + 2);
  await page.getByText('Movements in the file: 60.').waitFor();
  const lines = await save('Download JSON Lines');
  assert.equal(lines.name, 'ledger-mug-035.jsonl');
  assert.deepEqual(
    lines.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id),
    server.ledger.map(({ id }) => id),
  );
  await close();
});

test('reasons and names require the token', async () => {
  const server = new ShopServer();
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByText('List of price changes').click();
  await changes(page).first().waitFor();
  assert.equal(await page.getByText('Autumn sale').count(), 0);
  await page.getByText('For staff').click();
  await useToken(page, 'token-1');
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
  await useToken(page, 'wrong');
  await page.getByText('The token was not accepted.').waitFor();
  assert.equal(await page.getByLabel('New price in EUR').count(), 0);
  await useToken(page, 'token-1');
  await page.getByLabel('New price in EUR').fill('12.5');
  server.token = 'token-2';
  await page.getByRole('button', { name: 'Set price' }).click();
  await page.getByText('The staff token was not accepted.').first().waitFor();
  await page.getByRole('button', { name: 'Forget token' }).click();
  await useToken(page, 'token-2');
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

test('renaming a product does not send price and stock', async () => {
  const server = new ShopServer();
  const { page, close } = await openStaff(server);
  await page.getByRole('button', { name: 'Edit product' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Mug');
  await page.getByLabel('Low-stock level').fill('50');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Mug', exact: true }).waitFor();
  await page.getByText('Low stock', { exact: true }).waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { name: 'Mug', lowStockThreshold: 50 });
  await close();
});
