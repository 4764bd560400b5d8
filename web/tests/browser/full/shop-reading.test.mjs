/** Products, prices and visits as every reader sees them, against a scripted server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, named, pressIfThere, problem } from '../harness.mjs';
import { changes, useShop } from '../shop-page.mjs';
import { moment, now, priceRows, ShopServer } from '../shop-server.mjs';

const { open } = useShop();

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
  await pressIfThere(page.getByRole('button', { name: 'Try again' }));
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
  await pressIfThere(alert.getByRole('button'));
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

test('a most viewed product whose name failed once appears later', async () => {
  const server = new ShopServer();
  const product = 'GET /products/mug-035';
  server.answers[product] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
  const { page, context, close } = await open({ at: '/shop/', prepare: (page) => server.install(page) });
  const top = page.getByTestId('most-viewed').locator('li');
  await becomes(() => top.count(), 2);
  delete server.answers[product];
  await context.setOffline(true);
  await page.waitForFunction(() => !navigator.onLine);
  await context.setOffline(false);
  await becomes(() => top.count(), 3);
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

test('the list finds products on every page and sorts them', async () => {
  const server = new ShopServer();
  const [mug] = server.products;
  server.products = Array.from({ length: 60 }, (_, i) => {
    const id = `cup-${String(i).padStart(2, '0')}`;
    return { ...mug, id, name: `Cup ${60 - i}`, price: 1000 + ((i * 7) % 60), available: (i * 11) % 60 };
  });
  const { page, close } = await open({ at: '/shop/', prepare: (page) => server.install(page) });
  const names = page.getByTestId('products').getByRole('link');
  const isFirst = (/** @type {string} */ name) => names.first().getByText(name, { exact: true }).waitFor();
  await isFirst('Cup 60');
  await page.getByLabel('Search by name or ID').fill('CUP-59');
  await isFirst('Cup 1');
  assert.equal(await names.count(), 1);
  await page.getByLabel('Search by name or ID').fill('saucer');
  await page.getByText('No product matches.').waitFor();
  await page.getByLabel('Search by name or ID').fill('');
  await page.getByLabel('Sort by').selectOption('Name');
  await isFirst('Cup 1');
  await page.getByLabel('Sort by').selectOption('Price, lowest first');
  await isFirst('Cup 60');
  await names.nth(1).getByText('Cup 17', { exact: true }).waitFor();
  await page.getByLabel('Sort by').selectOption('Available, fewest first');
  await names.nth(1).getByText('Cup 49', { exact: true }).waitFor();
  assert.equal(await names.count(), 60);
  await close();
});

test('one press puts the examples into an empty shop', async () => {
  const server = new ShopServer();
  server.products = [];
  const { page, close } = await open({ at: '/shop/', prepare: (page) => server.staff(page) });
  await page.getByRole('button', { name: 'Put in the examples' }).click();
  await page.getByRole('link', { name: 'Desk lamp' }).waitFor();
  assert.equal(await page.getByTestId('products').getByRole('link').count(), 3);
  await close();
});
