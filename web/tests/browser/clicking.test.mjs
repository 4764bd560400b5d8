/** Clicks from the button through the running stack to the figures on the page. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, figures, problem, totalReaches, useBrowser } from './harness.mjs';

const open = useBrowser();

test('a click raises today, the month and the total by one, and a new visitor by one', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  await page.getByTestId('click').click();
  await totalReaches(page, before.total + 1);
  await page.locator('[data-phase=counted]').waitFor();
  const after = await figures(page);
  assert.deepEqual(after, {
    today: before.today + 1,
    visitors: before.visitors + 1,
    month: before.month + 1,
    total: before.total + 1,
  });
  await close();
});

test('twenty quick clicks of one visitor are twenty clicks and one visitor', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  for (let i = 0; i < 20; i++) await page.getByTestId('click').click();
  await totalReaches(page, before.total + 20);
  await page.locator('[data-phase=counted]').waitFor();
  const after = await figures(page);
  assert.equal(after.total, before.total + 20);
  assert.equal(after.visitors, before.visitors + 1);
  await close();
});

test('the button works from the keyboard, and a key held down is one click', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  await page.getByTestId('click').focus();
  await page.keyboard.down('Enter');
  await page.keyboard.down('Enter');
  await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  await totalReaches(page, before.total + 1);
  await page.locator('[data-phase=counted]').waitFor();
  assert.equal((await figures(page)).total, before.total + 1);
  await close();
});

test('the first row of the table is today, with the same count as the gauge', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  await page.getByTestId('click').click();
  await totalReaches(page, before.total + 1);
  const first = page.getByTestId('periods').locator('tr').first();
  await first
    .getByText(String(before.today + 1), { exact: true })
    .first()
    .waitFor();
  await close();
});

test('a click whose response was lost is sent again with the same key and counted once', async () => {
  /** @type {(string | undefined)[]} */
  const keys = [];
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/clicks', async (route) => {
        keys.push(route.request().headers()['idempotency-key']);
        if (keys.length > 1) return route.continue();
        // The stack stores the click, but the browser gets no response.
        await route.fetch();
        return route.abort();
      }),
  });
  const before = await figures(page);
  await page.getByTestId('click').click();
  await page.locator('[data-phase=counted]').waitFor();
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  assert.match(keys[0] ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal((await figures(page)).total, before.total + 1);
  await close();
});

test('a rejected click shows the reason and can be dismissed', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/clicks', (route) =>
        route.fulfill(problem(400, 'The click is not valid', 'clickCount is too large')),
      ),
  });
  await figures(page);
  await page.getByTestId('click').click();
  await page.getByText('Rejected: 1').waitFor();
  await page.getByText('The click is not valid: clickCount is too large').waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByText('Rejected: 1').waitFor({ state: 'detached' });
  await close();
});

test('a click made offline is sent when the browser is online again', async () => {
  const { page, context, close } = await open();
  const before = await figures(page);
  await context.setOffline(true);
  await page.getByText('You are offline').waitFor();
  await page.getByTestId('click').click();
  await page.locator('[data-phase=offline]').waitFor();
  await context.setOffline(false);
  await totalReaches(page, before.total + 1);
  assert.equal((await figures(page)).total, before.total + 1);
  await close();
});

test('a click without a response is retried with the same key, also in the next visit', async () => {
  const { page, context, close } = await open();
  const before = await figures(page);
  /** @type {(string | undefined)[]} */
  const keys = [];
  context.on('request', (request) => {
    if (request.method() === 'POST') keys.push(request.headers()['idempotency-key']);
  });
  await context.route('**/clicks', (route) => route.abort());
  await page.getByTestId('click').click();
  // After some attempts, the page shows a notice and continues to retry.
  await page.getByText('Not sent yet: 1').waitFor();
  await page.getByText('This page keeps trying').first().waitFor();
  const attempts = keys.length;
  await page.getByRole('button', { name: 'Try again' }).first().click();
  await becomes(() => keys.length > attempts, true);
  // The page is closed before a response arrives. A new tab sends the stored click.
  const address = page.url();
  await page.goto('about:blank');
  const later = await context.newPage();
  await later.goto(address);
  await becomes(() => keys.length > attempts + 1, true);
  await context.unroute('**/clicks');
  // The server recovers. The next attempt succeeds without any action of the visitor.
  await totalReaches(later, before.total + 1);
  assert.equal(new Set(keys).size, 1);
  await later.locator('[data-phase=counted], [data-phase=ready]').waitFor();
  assert.equal(
    await later.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('.click.')).length),
    0,
  );
  assert.equal((await figures(later)).total, before.total + 1);
  await close();
});

test('a visitor can change the name within the rules of the API', async () => {
  const { page, close } = await open();
  const name = page.getByLabel('Your visitor name', { exact: true });
  const save = page.getByRole('button', { name: 'Save: Your visitor name' });
  for (const [wrong, message] of [
    ['', 'Enter at least one character.'],
    ['STAT#DAILY', 'The name cannot contain “#”.'],
    ['x'.repeat(129), 'Enter at most 128 characters.'],
  ]) {
    await name.fill(wrong ?? '');
    await save.click();
    await page.getByText(message ?? '').waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
  }
  await name.fill('訪問者 1');
  await save.click();
  await page.getByText('Saved.').waitFor();
  const sent = page.waitForRequest((request) => request.method() === 'POST');
  await page.getByTestId('click').click();
  assert.deepEqual((await sent).postDataJSON(), { userId: '訪問者 1', clickCount: 1, target: 'tide' });
  await page.locator('[data-phase=counted]').waitFor();
  await page.reload();
  assert.equal(await name.inputValue(), '訪問者 1');
  await close();
});
