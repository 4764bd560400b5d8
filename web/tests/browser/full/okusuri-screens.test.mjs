/** The screens of the medication log, against a scripted server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../../chromium.mjs';
import { becomes, pressIfThere, problem, requestsArrived } from '../harness.mjs';
import { act, logChanges, useOkusuri } from '../okusuri-page.mjs';
import { dayAt, log, OkusuriServer, today } from '../okusuri-server.mjs';

const { open } = useOkusuri();

test('a rest day asks for no entry, and a dose that was taken anyway is recorded', async () => {
  const server = new OkusuriServer();
  server.restNow();
  const { page, close } = await open(server);
  await act(page)
    .getByText(
      'Your pack is on a rest period: 3 rest days left, including today. You start again on Tue 24 Nov. Medicines with their own times are not affected.',
    )
    .waitFor();
  await act(page).getByRole('button', { name: 'I took it anyway' }).click();
  await act(page).getByText('On a rest day this does not add to your streak and does not break it.').waitFor();
  await close();
});

test('input in the day sheet survives data that is read meanwhile', async () => {
  const server = new OkusuriServer();
  // The sheet is opened before the page has read the day.
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
  // When the page is visible again, it reads everything again.
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

/** An entry with all that a write could delete, on a day beyond the newest page of the history. @param {OkusuriServer} server */
function addFullEntry(server) {
  const date = dayAt(-70);
  const details = { note: 'Half an hour late', flow: 'heavy', symptoms: ['cramps'] };
  server.logs.set(date, { ...log(date, true), ...details });
  const stored = () => {
    const { hasBleeding, isTaken, note, flow, symptoms } = server.logs.get(date) ?? {};
    return { hasBleeding, isTaken, note, flow, symptoms };
  };
  return { date, details, stored };
}

test('a day beyond the loaded history keeps its details', async () => {
  const server = new OkusuriServer();
  const { date, details, stored } = addFullEntry(server);
  const { page, close } = await open(server, { at: '/okusuri/?view=history' });
  await page.getByTestId('history').locator('li').first().waitFor();
  await page.getByLabel('Add an earlier day').fill(date);
  await page.getByRole('button', { name: 'Open' }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByRole('radio', { name: 'Taken, with bleeding', checked: true }).waitFor();
  assert.equal(await sheet.getByRole('textbox', { name: 'Note' }).inputValue(), details.note);
  await sheet.getByText('Bleeding only').click();
  await sheet.getByRole('button', { name: 'Save' }).click();
  await becomes(stored, { hasBleeding: true, isTaken: false, ...details });
  await close();
});

test('an unreadable day shows no answer and keeps its details', async () => {
  const server = new OkusuriServer();
  const { date, details, stored } = addFullEntry(server);
  server.answers[`GET logs/${date}`] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
  const { page, close } = await open(server, { at: '/okusuri/?view=history' });
  await page.getByTestId('history').locator('li').first().waitFor();
  await page.getByLabel('Add an earlier day').fill(date);
  await page.getByRole('button', { name: 'Open' }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('This entry is not loaded. What you do not change stays as it is.').waitFor();
  assert.equal(await sheet.getByRole('radio', { checked: true }).count(), 0);
  assert.ok(await sheet.getByRole('button', { name: 'Save' }).isDisabled());
  await sheet.getByText('Bleeding only').click();
  await sheet.getByRole('button', { name: 'Save' }).click();
  await becomes(() => server.changes.at(-1)?.body, { hasBleeding: true, isTaken: false });
  assert.deepEqual(stored(), { hasBleeding: true, isTaken: false, ...details });
  await close();
});

test('a day of a failed month is read when opened', async () => {
  const server = new OkusuriServer();
  const { details, stored } = addFullEntry(server);
  server.answers['GET calendar/2026-09'] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
  const { page, close } = await open(server, { at: '/okusuri/?view=calendar&month=2026-09' });
  await page.getByText('Could not load this data').waitFor();
  await page.getByRole('button', { name: /12 Sept? 2026/ }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByRole('radio', { name: 'Taken, with bleeding', checked: true }).waitFor();
  await sheet.getByText('Bleeding only').click();
  await sheet.getByRole('button', { name: 'Save' }).click();
  await becomes(stored, { hasBleeding: true, isTaken: false, ...details });
  await close();
});

test('the days of a failed month are not told as empty', async () => {
  const server = new OkusuriServer();
  server.answers['GET calendar/2026-11'] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
  const { page, close } = await open(server);
  await page.getByRole('button', { name: 'Fri 20 Nov: not loaded yet' }).waitFor();
  await page.getByRole('link', { name: 'Calendar' }).click();
  await page.getByRole('button', { name: 'Sat, 21 Nov 2026, today, not loaded yet' }).waitFor();
  assert.equal(await page.locator('[data-state=unknown]').count(), 21);
  assert.equal(await page.locator('[data-state=future]').count(), 9);
  server.answers = {};
  await page.getByRole('button', { name: 'Fri, 20 Nov 2026, taken' }).waitFor();
  await close();
});

test('older pages of the history stay while they are read again', async () => {
  const server = new OkusuriServer();
  const { page, context, close } = await open(server, { at: '/okusuri/?view=history' });
  const lines = page.getByTestId('history').locator('li');
  await page.getByRole('button', { name: 'More' }).click();
  await becomes(() => lines.count(), 73);
  const oldest = page.getByRole('button', { name: 'Edit: Fri 4 Sep' });
  await oldest.click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Taken, with bleeding').click();
  const read = page.waitForResponse((response) => response.url().includes('/logs?'));
  await sheet.getByRole('button', { name: 'Save' }).click();
  await read;
  await requestsArrived(page);
  assert.equal(await lines.count(), 73);
  await lines
    .last()
    .getByText(/with bleeding/i)
    .waitFor();

  const isOlder = /\/logs\?.*cursor=/;
  await page.route(isOlder, (route) => route.fulfill(problem(503, 'The database asks for patience')));
  await oldest.click();
  await sheet.getByRole('radio', { name: 'Taken, with bleeding', checked: true }).waitFor();
  await context.setOffline(true);
  await sheet.waitFor();
  await page.getByText('You are offline.').waitFor({ state: 'attached' });
  await context.setOffline(false);
  await page.getByText('Could not load this data').waitFor();
  assert.equal(await sheet.getByRole('radio', { name: 'Taken, with bleeding', checked: true }).count(), 1);
  await page.keyboard.press('Escape');
  assert.equal(await lines.count(), 73);
  await page.unroute(isOlder);
  await pressIfThere(page.getByRole('button', { name: 'Try again' }));
  await page.getByText('This is your first entry.').waitFor();
  assert.equal(await lines.count(), 73);
  await close();
});

test('what was sent stays on the screen while the page reads it again', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server);
  const doses = page.getByTestId('doses');
  await doses.getByRole('button', { name: 'Taken: Iron, 20:00' }).waitFor();
  /** @type {() => void} */
  let release = () => {};
  const released = new Promise((/** @type {(value: void) => void} */ resolve) => (release = resolve));
  server.answers['GET doses'] = async (route) => {
    await released;
    delete server.answers['GET doses'];
    return server.answer(route);
  };
  await doses.getByRole('button', { name: 'Taken: Iron, 20:00' }).click();
  await doses.getByText('1 tablet · taken at 20:05', { exact: true }).waitFor();
  await doses.getByRole('button', { name: 'Change time: Iron, 20:00' }).click();
  const field = doses.getByLabel('Change time: Iron, 20:00');
  await field.fill('19:50');
  const read = page.waitForResponse((response) => response.url().includes('/doses?'));
  release();
  await read;
  await requestsArrived(page);
  assert.equal(await field.inputValue(), '19:50');
  await close();
});

test('a medicine can be added with times in several formats', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  await page.getByRole('button', { name: 'Add a medicine' }).click();
  const form = page.getByRole('form', { name: 'New medicine' });
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('Enter a name.').waitFor();
  await form.getByText('Enter 1 to 8 times, for example 8:00, 20:30.').waitFor();
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

test('a medicine as needed with a stock is added, taken, corrected and undone', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=settings', viewport: viewports.phone });
  await page.getByRole('button', { name: 'Add a medicine' }).click();
  const form = page.getByRole('form', { name: 'New medicine' });
  await form.getByLabel('Name').fill('Ibuprofen');
  await form.getByLabel('Dose', { exact: true }).fill('1 tablet');
  await form.getByLabel('As needed, at no fixed time').check();
  await form.getByLabel('Times').waitFor({ state: 'detached' });
  await form.getByLabel('Count what is left, and say when to buy').check();
  await form.getByRole('button', { name: 'Save' }).click();
  await form.getByText('Enter whole numbers').waitFor();
  await form.getByLabel('Left now').fill('6');
  await form.getByLabel('In a new pack').fill('20');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('medicines').getByText('1 tablet · as needed').waitFor();
  const stock = { left: 6, perDose: 1, packSize: 20, warnDays: 7 };
  const body = { name: 'Ibuprofen', dose: '1 tablet', times: [], from: today, stock };
  await becomes(() => server.changes, [{ method: 'POST', path: 'medicines', body }]);

  server.changes = [];
  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByRole('button', { name: 'Take now: Ibuprofen' }).click();
  await page.getByRole('button', { name: 'Change time: Ibuprofen, 20:05' }).click();
  await page.getByLabel('Change time: Ibuprofen, 20:05').fill('19:50');
  await page.getByTestId('doses').getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('doses').getByText('1 tablet · taken at 19:50').waitFor();
  await page.getByRole('button', { name: 'Undo: Ibuprofen, 20:05' }).click();
  await page.getByRole('button', { name: 'Undo: Ibuprofen, 20:05' }).waitFor({ state: 'detached' });
  const path = `doses/${today}/20:05/m3`;
  await becomes(
    () => server.changes.map(({ method, path, body }) => [method, path, body?.at]),
    [
      ['PUT', path, '2026-11-21T11:05:00.000Z'],
      ['PUT', path, '2026-11-21T10:50:00.000Z'],
      ['DELETE', path, undefined],
    ],
  );
  await close();
});

test('a dose taken just after midnight belongs to the new day', async () => {
  const server = new OkusuriServer();
  server.medicines.push({ id: 'm4', name: 'Ibuprofen', dose: '1 tablet', times: [], from: dayAt(-9) });
  const { page, close } = await open(server);
  const take = page.getByRole('button', { name: 'Take now: Ibuprofen' });
  await take.waitFor();
  // The page has not checked yet whether a new day has begun.
  await page.clock.setFixedTime(Date.UTC(2026, 10, 21, 15, 0, 5));
  await take.click();
  await becomes(() => server.changes.map(({ path }) => path), [`doses/${dayAt(1)}/00:00/m4`]);
  await close();
});

test('a low stock is shown until a new pack is added', async () => {
  const server = new OkusuriServer();
  const stock = { left: 13, perDose: 1, packSize: 28, warnDays: 7, packs: 2, isLow: true, runsOutOn: dayAt(6) };
  Object.assign(server.medicines[0] ?? {}, { stock });
  const { page, close } = await open(server);
  await page.getByTestId('low-stock').getByText('Buy Iron: 6 days left').waitFor();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByText('13 left · lasts until Fri, 27 Nov 2026').waitFor();
  await page.getByRole('button', { name: 'New pack: Iron' }).click();
  await page.getByText('Add a new pack of 28 to Iron?').waitFor();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText('41 left').waitFor();
  await becomes(() => server.changes, [{ method: 'PUT', path: 'medicines/m1/packs/3', body: {} }]);
  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByRole('button', { name: 'Taken: Iron, 20:00' }).waitFor();
  await page.getByTestId('low-stock').waitFor({ state: 'detached' });
  await close();
});

test('a CSV file is previewed before the import', async () => {
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
  await page.getByText('1 row can be imported. 1 row has an error and is left out.').waitFor();
  await page.getByTestId('preview').getByText('This date does not exist.').waitFor();
  await page.getByRole('button', { name: 'Import 1 row' }).click();
  await page.getByText('1 day was imported.').waitFor();
  // A browser tells no change when the same file is chosen again, unless the field is empty then.
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByLabel('CSV file').click()]);
  assert.equal(await page.getByLabel('CSV file').inputValue(), '');
  await chooser.setFiles(file);
  await page.getByRole('button', { name: 'Import 1 row' }).waitFor();
  assert.deepEqual(server.changes, [
    { method: 'POST', path: 'import', body: csv },
    { method: 'POST', path: 'import', body: csv },
    { method: 'POST', path: 'import', body: csv },
  ]);
  await close();
});

test('the page uses the date in the user’s time zone', async () => {
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
  const day = page.getByRole('gridcell', { name: 'rest day, taken anyway, with bleeding' });
  await day.waitFor();
  assert.equal(await day.locator('path.small-drop').count(), 1);
  await close();
});

test('bleeding alone can be recorded today and on an earlier day, and is shown', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { viewport: viewports.phone });
  await act(page).getByRole('button', { name: 'Bleeding only' }).click();
  await becomes(
    () => server.changes,
    [{ method: 'PUT', path: `logs/${today}`, body: { hasBleeding: true, isTaken: false } }],
  );
  await act(page).getByText('Bleeding is recorded.').waitFor();
  // The day is still open, the streak is unchanged, and recording the medicine keeps the bleeding.
  await page.getByRole('img', { name: '23 days in a row' }).waitFor();
  assert.equal(await page.getByTestId('take').count(), 0);
  await page.getByTestId('take-bleeding').click();
  await act(page).getByText('1 day of bleeding in a row.').waitFor();

  await page.goto(new URL('/okusuri/?view=calendar', page.url()).href);
  await page.getByRole('button', { name: /Fri, 20 Nov 2026, taken/ }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Bleeding only').click();
  await sheet.getByRole('textbox', { name: 'Note' }).fill('A headache');
  await sheet.getByRole('button', { name: 'Save' }).click();
  await becomes(() => server.changes.at(-1)?.body, {
    ...{ hasBleeding: true, isTaken: false, note: 'A headache' },
  });
  const day = page.getByRole('gridcell', { name: 'Fri, 20 Nov 2026, bleeding only, not taken, with a note' });
  await day.locator('path.lone-drop').waitFor();
  await page.goto(new URL('/okusuri/?view=history', page.url()).href);
  await page.getByTestId('history').getByText('bleeding only, not taken · A headache').waitFor();
  await close();
});

test('another regimen says whether bleeding is asked for', async () => {
  const server = new OkusuriServer();
  Object.assign(server.user, { regimen: { kind: 'medicines' } });
  const { page, close } = await open(server);
  await page.getByRole('button', { name: /^Fri 20 Nov/ }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Not taken').waitFor();
  await sheet.getByText('Bleeding only').waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');

  await page.getByRole('link', { name: 'Settings' }).click();
  const regimen = page.getByTestId('regimen');
  await regimen.getByRole('radio', { name: '21/7' }).check();
  await regimen.getByLabel('First day of a cycle').fill('2026-11-02');
  await regimen.getByRole('button', { name: 'Save' }).click();
  await regimen.getByText('Saved.').waitFor();
  await regimen.getByRole('radio', { name: 'Own cycle' }).check();
  await regimen.getByRole('spinbutton', { name: 'Days with medicine' }).fill('366');
  await regimen.getByRole('button', { name: 'Save' }).click();
  await regimen.getByText('Enter a date, 1 to 365 days with medicine').waitFor();
  await regimen.getByRole('spinbutton', { name: 'Days with medicine' }).fill('10');
  await regimen.getByRole('spinbutton', { name: 'Rest days' }).fill('5');
  await regimen.getByRole('button', { name: 'Save' }).click();
  const cycle = { kind: 'cycle', restDays: 7, startOn: '2026-11-02' };
  await becomes(
    () => server.changes.map(({ path, body }) => [path, body?.regimen]),
    [
      ['me', { ...cycle, activeDays: 21 }],
      ['me', { ...cycle, activeDays: 10, restDays: 5 }],
    ],
  );
  await page.getByRole('link', { name: 'Today' }).click();
  await page.getByTestId('take-bleeding').waitFor();
  await page.goto(new URL('/okusuri/?view=report', page.url()).href);
  await page.getByText('10 days with medicine, 5 rest days; a cycle starts on Mon, 2 Nov 2026').waitFor();
  await close();
});

test('the settings list each access to the data with its reason', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  await page.getByText('Nobody has accessed your data.').waitFor();
  server.readings = [
    { at: '2026-11-20T03:00:00Z', kind: 'medication_log', reason: 'the user asked for help with a lost mailbox' },
    { at: '2026-11-19T03:00:00Z', kind: 'a_new_kind', reason: 'a check of the reminders' },
  ];
  await page.reload();
  const rows = page.getByTestId('access-log').locator('li');
  await rows.first().waitFor();
  const [first, second] = await rows.allInnerTexts();
  assert.match(first ?? '', /^the user asked for help with a lost mailbox\s+Log entries · /);
  assert.match(second ?? '', /^a check of the reminders\s+a_new_kind · /);
  await close();
});
