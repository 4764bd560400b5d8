/** The medication log: from sign-in to deletion on the running stack, then each screen. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { viewports } from '../../chromium.mjs';
import { becomes, unique } from '../harness.mjs';
import { act, logChanges, stored, tellOffline, useOkusuri } from '../okusuri-page.mjs';
import { dayAt, OkusuriServer, today } from '../okusuri-server.mjs';

/** @import { Page } from 'playwright-core' */

/** @typedef {{ to: string[], text: string }} Mail */

/** `visit` opens the page of the running stack, `open` the one of a scripted server. */
const { visit, open } = useOkusuri();

/** The code that was sent to an address. @param {Page} page @param {string} email */
async function mailedCode(page, email) {
  const url = new URL('/_local/mail', page.url()).href;
  let code = '';
  await becomes(async () => {
    const answer = await page.request.get(url, { headers: { accept: 'application/json' } });
    const { items } = /** @type {{ items: Mail[] }} */ (await answer.json());
    code = /\d{6}/.exec(items.find(({ to }) => to.includes(email))?.text ?? '')?.[0] ?? '';
    return code !== '';
  }, true);
  return code;
}

/** Signs in as a new user, chooses a regimen, and returns the address. @param {Page} page @param {string} [regimen] */
async function signIn(page, regimen = 'Continuous, with rest rules') {
  const email = `${unique('mio')}@example.org`;
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Send me a code' }).click();
  const field = page.getByRole('textbox', { name: 'Code' });
  await field.waitFor();
  const code = await mailedCode(page, email);
  // A code that is certainly wrong.
  await field.fill(code === '111111' ? '222222' : '111111');
  await page.getByText('You have 4 attempts left.').waitFor();
  await field.fill(code);
  await page.getByRole('heading', { name: 'How do you take your medicine?' }).waitFor();
  await page.getByText('This is no medical advice.').waitFor();
  assert.equal(await page.getByRole('radio', { name: 'Medicines only' }).isChecked(), true);
  await page.getByRole('radio', { name: regimen }).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('take').waitFor();
  return email;
}

/** The time zone of the tests' browser. In Tokyo, the day ends at 15:00 UTC. */
const ZONE = [14, 15].includes(new Date().getUTCHours()) ? 'Europe/Berlin' : 'Asia/Tokyo';

/** The date of the real clock in that time zone. @param {number} [days] */
const realDay = (days = 0) =>
  new Intl.DateTimeFormat('en-CA', { timeZone: ZONE }).format(Date.now() + days * 86_400_000);

test('a user signs in with a code, records days, reads the doctor’s page and signs out', async () => {
  const { page, context, close } = await visit({ timezoneId: ZONE, viewport: viewports.phone });
  const email = await signIn(page);
  await page.getByRole('img', { name: '0 days in a row; your best is 0.' }).waitFor();
  await page.getByTestId('take').click();
  await page.getByRole('img', { name: '1 day in a row; your best is 1.' }).waitFor();
  await act(page).getByRole('button', { name: 'mood changes' }).click();

  await page.getByRole('link', { name: 'History' }).click();
  await page.getByLabel('Add an earlier day').fill(realDay(-1));
  await page.getByRole('button', { name: 'Open' }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Taken, with bleeding').click();
  await sheet.getByRole('group', { name: 'Flow' }).getByRole('button', { name: 'heavy' }).click();
  for (const name of ['headache', 'cramps']) await sheet.getByRole('button', { name }).click();
  await sheet.getByRole('textbox', { name: 'Note' }).fill('In the evening');
  await sheet.getByRole('button', { name: 'Save' }).click();
  await page
    .getByTestId('history')
    .getByText('With bleeding · flow: heavy · cramps, headache · In the evening')
    .waitFor();
  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByRole('img', { name: '2 days in a row; your best is 2.' }).waitFor();
  await page.getByRole('link', { name: 'Calendar' }).click();
  await page.getByRole('button', { name: /, today, taken, mood changes$/ }).waitFor();

  await page.getByRole('link', { name: 'Settings' }).click();
  assert.equal(await page.getByLabel('Time zone').inputValue(), ZONE);
  await page.getByLabel('Name', { exact: true }).fill('Mio');
  await page.getByRole('button', { name: 'Save' }).last().click();
  const reminder = page.getByRole('region', { name: 'Reminder' });
  await reminder.getByLabel('Remind me of each dose').check();
  assert.equal(await reminder.getByLabel('Email me when no notification reaches me').isChecked(), true);
  await reminder.getByRole('button', { name: 'Save' }).click();
  await reminder.getByText('Saved.').waitFor();
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
    'date,has_bleeding,is_taken,note,flow,symptoms',
    `${realDay(-1)},true,true,In the evening,heavy,cramps headache`,
    `${realDay()},false,true,,,mood`,
  ]);
  const json = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export everything (JSON)' }).click();
  const exported = await readFile(await (await json).path(), 'utf8');
  for (const part of ['In the evening', '"isMailed": true']) assert.ok(exported.includes(part), part);

  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByText('Hello, Mio').waitFor();
  await page.getByRole('button', { name: 'Taken: Iron, 23:59' }).click();
  await page.getByRole('button', { name: 'Undo: Iron, 23:59' }).waitFor();
  // To the end of the text: with an unsent entry, the page would ask before it signs out.
  await page
    .getByTestId('doses')
    .getByText(/^1 tablet · taken at \d\d:\d\d$/)
    .waitFor();

  await page.getByRole('link', { name: 'History' }).click();
  await page.getByRole('link', { name: 'Page for the doctor' }).click();
  await page.getByTestId('report-regimen').getByText('Continuous, with rest rules').waitFor();
  await page.getByTestId('medicine-adherence').getByText('1 tablet · 00:00, 23:59').waitFor();
  await page
    .getByTestId('bleeding')
    .getByText(/ · 1 day$/)
    .waitFor();
  await page.getByRole('row', { name: /^Flow/ }).getByText('heavy').waitFor();
  for (const name of [/^headache/i, /^cramps/i, /^mood changes/i])
    await page.getByTestId('symptoms').getByRole('row', { name }).waitFor();
  await page.getByLabel('With my notes').check();
  await page.getByText('In the evening').waitFor();

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

test('without bleeding, a medicine as needed counts down, and a new pack is added', async () => {
  const { page, close } = await visit({ timezoneId: ZONE, viewport: viewports.phone });
  await signIn(page, 'Medicines only');
  await page.getByTestId('take-bleeding').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Bleeding only' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Add a medicine' }).click();
  const form = page.getByRole('form', { name: 'New medicine' });
  await form.getByLabel('Name').fill('Ibuprofen');
  await form.getByLabel('Dose', { exact: true }).fill('1 tablet');
  await form.getByLabel('As needed, at no fixed time').check();
  await form.getByLabel('Count what is left, and say when to buy').check();
  await form.getByLabel('Left now').fill('2');
  await form.getByLabel('In a new pack').fill('20');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('medicines').getByText('1 tablet · as needed').waitFor();

  await page.getByRole('link', { name: 'Today' }).click();
  const low = page.getByTestId('low-stock');
  await low.getByText('Buy Ibuprofen: 2 left').waitFor();
  await page.getByRole('button', { name: 'Take now: Ibuprofen' }).click();
  await low.getByText('Buy Ibuprofen: 1 left').waitFor();
  await page
    .getByTestId('doses')
    .getByText(/^1 tablet · taken at \d\d:\d\d$/)
    .waitFor();
  await page.getByRole('button', { name: /^Undo: Ibuprofen/ }).click();
  await low.getByText('Buy Ibuprofen: 2 left').waitFor();
  await page.getByRole('button', { name: /^Undo: Ibuprofen/ }).waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'New pack: Ibuprofen' }).click();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByTestId('medicines').getByText('22 left').waitFor();
  await page.getByRole('link', { name: 'Today' }).click();
  await low.waitFor({ state: 'detached' });
  await close();
});

test('a CSV file is imported, and then everything is deleted', async () => {
  const { page, close } = await visit({ timezoneId: ZONE });
  await signIn(page);
  await page.getByRole('link', { name: 'Settings' }).click();
  const rows = [-3, -2, -1].map((days) => `${realDay(days)},false,`);
  const csv = ['date,has_bleeding,note', ...rows, '2026-02-30,true,', `${realDay(5)},true,`].join('\n');
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

test('one tap records the day, another one undoes it', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { viewport: viewports.phone });
  await page.getByTestId('take').click();
  await act(page).getByText('Taken today').waitFor();
  await page.getByRole('img', { name: '24 days in a row; your best is 31.' }).waitFor();
  await becomes(() => server.changes, [{ method: 'PUT', path: `logs/${today}`, body: { hasBleeding: false } }]);
  await act(page).getByRole('button', { name: 'Change to “with bleeding”' }).click();
  await act(page).getByText('1 day of bleeding in a row.').waitFor();
  await act(page).getByRole('button', { name: 'Undo' }).click();
  await act(page).getByText('Did you take your medicine today?').waitFor();
  await page.getByRole('img', { name: '23 days in a row' }).waitFor();
  await becomes(() => logChanges(server), [`PUT logs/${today}`, `PUT logs/${today}`, `DELETE logs/${today}`]);
  await close();
});

test('flow and symptoms are told with chips, and undo keeps the symptoms', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { viewport: viewports.phone });
  const chip = (/** @type {string} */ name) => act(page).getByRole('button', { name, exact: true });
  await page.getByTestId('take-bleeding').waitFor();
  assert.equal(await chip('cramps').count(), 0);
  await page.getByTestId('take-bleeding').click();
  await chip('medium').click();
  await chip('heavy').click();
  for (const name of ['headache', 'cramps', 'headache']) await chip(name).click();
  await act(page).locator('[aria-pressed=true]').nth(1).waitFor();
  const told = { flow: 'heavy', symptoms: ['cramps'] };
  const stored = () => ({ flow: server.logs.get(today)?.['flow'], symptoms: server.logs.get(today)?.['symptoms'] });
  await becomes(stored, told);
  assert.deepEqual(await act(page).locator('[aria-pressed=true]').allInnerTexts(), ['Heavy', 'Cramps']);
  // Without bleeding there is no flow.
  await act(page).getByRole('button', { name: 'Change to “no bleeding”' }).click();
  await act(page).getByRole('group', { name: 'Flow' }).waitFor({ state: 'detached' });
  await becomes(stored, { flow: undefined, symptoms: ['cramps'] });
  await act(page).getByRole('button', { name: 'Undo' }).click();
  await becomes(() => server.logs.get(today)?.['isTaken'], false);
  await becomes(stored, { flow: undefined, symptoms: ['cramps'] });
  await chip('cramps').click();
  await becomes(() => server.logs.has(today), false);
  await close();
});

test('the arrow keys move through the calendar, also into other months', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=calendar' });
  await page.locator('[data-state=taken]').first().waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
  await page.getByRole('button', { name: /Sat, 21 Nov 2026, today, no entry/ }).focus();
  for (const [key, label] of [
    ['ArrowLeft', 'Fri, 20 Nov 2026, taken'],
    ['ArrowUp', 'Fri, 13 Nov 2026, taken'],
    ['Home', 'Mon, 9 Nov 2026, taken, with a note'],
    ['PageUp', 'Fri, 9 Oct 2026, taken'],
  ]) {
    await page.keyboard.press(String(key));
    await page.waitForFunction((wanted) => document.activeElement?.getAttribute('aria-label') === wanted, label);
  }
  assert.equal(await focused(), 'Fri, 9 Oct 2026, taken');
  assert.ok(page.url().endsWith('month=2026-10'));
  await page.getByRole('button', { name: /Sat, 24 Oct 2026, taken, with bleeding/ }).waitFor();
  await page.getByRole('button', { name: /Sun, 25 Oct 2026, rest day/ }).waitFor();
  assert.equal(await page.locator('table [tabindex="0"]').count(), 1);
  await page.keyboard.press('Enter');
  await page.getByTestId('day-sheet').getByRole('heading', { name: 'Fri, 9 Oct 2026' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByTestId('day-sheet').waitFor({ state: 'detached' });
  await close();
});

test('an earlier day is added, changed and removed from the history', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=history' });
  const lines = page.getByTestId('history').locator('li');
  await lines.first().waitFor();
  assert.equal(await lines.count(), 50);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByText('This is your first entry.').waitFor();
  assert.equal(await lines.count(), 73);

  await page.getByLabel('Add an earlier day').fill('2026-11-22');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('Choose today or an earlier date.').waitFor();
  await page.getByLabel('Add an earlier day').fill(dayAt(-59));
  await page.getByRole('button', { name: 'Open' }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Taken', { exact: true }).click();
  await sheet.getByRole('textbox', { name: 'Note' }).fill('Forgot to note it');
  await sheet.getByRole('button', { name: 'Save' }).click();
  await becomes(() => server.changes.at(-1)?.body, { hasBleeding: false, note: 'Forgot to note it' });

  await page.getByRole('button', { name: 'Edit: Fri 20 Nov' }).click();
  await sheet.getByText('Not taken').click();
  await sheet.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Edit: Fri 20 Nov' }).waitFor({ state: 'detached' });
  await becomes(() => logChanges(server), [`PUT logs/${dayAt(-59)}`, `DELETE logs/${dayAt(-1)}`]);
  await close();
});

test('a dose can be taken, skipped, snoozed and undone', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server);
  const doses = page.getByTestId('doses');
  await doses.getByRole('button', { name: 'Taken: Iron, 20:00' }).click();
  await doses.getByText('1 tablet · taken at 20:05').waitFor();
  await doses.getByRole('button', { name: 'Change time: Iron, 20:00' }).click();
  await doses.getByLabel('Change time: Iron, 20:00').fill('19:50');
  await doses.getByRole('button', { name: 'Save' }).click();
  await doses.getByText('1 tablet · taken at 19:50').waitFor();
  await doses.getByRole('button', { name: 'Skip: Iron, 08:00' }).click();
  await doses.getByText('1 tablet · skipped').waitFor();
  await doses.getByRole('button', { name: 'Snooze: Vitamin D, 12:30' }).click();
  await doses.getByRole('button', { name: '1 h' }).click();
  await doses.getByText('2 drops · snoozed until 21:05').waitFor();
  await doses.getByRole('button', { name: 'Undo: Iron, 20:00' }).click();
  await doses.getByRole('button', { name: 'Taken: Iron, 20:00' }).waitFor();
  await becomes(
    () => server.changes.map(({ method, path, body }) => [method, path, body?.state]),
    [
      ['PUT', `doses/${today}/20:00/m1`, 'taken'],
      ['PUT', `doses/${today}/20:00/m1`, 'taken'],
      ['PUT', `doses/${today}/08:00/m1`, 'skipped'],
      ['PUT', `doses/${today}/12:30/m2`, 'snoozed'],
      ['DELETE', `doses/${today}/20:00/m1`, undefined],
    ],
  );
  await close();
});

test('entries made offline are sent later, in order, once', async () => {
  const server = new OkusuriServer();
  const { page, context, close } = await open(server);
  await page.getByTestId('take').waitFor();
  await context.setOffline(true);
  await page.getByText('You are offline.').waitFor();
  await page.getByRole('button', { name: /Fri 20 Nov/ }).click();
  await page.getByTestId('day-sheet').getByText('Taken, with bleeding').click();
  await page.getByRole('textbox', { name: 'Note' }).fill('On the train');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('take-bleeding').click();
  await act(page).getByText('With bleeding · waiting to be sent').waitFor();
  await act(page).getByRole('button', { name: 'Change to “no bleeding”' }).click();
  await act(page).getByText('No bleeding · waiting to be sent').waitFor();
  await page.getByText('2 entries are waiting to be sent.').waitFor();
  assert.deepEqual(logChanges(server), []);

  await context.setOffline(false);
  await becomes(() => logChanges(server), [`PUT logs/${dayAt(-1)}`, `PUT logs/${today}`]);
  await act(page).getByText('No bleeding', { exact: true }).waitFor();
  assert.deepEqual(server.logs.get(dayAt(-1))?.['note'], 'On the train');
  assert.ok(!(await stored(page)).includes('tidemark.okusuri.writes'));
  await close();
});

test('the page opens without a network, shows cached data and accepts entries', async () => {
  const server = new OkusuriServer();
  const { page, context, close } = await open(server, { serviceWorkers: 'allow', viewport: viewports.phone });
  for (const [screen, sign] of [
    ['Calendar', page.locator('[data-state=taken]').first()],
    ['History', page.getByTestId('history').locator('li').first()],
    ['Today', page.getByRole('img', { name: '23 days in a row; your best is 31.' })],
  ]) {
    await page.getByRole('link', { name: String(screen) }).click();
    await /** @type {import('playwright-core').Locator} */ (sign).waitFor();
  }
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');

  server.isDown = true;
  await context.setOffline(true);
  await page.reload();
  await tellOffline(page);
  await page.getByRole('img', { name: '23 days in a row; your best is 31.' }).waitFor();
  await page.getByText('You are offline.').waitFor();
  await page.getByTestId('as-of').waitFor();
  await page.getByTestId('take').click();
  await act(page).getByText('No bleeding · waiting to be sent').waitFor();
  await page.goto(new URL('/okusuri/?view=calendar', page.url()).href);
  await tellOffline(page);
  await page.getByRole('button', { name: 'Sat, 21 Nov 2026, today, taken, waiting to be sent' }).waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  await becomes(() => page.getByTestId('history').locator('li').count(), 51);
  assert.deepEqual(logChanges(server), []);

  server.isDown = false;
  await context.setOffline(false);
  await becomes(() => logChanges(server), [`PUT logs/${today}`]);
  await page.getByText('waiting to be sent').first().waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByTestId('sign-out').click();
  await page.getByLabel('Email address').waitFor();

  server.isDown = true;
  await context.setOffline(true);
  await page.goto(new URL('/okusuri/', page.url()).href);
  await tellOffline(page);
  await page.getByText('You need an internet connection to sign in.').waitFor();
  assert.equal(await page.getByTestId('take').count(), 0);
  await close();
});
