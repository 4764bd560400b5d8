/** Lost and refused writes of the medication log, the service worker, and push. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, named } from '../harness.mjs';
import { act, logChanges, useOkusuri } from '../okusuri-page.mjs';
import { dayAt, log, OkusuriServer, today } from '../okusuri-server.mjs';

/** @import { Page } from 'playwright-core' */

const { open } = useOkusuri();

/**
 * Sets the permission for notifications. In a Chromium without windows it stays `denied`, even when
 * a test grants it.
 *
 * @param {OkusuriServer} server @param {Page} page @param {NotificationPermission} permission
 */
async function installWithPermission(server, page, permission) {
  await server.install(page);
  await page.addInitScript((permission) => {
    Object.defineProperty(Notification, 'permission', { get: () => permission });
    Notification.requestPermission = async () => permission;
  }, permission);
}

test('the page can be installed, and its worker caches no user data', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { serviceWorkers: 'allow' });
  await page.getByRole('img', { name: '23 days in a row; your best is 31.' }).waitFor();
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
  const client = await page.context().newCDPSession(page);
  await becomes(async () => {
    const { installabilityErrors } = await client.send('Page.getInstallabilityErrors');
    return installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito');
  }, []);
  const keptPaths = await page.evaluate(async () => {
    const requests = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
    return requests.flat().map(({ url }) => new URL(url).pathname);
  });
  assert.ok(keptPaths.includes('/okusuri/'), keptPaths.join(' '));
  assert.deepEqual(
    keptPaths.filter((path) => path.startsWith('/okusuri/api/')),
    [],
  );
  // The worker must not cache the other pages.
  assert.equal(
    await page.evaluate(async () => (await navigator.serviceWorker.ready).scope.endsWith('/okusuri/')),
    true,
  );
  await close();
});

test('every push shows a notification in the language of the page', async () => {
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
      '今日の記録がまだありません。タップして記録してください。',
    ],
    ['not JSON', 'reminder', '今日の記録がまだありません。タップして記録してください。'],
    [
      JSON.stringify({ kind: 'dose', times: ['08:00', '08:20'], names: ['鉄剤', '葉酸'], low: ['鉄剤'], count: 3 }),
      'dose',
      'おくすりの時間です。\n08:00, 08:20 · 鉄剤、葉酸、+1\n残りわずか：鉄剤',
    ],
    [JSON.stringify({ kind: 'test' }), 'test', 'テスト通知です。リマインダーはこのように届きます。'],
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

test('the settings show each state of notifications', async () => {
  const server = new OkusuriServer();
  server.answers['GET push/key'] = (route) => route.fulfill({ json: { publicKey: 'BA'.padEnd(87, 'A') } });
  const at = '/okusuri/?view=settings';
  const { page, close } = await open(server, {
    ...{ at, serviceWorkers: 'allow' },
    prepare: (page) => installWithPermission(server, page, 'granted'),
  });
  await page.getByText('Notifications are off for this device.').waitFor();
  // This key is not a point of the curve, and this browser has no push service or permission.
  await page.getByRole('button', { name: 'Turn on notifications' }).click();
  await page.getByText('This browser cannot reach its push service.').waitFor();
  await close();

  const denied = await open(server, { at, prepare: (page) => installWithPermission(server, page, 'denied') });
  await denied.page.getByText('Notifications are blocked for this page.').waitFor();
  await denied.close();
  const without = await open(server, {
    at,
    prepare: async (page) => {
      await server.install(page);
      await page.addInitScript(() => Reflect.deleteProperty(globalThis, 'PushManager'));
    },
  });
  await without.page.getByText('This browser does not support notifications here.').waitFor();
  await without.close();
});

test('a write whose answer is lost is sent again, and stays pending until it has one', async () => {
  const server = new OkusuriServer();
  let isDown = true;
  const put = `PUT logs/${today}`;
  server.answers[put] = (route) =>
    isDown ? route.fulfill({ status: 502 }) : (delete server.answers[put], route.fallback());
  const { page, close } = await open(server);
  await page.getByTestId('take').click();
  await act(page).getByText('waiting to be sent').waitFor();
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

test('a refused write shows an error, and the screen shows the state before it', async () => {
  const server = new OkusuriServer();
  server.answers[`PUT logs/${today}`] = (route) => route.fulfill(named(400, 'date-in-the-future', 'It is to come'));
  const { page, close } = await open(server);
  await page.getByTestId('take').click();
  await page.getByText('1 entry could not be saved').waitFor();
  await page.getByText(`${today}: This date is in the future.`).waitFor();
  await act(page).getByText('Did you take your medicine today?').waitFor();
  await page.getByRole('button', { name: 'OK', exact: true }).click();
  await page.getByText('1 entry could not be saved').waitFor({ state: 'detached' });
  await close();
});

test('a removed entry brings back no note when recorded again offline', async () => {
  const server = new OkusuriServer();
  server.note(false);
  server.logs.set(today, { ...log(today, false, 'Private'), symptoms: ['cramps'] });
  const { page, context, close } = await open(server);
  await act(page).getByText('Taken today').waitFor();
  await context.setOffline(true);
  await page.getByText('You are offline.').waitFor();
  await page.getByRole('button', { name: /^Sat 21 Nov/ }).click();
  const sheet = page.getByTestId('day-sheet');
  await sheet.getByText('Not taken').click();
  await sheet.getByRole('button', { name: 'Cramps' }).click();
  await sheet.getByRole('textbox', { name: 'Note' }).fill('');
  await sheet.getByRole('button', { name: 'Save' }).click();
  await page.getByTestId('take-bleeding').click();
  await act(page).getByRole('button', { name: 'Change to “no bleeding”' }).click();
  await context.setOffline(false);
  await becomes(() => logChanges(server), [`PUT logs/${today}`]);
  await act(page).getByText('No bleeding', { exact: true }).waitFor();
  const { note, symptoms } = server.logs.get(today) ?? {};
  assert.deepEqual({ note, symptoms }, { note: undefined, symptoms: undefined });
  await close();
});

test('an entry made offline keeps details that the page has not read', async () => {
  const server = new OkusuriServer();
  server.answers['GET calendar/2026-11'] = (route) => route.fulfill({ status: 503 });
  server.logs.set(today, { ...log(today, true, 'Private'), flow: 'heavy', symptoms: ['cramps'] });
  server.answers[`PUT logs/${today}`] = (route) => route.fulfill({ status: 503 });
  const { page, close } = await open(server);
  await page.getByTestId('take-bleeding').click();
  await act(page).getByRole('button', { name: 'Nausea' }).click();
  await page.reload();
  await act(page).getByText('waiting to be sent').waitFor();
  await act(page).getByRole('button', { name: 'Undo' }).click();
  server.answers = {};
  await page.reload();
  await page.getByRole('img', { name: /days in a row/ }).waitFor();
  await becomes(() => server.logs.get(today)?.['isTaken'], false);
  assert.equal(server.logs.get(today)?.['note'], 'Private');
  await close();
});

test('the screens are read again after the last write is refused', async () => {
  const server = new OkusuriServer();
  const put = `PUT logs/${today}`;
  /** @type {() => void} */
  let release = () => {};
  const released = new Promise((/** @type {(value: void) => void} */ resolve) => (release = resolve));
  server.answers[put] = async (route) => {
    await released;
    delete server.answers[put];
    return server.answer(route);
  };
  const refused = `PUT logs/${dayAt(-1)}`;
  server.answers[refused] = (route) => route.fulfill(named(400, 'date-too-early', 'It is too early'));
  const { page, close } = await open(server);
  await page.getByTestId('take').click();
  await page.getByRole('button', { name: /^Fri 20 Nov/ }).click();
  await page.getByTestId('day-sheet').getByText('Taken, with bleeding').click();
  await page.getByTestId('day-sheet').getByRole('button', { name: 'Save' }).click();
  await page.getByText('2 entries are waiting to be sent.').waitFor();
  release();
  await page.getByText('1 entry could not be saved').waitFor();
  await page.getByRole('img', { name: '24 days in a row' }).waitFor();
  await close();
});
