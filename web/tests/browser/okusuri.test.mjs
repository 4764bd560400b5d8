/** The page of the medication log, against a scripted server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../chromium.mjs';
import { useBrowser } from './harness.mjs';
import { dayAt, OkusuriServer, today } from './okusuri-server.mjs';
import { named } from './shop-server.mjs';

/** @import { Page } from 'playwright-core' */

const visit = useBrowser('/okusuri/');

/**
 * Opens the page without its worker, which would fetch past the scripted server.
 *
 * @param {OkusuriServer} server
 * @param {Parameters<typeof visit>[0]} [options]
 */
const open = (server, options) =>
  visit({ prepare: (page) => server.install(page), serviceWorkers: 'block', timezoneId: 'Asia/Tokyo', ...options });

/** What this browser keeps. @param {Page} page */
const stored = (page) => page.evaluate(() => JSON.stringify(localStorage));
/** The changes of logs that came. @param {OkusuriServer} server */
const logChanges = (server) =>
  server.changes.filter(({ path }) => path.startsWith('logs/')).map(({ method, path }) => `${method} ${path}`);
/** @param {Page} page */
const act = (page) => page.getByTestId('act');

/** Waits until the server has got so many changes of logs. @param {Page} page @param {OkusuriServer} server @param {number} count */
async function changesReach(page, server, count) {
  for (let i = 0; i < 200 && logChanges(server).length < count; i++) await page.waitForTimeout(50);
  assert.equal(logChanges(server).length, count);
}

test('one tap notes the day, another one takes it back', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { viewport: viewports.phone });
  await page.getByTestId('take').click();
  await act(page).getByText('Taken today').waitFor();
  await page.getByRole('img', { name: '24 days in a row; your best is 31.' }).waitFor();
  assert.deepEqual(server.changes.at(-1), { method: 'PUT', path: `logs/${today}`, body: { hasBleeding: false } });
  await act(page).getByRole('button', { name: 'There is bleeding after all' }).click();
  await act(page).getByText('1 day of bleeding in a row.').waitFor();
  await act(page).getByRole('button', { name: 'Undo' }).click();
  await act(page).getByText('Taken today?').waitFor();
  await page.getByRole('img', { name: '23 days in a row' }).waitFor();
  assert.deepEqual(logChanges(server), [`PUT logs/${today}`, `PUT logs/${today}`, `DELETE logs/${today}`]);
  await close();
});

test('a rest day asks for nothing, and what was taken all the same is kept', async () => {
  const server = new OkusuriServer();
  server.restNow();
  const { page, close } = await open(server);
  await act(page).getByText('Nothing to take. 3 rest days with today; on Tue 24 Nov you begin anew.').waitFor();
  await act(page).getByRole('button', { name: 'I took it all the same' }).click();
  await act(page).getByText('On a rest day it counts for nothing, and breaks nothing.').waitFor();
  await close();
});

test('what is written without a network waits, and is sent later, in order, once', async () => {
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
  await act(page).getByText('With bleeding · waits to be sent').waitFor();
  await act(page).getByRole('button', { name: 'No bleeding after all' }).click();
  await act(page).getByText('No bleeding · waits to be sent').waitFor();
  await page.getByText('2 entries wait to be sent.').waitFor();
  assert.deepEqual(logChanges(server), []);

  await context.setOffline(false);
  await changesReach(page, server, 2);
  await act(page).getByText('No bleeding', { exact: true }).waitFor();
  assert.deepEqual(logChanges(server), [`PUT logs/${dayAt(-1)}`, `PUT logs/${today}`]);
  assert.deepEqual(server.logs.get(dayAt(-1))?.['note'], 'On the train');
  assert.ok(!(await stored(page)).includes('tidemark.okusuri.writes'));
  await close();
});

test('the page opens without a network, shows what was known, and takes what is written', async () => {
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
  await page.getByRole('img', { name: '23 days in a row; your best is 31.' }).waitFor();
  await page.getByText('You are offline.').waitFor();
  await page.getByTestId('as-of').waitFor();
  await page.getByTestId('take').click();
  await act(page).getByText('No bleeding · waits to be sent').waitFor();
  await page.goto(new URL('/okusuri/?view=calendar', page.url()).href);
  await page.getByRole('button', { name: 'Sat, 21 Nov 2026, today, taken, waits to be sent' }).waitFor();
  await page.getByRole('link', { name: 'History' }).click();
  assert.equal(await page.getByTestId('history').locator('li').count(), 51);
  assert.deepEqual(logChanges(server), []);

  server.isDown = false;
  await context.setOffline(false);
  await changesReach(page, server, 1);
  await page.getByText('waits to be sent').first().waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByTestId('sign-out').click();
  await page.getByLabel('E-mail address').waitFor();

  server.isDown = true;
  await context.setOffline(true);
  await page.goto(new URL('/okusuri/', page.url()).href);
  await page.getByText('Signing in needs the network.').waitFor();
  assert.equal(await page.getByTestId('take').count(), 0);
  await close();
});

test('the page can be installed, and its worker keeps nothing of anybody', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { serviceWorkers: 'allow' });
  await page.getByRole('img', { name: '23 days in a row; your best is 31.' }).waitFor();
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
  const client = await page.context().newCDPSession(page);
  const { installabilityErrors } = await client.send('Page.getInstallabilityErrors');
  assert.deepEqual(
    installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'),
    [],
  );
  const keptPaths = await page.evaluate(async () => {
    const requests = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
    return requests.flat().map(({ url }) => new URL(url).pathname);
  });
  assert.ok(keptPaths.includes('/okusuri/'), keptPaths.join(' '));
  assert.deepEqual(
    keptPaths.filter((path) => path.startsWith('/okusuri/api/')),
    [],
  );
  // The other pages of the suite are none of its business.
  assert.equal(
    await page.evaluate(async () => (await navigator.serviceWorker.ready).scope.endsWith('/okusuri/')),
    true,
  );
  await close();
});

test('a push is shown in the language of the page, whatever it says', async () => {
  const server = new OkusuriServer();
  const { page, context, close } = await open(server, {
    ...{ serviceWorkers: 'allow', locale: 'ja-JP', permissions: ['notifications'] },
  });
  await page.getByTestId('take').waitFor();
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
  await page.waitForFunction(async () => (await caches.match('/okusuri/language')) !== undefined);
  const client = await context.newCDPSession(page);
  /** @type {Promise<string>} */
  const registrationId = new Promise((resolve) =>
    client.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [first] }) => {
      if (first) resolve(first.registrationId);
    }),
  );
  await client.send('ServiceWorker.enable');
  const { origin } = new URL(page.url());
  for (const [data, tag, body] of [
    [
      JSON.stringify({ kind: 'reminder', date: today, time: '22:00' }),
      'reminder',
      '今日の記録がまだです。ひと押しで記録できます。',
    ],
    ['not JSON', 'reminder', '今日の記録がまだです。ひと押しで記録できます。'],
    [JSON.stringify({ kind: 'test' }), 'test', 'お知らせはこのように届きます。'],
  ]) {
    const sent = { origin, registrationId: await registrationId, data: String(data) };
    await client.send('ServiceWorker.deliverPushMessage', sent);
    await page.waitForFunction(
      async ([tag, body]) => {
        const all = await (await navigator.serviceWorker.ready).getNotifications({ tag: String(tag) });
        const isShown = all.length === 1 && all[0]?.body === body;
        if (isShown) all[0]?.close();
        return isShown;
      },
      [tag, body],
    );
  }
  await close();
});

test('notifications tell how they stand: to be allowed, blocked, or out of the browser’s reach', async () => {
  const server = new OkusuriServer();
  server.answers['GET push/key'] = (route) => route.fulfill({ json: { publicKey: 'BA'.padEnd(87, 'A') } });
  const at = '/okusuri/?view=settings';
  const { page, close } = await open(server, { at, serviceWorkers: 'allow', permissions: ['notifications'] });
  await page.getByText('This device shows no notifications yet.').waitFor();
  // Such a key is no point of the curve, and this browser has no push service.
  await page.getByRole('button', { name: 'Allow notifications here' }).click();
  await page.getByText('This browser does not reach its push service.').waitFor();
  await close();

  const denied = await open(server, {
    at,
    prepare: async (page) => {
      await server.install(page);
      await page.addInitScript(() => Object.defineProperty(Notification, 'permission', { get: () => 'denied' }));
    },
  });
  await denied.page.getByText('Notifications are blocked for this page.').waitFor();
  await denied.close();
  const without = await open(server, {
    at,
    prepare: async (page) => {
      await server.install(page);
      await page.addInitScript(() => Reflect.deleteProperty(globalThis, 'PushManager'));
    },
  });
  await without.page.getByText('This browser cannot show notifications.').waitFor();
  await without.close();
});

test('a write whose answer is lost is sent again, and stays waiting until it has one', async () => {
  const server = new OkusuriServer();
  let isDown = true;
  const put = `PUT logs/${today}`;
  server.answers[put] = (route) =>
    isDown ? route.fulfill({ status: 502 }) : (delete server.answers[put], route.fallback());
  const { page, close } = await open(server);
  await page.getByTestId('take').click();
  await act(page).getByText('waits to be sent').waitFor();
  isDown = false;
  server.answers[put] = (route) => {
    delete server.answers[put];
    server.note(false);
    return route.fulfill({ json: { log: server.logs.get(today), status: server.status } });
  };
  await page.reload();
  await act(page).getByText('No bleeding', { exact: true }).waitFor();
  await close();
});

test('what the server refuses is told, and does not pretend to have happened', async () => {
  const server = new OkusuriServer();
  server.answers[`PUT logs/${today}`] = (route) => route.fulfill(named(400, 'date-in-the-future', 'It is to come'));
  const { page, close } = await open(server);
  await page.getByTestId('take').click();
  await page.getByText('1 entry was not taken').waitFor();
  await page.getByText(`${today}: This day is still to come.`).waitFor();
  await act(page).getByText('Taken today?').waitFor();
  await page.getByRole('button', { name: 'All right' }).click();
  await page.getByText('1 entry was not taken').waitFor({ state: 'detached' });
  await close();
});

test('a pasted code signs in at once, a wrong one says how many attempts are left', async () => {
  const server = new OkusuriServer();
  server.isSignedIn = false;
  const { page, close } = await open(server);
  await page.getByLabel('E-mail address').fill(' mio@example.org ');
  await page.getByRole('button', { name: 'Send me a code' }).click();
  const code = page.getByRole('textbox', { name: 'Code' });
  assert.equal(await code.getAttribute('autocomplete'), 'one-time-code');
  assert.equal(await code.getAttribute('inputmode'), 'numeric');
  await code.fill('999 999');
  await page.getByText('This is not the code that we sent. 3 attempts are left.').waitFor();
  assert.equal(await code.inputValue(), '');
  // Whoever fetches the code from another app may find the page loaded anew.
  await page.reload();
  await code.fill('Your code is 123456');
  await page.getByTestId('take').waitFor();
  const asked = server.changes.filter(({ path }) => path === 'sign-in/email');
  assert.deepEqual(
    asked.map(({ body }) => body),
    [{ email: 'mio@example.org', locale: 'en' }],
  );
  const verified = server.changes.at(-1);
  assert.deepEqual(verified?.body, { email: 'mio@example.org', code: '123456', timeZone: 'Asia/Tokyo', locale: 'en' });
  await close();
});

for (const [type, said] of [
  ['code-expired', 'This code is too old, or it has been used. Ask for a new one.'],
  ['code-locked', 'Too many wrong codes. In 41 minutes you can ask for a new one.'],
]) {
  test(`a code that is refused as ${type} says what to do`, async () => {
    const server = new OkusuriServer();
    server.isSignedIn = false;
    server.answers['POST sign-in/email/verify'] = (route) =>
      route.fulfill(named(401, String(type), 'No', { retryAfterSeconds: 2_431 }));
    const { page, close } = await open(server);
    await page.getByLabel('E-mail address').fill('mio@example.org');
    await page.getByRole('button', { name: 'Send me a code' }).click();
    await page.getByRole('textbox', { name: 'Code' }).fill('123456');
    await page.getByText(String(said)).waitFor();
    await close();
  });
}

test('what a provider’s answer came to is told once, and leaves the address', async () => {
  const server = new OkusuriServer();
  server.isSignedIn = false;
  const { page, close } = await open(server, { at: '/okusuri/#error=account-not-linked' });
  await page.getByText('There is an account with this e-mail address already.').waitFor();
  assert.ok(page.url().endsWith('/okusuri/'));
  assert.equal(
    await page.getByRole('link', { name: 'Continue with LINE' }).getAttribute('href'),
    '/okusuri/api/sign-in/oauth/line?returnTo=%2Fokusuri%2F&timeZone=Asia%2FTokyo',
  );
  await close();
});

test('an ended session keeps what was not sent, for the same person', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server);
  await page.getByTestId('take').waitFor();
  server.isSignedIn = false;
  await page.getByTestId('take').click();
  await page.getByText('Your session has ended.').waitFor();
  assert.doesNotMatch(await stored(page), /bestStreak/);
  await page.getByLabel('E-mail address').fill('mio@example.org');
  await page.getByRole('button', { name: 'Send me a code' }).click();
  await page.getByRole('textbox', { name: 'Code' }).fill('123456');
  await act(page).getByText('Taken today', { exact: true }).waitFor();
  await changesReach(page, server, 2);
  assert.ok(server.logs.has(today));
  await close();
});

test('signing out forgets all that was kept, also when the server hears of it later', async () => {
  const server = new OkusuriServer();
  const { page, context, close } = await open(server);
  await page.getByTestId('take').waitFor();
  assert.ok((await stored(page)).includes('bestStreak'));
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByTestId('devices').getByText('Safari · iPhone').waitFor();
  server.answers['POST sign-out'] = (route) => route.abort();
  await context.setOffline(true);
  await page.getByTestId('sign-out').click();
  await page.getByText('You are signed out in this browser.').waitFor();
  assert.deepEqual(JSON.parse(await stored(page)), { 'tidemark.okusuri.leaving': 'here' });
  server.answers = {};
  await context.setOffline(false);
  await page.getByText('You are signed out in this browser.').waitFor({ state: 'detached' });
  assert.deepEqual(server.changes.at(-1), { method: 'POST', path: 'sign-out', body: { everywhere: false } });
  assert.equal(server.isSignedIn, false);
  assert.equal(await stored(page), '{}');
  await close();
});

test('signing out asks first while something is unsent', async () => {
  const server = new OkusuriServer();
  server.answers[`PUT logs/${today}`] = (route) => route.fulfill({ status: 503 });
  const { page, close } = await open(server);
  await page.getByTestId('take').click();
  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByText('1 entry is not sent yet and would be lost.').waitFor();
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByLabel('E-mail address').waitFor();
  assert.deepEqual(server.changes.at(-1)?.body, { everywhere: true });
  assert.equal(await stored(page), '{}');
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
  await changesReach(page, server, 1);
  assert.deepEqual(server.changes.at(-1)?.body, { hasBleeding: false, note: 'Forgot to note it' });

  await page.getByRole('button', { name: 'Edit: Fri 20 Nov' }).click();
  await sheet.getByText('Not taken').click();
  await sheet.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('button', { name: 'Edit: Fri 20 Nov' }).waitFor({ state: 'detached' });
  await changesReach(page, server, 2);
  assert.deepEqual(logChanges(server), [`PUT logs/${dayAt(-59)}`, `DELETE logs/${dayAt(-1)}`]);
  await close();
});

test('what is being typed outlives what is read meanwhile', async () => {
  const server = new OkusuriServer();
  const { page, context, close } = await open(server);
  await page.getByRole('button', { name: /Fri 20 Nov/ }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Taken, with bleeding').click();
  await sheet.getByRole('textbox', { name: 'Note' }).fill('Half a');
  // Back from elsewhere, everything is read anew.
  await context.setOffline(true);
  await page.getByText('You are offline.').waitFor();
  const read = page.waitForResponse((response) => response.url().endsWith('/calendar/2026-11'));
  await context.setOffline(false);
  await read;
  await page.getByText('You are offline.').waitFor({ state: 'detached' });
  assert.equal(await sheet.getByRole('textbox', { name: 'Note' }).inputValue(), 'Half a');
  await sheet.getByRole('button', { name: 'Save' }).click();
  await changesReach(page, server, 1);
  assert.deepEqual(server.changes.at(-1)?.body, { hasBleeding: true, note: 'Half a' });
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
  assert.deepEqual(
    server.changes.map(({ method, path, body }) => [method, path, body?.state]),
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

test('everything is deleted only after a fresh sign-in, and nothing is kept', async () => {
  const server = new OkusuriServer();
  let isFresh = false;
  server.answers['DELETE me'] = (route) =>
    isFresh ? route.fulfill({ status: 204 }) : route.fulfill(named(403, 'sign-in-again', 'Sign in again'));
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  await page.getByRole('button', { name: 'Delete everything…' }).click();
  assert.ok(await page.getByRole('button', { name: 'Delete it all' }).isDisabled());
  await page.getByRole('checkbox', { name: /I understand/ }).check();
  await page.getByRole('button', { name: 'Delete it all' }).click();
  await page.getByText('Please sign in once more').waitFor();
  await page.getByRole('button', { name: 'Send me a code' }).click();
  isFresh = true;
  await page.getByRole('textbox', { name: 'Code' }).fill('123456');
  await page.getByText('Your account and everything in it is deleted.').waitFor();
  assert.equal(await stored(page), '{}');
  await close();
});

test('the page asks for the day of the person’s own zone', async () => {
  const server = new OkusuriServer();
  server.user['timeZone'] = 'Pacific/Kiritimati';
  const { page, close } = await open(server, { timezoneId: 'America/Los_Angeles' });
  await page.getByTestId('take').click();
  await changesReach(page, server, 1);
  assert.deepEqual(logChanges(server), [`PUT logs/${dayAt(1)}`]);
  await close();
});
