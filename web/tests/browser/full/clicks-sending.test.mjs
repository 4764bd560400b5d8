/** Clicks that the server rejects or does not answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clicksCounted, figures, totalReaches, useClicks } from '../clicks-page.mjs';
import { becomes, problem } from '../harness.mjs';

const { open } = useClicks();

test('twenty quick clicks of one visitor are twenty clicks and one visitor', async () => {
  const { page, close } = await open();
  const before = await figures(page);
  for (let i = 0; i < 20; i++) await page.getByTestId('click').click();
  await totalReaches(page, before.total + 20);
  await clicksCounted(page);
  const after = await figures(page);
  assert.equal(after.total, before.total + 20);
  assert.equal(after.visitors, before.visitors + 1);
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
  await clicksCounted(page);
  await page.reload();
  assert.equal(await name.inputValue(), '訪問者 1');
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
  await clicksCounted(later);
  assert.equal(
    await later.evaluate(() => Object.keys(localStorage).filter((key) => key.includes('.click.')).length),
    0,
  );
  assert.equal((await figures(later)).total, before.total + 1);
  await close();
});
