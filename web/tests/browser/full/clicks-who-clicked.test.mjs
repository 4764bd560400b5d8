/** The list of single clicks: its pages, unreadable rows, wrong tokens, and where the token is stored. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { figures, totalReaches, useClicks, useToken } from '../clicks-page.mjs';
import { stackToken, unique } from '../harness.mjs';

const { open } = useClicks();
const token = stackToken('TIDEMARK_OPERATOR_TOKEN');

test('with the token, the clicks of today and of one visitor are listed page by page', async () => {
  // The times are compared as texts, so the day may not end in the page's time zone either.
  const { page, close } = await open({ timezoneId: 'UTC' });
  const before = await figures(page);
  const name = unique('operator-test');
  await page.getByLabel('Your visitor name', { exact: true }).fill(name);
  await page.getByRole('button', { name: 'Save: Your visitor name' }).click();
  // One more than a page of the list.
  const clicks = 26;
  for (let i = 0; i < clicks; i++) await page.getByTestId('click').click();
  await totalReaches(page, before.total + clicks);

  await useToken(page, token);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  const rows = page.getByTestId('who').locator('tr');
  await rows.first().waitFor();
  assert.equal(await rows.count(), 25);

  await page.getByRole('button', { name: 'Search by visitor' }).click();
  assert.equal(await page.getByLabel('Visitor', { exact: true }).inputValue(), name);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await rows.first().waitFor();
  assert.equal(await rows.count(), 25);
  await page.getByRole('button', { name: 'More' }).click();
  await page.waitForFunction(() => document.querySelectorAll('[data-testid=who] tr').length === 26);
  assert.equal(await page.getByRole('button', { name: 'More' }).count(), 0);
  const times = await page.locator('[data-testid=who] .time').allInnerTexts();
  assert.deepEqual(times, times.toSorted().toReversed(), 'newest first');
  assert.deepEqual(new Set(await page.locator('[data-testid=who] .who').allInnerTexts()), new Set([name]));
  await close();
});

test('an invalid count and unreadable rows do not hide the other clicks', async () => {
  const { page, close } = await open({
    prepare: (page) =>
      page.route('**/days/*/clicks*', (route) => {
        const click = { userId: 'ann', createDateTime: '2026-11-22T10:30:00.000Z', clickCount: 2 };
        const odd = { ...click, createDateTime: '2026-11-22T10:30:01.000Z', clickCount: null };
        return route.fulfill({ json: { items: [click, odd], skipped: 1 } });
      }),
  });
  await useToken(page, token);
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('Not shown because they could not be read: 1').waitFor();
  assert.deepEqual(await page.locator('[data-testid=who] td.number').allInnerTexts(), ['2', '?']);
  await close();
});

test('a wrong token shows an error and can be removed', async () => {
  const { page, close } = await open();
  await useToken(page, 'not-the-token');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByText('The token was not accepted').waitFor();
  assert.equal(await page.getByTestId('who').count(), 0);
  await page.getByRole('button', { name: 'Forget token' }).click();
  await page.getByLabel('Operator token').waitFor();
  await close();
});

test('the token stays in its tab and appears in no address', async () => {
  const { page, context, close } = await open();
  await useToken(page, token);
  const request = page.waitForRequest('**/days/**');
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  const sent = await request;
  assert.equal(sent.headers()['authorization'], `Bearer ${token}`);
  assert.ok(!sent.url().includes(token));
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes(token));
  const other = await context.newPage();
  await other.goto(page.url());
  await other.locator('summary').last().click();
  await other.getByLabel('Operator token').waitFor();
  await close();
});
