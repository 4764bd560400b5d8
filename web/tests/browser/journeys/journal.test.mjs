/** The recent events page: an entry of the running stack, and the order and the links of the list. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stackToken, unique } from '../harness.mjs';
import { atLeast, lines, times, useJournal } from '../journal-page.mjs';
import { entries, entry, ShopServer } from '../shop-server.mjs';

const { open, openLog } = useJournal();
const token = stackToken('TIDEMARK_STAFF_TOKEN');

test('a new journal entry appears on an open page automatically', async () => {
  const { page, close } = await open();
  await page
    .getByText(/There are no older events|Load older events|No events yet/)
    .first()
    .waitFor();
  const message = `The harbour master waved: ${unique('wave')}.`;
  const response = await page.request.post(new URL('/journal/suite', page.url()).href, {
    headers: { authorization: `Bearer ${token}` },
    data: { message, attributes: { kind: 'harbour-master' } },
  });
  assert.equal(response.status(), 201);
  await page.getByTestId('log').getByText(message).waitFor();
  await close();
});

test('entries are sorted newest first and grouped by the reader’s days', async () => {
  const server = new ShopServer();
  server.entries = [
    entry(Date.UTC(2026, 10, 21, 14), 'A', {}),
    entry(Date.UTC(2026, 10, 20, 15), 'B', {}),
    entry(Date.UTC(2026, 10, 20, 14, 59), 'C', {}),
    entry(Date.UTC(2025, 10, 20, 14), 'D', {}),
  ];
  const { page, close } = await openLog(server, { timezoneId: 'Asia/Tokyo' });
  assert.deepEqual(await page.getByRole('heading', { level: 2 }).allInnerTexts(), [
    'Today, Saturday 21 November',
    'Yesterday, Friday 20 November',
    'Thursday, 20 November 2025',
  ]);
  assert.deepEqual(await lines(page).locator('p').allInnerTexts(), ['A', 'B', 'C', 'D']);
  assert.deepEqual(await lines(page).locator('time').allInnerTexts(), ['23:00', '00:00', '23:59', '23:00']);
  await page.getByText('There are no older events.').waitFor();
  await close();
});

test('scrolling down loads all older entries, each once', async () => {
  const server = new ShopServer();
  server.entries = entries(333);
  const { page, close } = await openLog(server);
  for (let count = 50; count < 333; count = await lines(page).count()) {
    await page.mouse.wheel(0, 20_000);
    await atLeast(page, count + 1);
  }
  await page.getByText('There are no older events.').waitFor();
  const all = await times(page);
  assert.deepEqual(
    all,
    server.entries.map(({ at }) => new Date(at.replace('000000Z', 'Z')).toISOString()),
  );
  await close();
});

test('products have their names and a link', async () => {
  const { page, close } = await openLog(new ShopServer());
  const link = page.getByRole('link', { name: 'Enamel mug, 0.35 l' }).first();
  await link.click();
  await page.getByTestId('price').getByText('€14.90').waitFor();
  await close();
});
