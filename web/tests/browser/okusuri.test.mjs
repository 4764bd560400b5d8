/** The screens of the medication log, against a scripted server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../chromium.mjs';
import { becomes } from './harness.mjs';
import { act, logChanges, useOkusuri } from './okusuri-page.mjs';
import { dayAt, log, OkusuriServer, today } from './okusuri-server.mjs';

const { open } = useOkusuri();

test('one tap notes the day, another one takes it back', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { viewport: viewports.phone });
  await page.getByTestId('take').click();
  await act(page).getByText('Taken today').waitFor();
  await page.getByRole('img', { name: '24 days in a row; your best is 31.' }).waitFor();
  await becomes(() => server.changes, [{ method: 'PUT', path: `logs/${today}`, body: { hasBleeding: false } }]);
  await act(page).getByRole('button', { name: 'There is bleeding after all' }).click();
  await act(page).getByText('1 day of bleeding in a row.').waitFor();
  await act(page).getByRole('button', { name: 'Undo' }).click();
  await act(page).getByText('Taken today?').waitFor();
  await page.getByRole('img', { name: '23 days in a row' }).waitFor();
  await becomes(() => logChanges(server), [`PUT logs/${today}`, `PUT logs/${today}`, `DELETE logs/${today}`]);
  await close();
});

test('a rest day asks for nothing, and what was taken all the same is kept', async () => {
  const server = new OkusuriServer();
  server.restNow();
  const { page, close } = await open(server);
  await act(page)
    .getByText(
      'Your pack rests: 3 rest days with today; on Tue 24 Nov you begin anew. Medicines with times of their own go on.',
    )
    .waitFor();
  await act(page).getByRole('button', { name: 'I took it all the same' }).click();
  await act(page).getByText('On a rest day it counts for nothing, and breaks nothing.').waitFor();
  await close();
});

test('the calendar is a grid for the arrow keys, over the end of a month too', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=calendar' });
  await page.locator('[data-state=taken]').first().waitFor();
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
  await page.getByRole('button', { name: /Sat, 21 Nov 2026, today, nothing noted/ }).focus();
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
  await page.getByText('Your log begins here.').waitFor();
  assert.equal(await lines.count(), 73);

  await page.getByLabel('Add an earlier day').fill('2026-11-22');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('Please choose a day that has been.').waitFor();
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

test('what is being chosen and typed outlives what is read meanwhile', async () => {
  const server = new OkusuriServer();
  // The page has not read the day yet when the sheet is opened.
  const calendar = 'GET calendar/2026-11';
  /** @type {() => void} */
  let release = () => {};
  const released = new Promise((/** @type {(value: void) => void} */ resolve) => (release = resolve));
  server.answers[calendar] = async (route) => {
    await released;
    delete server.answers[calendar];
    return server.answer(route);
  };
  const { page, context, close } = await open(server);
  await page.getByRole('button', { name: /Fri 20 Nov/ }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Taken, with bleeding').click();
  await sheet.getByRole('textbox', { name: 'Note' }).fill('Half a');
  release();
  await sheet.getByText('Taken', { exact: true }).first().waitFor();
  // Back from elsewhere, everything is read anew.
  await context.setOffline(true);
  await page.getByText('You are offline.').waitFor();
  const read = page.waitForResponse((response) => response.url().endsWith('/calendar/2026-11'));
  await context.setOffline(false);
  await read;
  await page.getByText('You are offline.').waitFor({ state: 'detached' });
  assert.equal(await sheet.getByRole('textbox', { name: 'Note' }).inputValue(), 'Half a');
  await sheet.getByRole('button', { name: 'Save' }).click();
  await becomes(() => server.changes.at(-1)?.body, { hasBleeding: true, note: 'Half a' });
  await close();
});

test('a dose is taken, skipped, put off and taken back', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server);
  const doses = page.getByTestId('doses');
  await doses.getByRole('button', { name: 'Taken: Iron, 20:00' }).click();
  await doses.getByText('1 tablet · taken').waitFor();
  await doses.getByRole('button', { name: 'Skip: Iron, 08:00' }).click();
  await doses.getByText('1 tablet · skipped').waitFor();
  await doses.getByRole('button', { name: 'Later: Vitamin D, 12:30' }).click();
  await doses.getByRole('button', { name: 'in 1 h' }).click();
  await doses.getByText('2 drops · later until 21:05').waitFor();
  await doses.getByRole('button', { name: 'Undo: Iron, 20:00' }).click();
  await doses.getByRole('button', { name: 'Taken: Iron, 20:00' }).waitFor();
  await becomes(
    () => server.changes.map(({ method, path, body }) => [method, path, body?.state]),
    [
      ['PUT', `doses/${today}/20:00/m1`, 'taken'],
      ['PUT', `doses/${today}/08:00/m1`, 'skipped'],
      ['PUT', `doses/${today}/12:30/m2`, 'snoozed'],
      ['DELETE', `doses/${today}/20:00/m1`, undefined],
    ],
  );
  await close();
});

test('a medicine is added with times as people write them', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  await page.getByRole('button', { name: 'Add a medicine' }).click();
  const form = page.getByRole('form', { name: 'New medicine' });
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('Please write a name.').waitFor();
  await form.getByText('One to eight times, such as 8:00, 20:30.').waitFor();
  await form.getByLabel('Name').fill('Calcium');
  await form.getByLabel('Dose').fill('500 mg');
  await form.getByLabel('Times').fill('20.30、8時');
  await form.getByText('08:00, 20:30').waitFor();
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('medicines').getByText('Calcium').waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, {
    ...{ name: 'Calcium', dose: '500 mg', times: ['08:00', '20:30'], from: today },
  });
  await close();
});

test('a CSV file is looked at before anything is brought in', async () => {
  const server = new OkusuriServer();
  const rows = [
    { line: 2, date: '2026-01-01', result: 'created' },
    { line: 3, date: '2026-02-30', problem: 'invalid-date' },
  ];
  server.answers['POST import'] = (route) => route.fulfill({ json: { items: rows } });
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  const csv = 'date,has_bleeding,note\n2026-01-01,false,\n2026-02-30,true,\n';
  const file = { name: 'log.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) };
  await page.getByLabel('CSV file').setInputFiles(file);
  await page.getByText('1 can be brought in, 1 cannot. Those are left out.').waitFor();
  await page.getByTestId('preview').getByText('There is no such day.').waitFor();
  await page.getByRole('button', { name: 'Bring in 1' }).click();
  await page.getByText('1 day was brought in.').waitFor();
  assert.deepEqual(server.changes, [
    { method: 'POST', path: 'import', body: csv },
    { method: 'POST', path: 'import', body: csv },
  ]);
  await close();
});

test('the page asks for the day of the person’s own zone', async () => {
  const server = new OkusuriServer();
  server.user['timeZone'] = 'Pacific/Kiritimati';
  const { page, close } = await open(server, { timezoneId: 'America/Los_Angeles' });
  await page.getByTestId('take').click();
  await becomes(() => logChanges(server), [`PUT logs/${dayAt(1)}`]);
  await close();
});

test('the calendar shows bleeding on a rest day', async () => {
  const server = new OkusuriServer();
  server.restNow();
  const yesterday = dayAt(-1);
  server.rest.add(yesterday);
  server.logs.set(yesterday, log(yesterday, true));
  const { page, close } = await open(server, { at: '/okusuri/?view=calendar' });
  const day = page.getByRole('gridcell', { name: 'rest day, taken all the same, with bleeding' });
  await day.waitFor();
  assert.equal(await day.locator('path.small-drop').count(), 1);
  await close();
});

test('bleeding is noted without a word on the medicine, today and on an earlier day, and is shown', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { viewport: viewports.phone });
  await act(page).getByRole('button', { name: 'Only bleeding' }).click();
  await becomes(
    () => server.changes,
    [{ method: 'PUT', path: `logs/${today}`, body: { hasBleeding: true, isTaken: false } }],
  );
  await act(page).getByText('Bleeding is noted.').waitFor();
  // The day is still open, its streak stands, and taking the medicine keeps the bleeding.
  await page.getByRole('img', { name: '23 days in a row' }).waitFor();
  assert.equal(await page.getByTestId('take').count(), 0);
  await page.getByTestId('take-bleeding').click();
  await act(page).getByText('1 day of bleeding in a row.').waitFor();

  await page.goto(new URL('/okusuri/?view=calendar', page.url()).href);
  await page.getByRole('button', { name: /Fri, 20 Nov 2026, taken/ }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Only bleeding').click();
  await sheet.getByRole('textbox', { name: 'Note' }).fill('A headache');
  await sheet.getByRole('button', { name: 'Save' }).click();
  await becomes(() => server.changes.at(-1)?.body, { hasBleeding: true, isTaken: false, note: 'A headache' });
  const day = page.getByRole('gridcell', { name: 'Fri, 20 Nov 2026, bleeding, nothing taken, with a note' });
  await day.locator('path.lone-drop').waitFor();
  await page.goto(new URL('/okusuri/?view=history', page.url()).href);
  await page.getByTestId('history').getByText('bleeding, nothing taken · A headache').waitFor();
  await close();
});

test('the settings say who has read the log, and why', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  await page.getByText('Nobody has.').waitFor();
  server.readings = [
    { at: '2026-11-20T03:00:00Z', kind: 'medication_log', reason: 'the user asked for help with a lost mailbox' },
    { at: '2026-11-19T03:00:00Z', kind: 'a_new_kind', reason: 'a check of the reminders' },
  ];
  await page.reload();
  const rows = page.getByTestId('readings').locator('li');
  await rows.first().waitFor();
  const [first, second] = await rows.allInnerTexts();
  assert.match(first ?? '', /^the user asked for help with a lost mailbox\s+Logs · /);
  assert.match(second ?? '', /^a check of the reminders\s+a_new_kind · /);
  await close();
});
