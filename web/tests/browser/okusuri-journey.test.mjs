/** From sign-in to deletion of the account, on the running stack. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { viewports } from '../chromium.mjs';
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */

/** @typedef {{ to: string[], text: string }} Mail */

const open = useBrowser('/okusuri/');

/** Far longer than an email takes. */
const MAIL_ATTEMPTS_MAX = 100;

/** The code that was sent to an address. @param {Page} page @param {string} email */
async function mailedCode(page, email) {
  for (let attempt = 0; attempt < MAIL_ATTEMPTS_MAX; attempt++) {
    const url = new URL('/_local/mail', page.url()).href;
    const answer = await page.request.get(url, { headers: { accept: 'application/json' } });
    const { items } = /** @type {{ items: Mail[] }} */ (await answer.json());
    const code = /\d{6}/.exec(items.find(({ to }) => to.includes(email))?.text ?? '')?.[0];
    if (code) return code;
    await page.waitForTimeout(100);
  }
  throw new Error(`no code was mailed to ${email}`);
}

/** Signs in as a new user, and returns the address. @param {Page} page */
async function signIn(page) {
  const email = `mio-${Date.now()}-${Math.floor(Math.random() * 1e6)}@example.org`;
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Send me a code' }).click();
  const field = page.getByRole('textbox', { name: 'Code' });
  await field.waitFor();
  const code = await mailedCode(page, email);
  // A code that is certainly wrong.
  await field.fill(code === '111111' ? '222222' : '111111');
  await page.getByText('You have 4 attempts left.').waitFor();
  await field.fill(code);
  await page.getByTestId('take').waitFor();
  return email;
}

/** The date in the time zone of the tests' browser. @param {number} [days] */
const dayAt = (days = 0) =>
  new Intl.DateTimeFormat('en-CA', { timeZone: 'Asia/Tokyo' }).format(Date.now() + days * 86_400_000);

test('signing in with a code, recording today and an earlier day, and signing out', async () => {
  const { page, context, close } = await open({ timezoneId: 'Asia/Tokyo', viewport: viewports.phone });
  const email = await signIn(page);
  await page.getByRole('img', { name: '0 days in a row; your best is 0.' }).waitFor();
  await page.getByTestId('take').click();
  await page.getByRole('img', { name: '1 day in a row; your best is 1.' }).waitFor();

  await page.getByRole('link', { name: 'History' }).click();
  await page.getByLabel('Add an earlier day').fill(dayAt(-1));
  await page.getByRole('button', { name: 'Open' }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Taken, with bleeding').click();
  await sheet.getByRole('textbox', { name: 'Note' }).fill('In the evening');
  await sheet.getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('history').getByText('With bleeding · In the evening').waitFor();
  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByRole('img', { name: '2 days in a row; your best is 2.' }).waitFor();
  await page.getByRole('link', { name: 'Calendar' }).click();
  await page.getByRole('button', { name: /, today, taken$/ }).waitFor();

  await page.getByRole('link', { name: 'Settings' }).click();
  assert.equal(await page.getByLabel('Time zone').inputValue(), 'Asia/Tokyo');
  await page.getByLabel('Name', { exact: true }).fill('Mio');
  await page.getByRole('button', { name: 'Save' }).last().click();
  await page.getByRole('button', { name: 'Add a medicine' }).click();
  const form = page.getByRole('form', { name: 'New medicine' });
  await form.getByLabel('Name').fill('Iron');
  await form.getByLabel('Dose').fill('1 tablet');
  await form.getByLabel('Times').fill('0:00, 23:59');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('medicines').getByText('1 tablet · 00:00, 23:59').waitFor();
  const csv = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export log (CSV)' }).click();
  assert.deepEqual((await readFile(await (await csv).path(), 'utf8')).trim().split(/\r?\n/), [
    'date,has_bleeding,is_taken,note',
    `${dayAt(-1)},true,true,In the evening`,
    `${dayAt()},false,true,`,
  ]);
  const json = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export everything (JSON)' }).click();
  assert.ok((await readFile(await (await json).path(), 'utf8')).includes('In the evening'));

  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByText('Hello, Mio').waitFor();
  await page.getByRole('button', { name: 'Taken: Iron, 23:59' }).click();
  await page.getByRole('button', { name: 'Undo: Iron, 23:59' }).waitFor();
  await page.getByTestId('doses').getByText('1 tablet · taken', { exact: true }).waitFor();

  const cookies = await context.cookies();
  assert.ok(cookies.some(({ httpOnly, sameSite, path }) => httpOnly && sameSite === 'Lax' && path === '/okusuri'));
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByTestId('devices').getByText('this device').waitFor();
  // The page deletes its data at once; the server is told a moment later.
  const told = page.waitForResponse((response) => response.url().endsWith('/okusuri/api/sign-out'));
  await page.getByTestId('sign-out').click();
  assert.equal((await told).status(), 204);
  await page.getByLabel('Email address').waitFor();
  // The token is no longer valid, and the browser keeps no data of the user.
  await context.addCookies(cookies);
  const answer = await page.request.get(new URL('/okusuri/api/me', page.url()).href);
  assert.equal(answer.status(), 401);
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  assert.ok(!kept.includes(email) && !kept.includes('Mio'), kept);
  await close();
});

test('a CSV file is imported, and then everything is deleted', async () => {
  const { page, close } = await open({ timezoneId: 'Asia/Tokyo' });
  await signIn(page);
  await page.getByRole('link', { name: 'Settings' }).click();
  const rows = [-3, -2, -1].map((days) => `${dayAt(days)},false,`);
  const csv = ['date,has_bleeding,note', ...rows, '2026-02-30,true,', `${dayAt(5)},true,`].join('\n');
  const file = { name: 'log.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
  await page.getByLabel('CSV file').setInputFiles(file);
  await page.getByText('3 rows can be imported. 2 rows have errors and are left out.').waitFor();
  await page.getByTestId('preview').getByText('This date is in the future.').waitFor();
  await page.getByRole('button', { name: 'Import 3 rows' }).click();
  await page.getByText('3 days were imported.').waitFor();
  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByRole('img', { name: '3 days in a row; your best is 3.' }).waitFor();

  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Delete everything…' }).click();
  await page.getByRole('checkbox', { name: /I understand/ }).check();
  await page.getByRole('button', { name: 'Delete permanently' }).click();
  await page.getByText('Your account and all its data were deleted.').waitFor();
  const answer = await page.request.get(new URL('/okusuri/api/me', page.url()).href);
  assert.equal(answer.status(), 401);
  await close();
});
