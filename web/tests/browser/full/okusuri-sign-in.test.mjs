/** Sign-in, sign-out and deletion, and that no data stays behind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, named } from '../harness.mjs';
import { act, logChanges, stored, useOkusuri } from '../okusuri-page.mjs';
import { OkusuriServer, today } from '../okusuri-server.mjs';

const { open } = useOkusuri();

test('a pasted code signs in at once, a wrong one shows how many attempts are left', async () => {
  const server = new OkusuriServer();
  server.isSignedIn = false;
  const { page, close } = await open(server);
  await page.getByLabel('Email address').fill(' mio@example.org ');
  await page.getByRole('button', { name: 'Send me a code' }).click();
  const code = page.getByRole('textbox', { name: 'Code' });
  assert.equal(await code.getAttribute('autocomplete'), 'one-time-code');
  assert.equal(await code.getAttribute('inputmode'), 'numeric');
  await code.fill('999 999');
  await page.getByText('This code is wrong. You have 3 attempts left.').waitFor();
  assert.equal(await code.inputValue(), '');
  // A phone may reload the page while the user reads the email.
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
  ['code-expired', 'This code has expired or was already used. Request a new one.'],
  ['code-locked', 'Too many wrong codes. You can request a new code in 41 minutes.'],
]) {
  test(`a code that is refused with ${type} shows what to do`, async () => {
    const server = new OkusuriServer();
    server.isSignedIn = false;
    server.answers['POST sign-in/email/verify'] = (route) =>
      route.fulfill(named(401, String(type), 'No', { retryAfterSeconds: 2_431 }));
    const { page, close } = await open(server);
    await page.getByLabel('Email address').fill('mio@example.org');
    await page.getByRole('button', { name: 'Send me a code' }).click();
    await page.getByRole('textbox', { name: 'Code' }).fill('123456');
    await page.getByText(String(said)).waitFor();
    await close();
  });
}

test('the problem of a sign-in at a provider is shown once, and removed from the address', async () => {
  const server = new OkusuriServer();
  server.isSignedIn = false;
  const { page, close } = await open(server, { at: '/okusuri/#error=account-not-linked' });
  await page.getByText('An account with this email address already exists.').waitFor();
  assert.ok(page.url().endsWith('/okusuri/'));
  assert.equal(
    await page.getByRole('link', { name: 'Continue with LINE' }).getAttribute('href'),
    '/okusuri/api/sign-in/oauth/line?returnTo=%2Fokusuri%2F&timeZone=Asia%2FTokyo',
  );
  await close();
});

test('the providers appear when the network is back', async () => {
  const server = new OkusuriServer();
  server.isSignedIn = false;
  server.isDown = true;
  const { page, context, close } = await open(server);
  await page.getByLabel('Email address').waitFor();
  await context.setOffline(true);
  await page.getByText('You need an internet connection to sign in.').waitFor();
  server.isDown = false;
  await context.setOffline(false);
  await page.getByRole('link', { name: 'Continue with LINE' }).waitFor();
  await close();
});

test('the providers appear when the server is back', async () => {
  const server = new OkusuriServer();
  server.isSignedIn = false;
  server.isDown = true;
  const { page, close } = await open(server);
  await page.getByText('Could not load this data').waitFor();
  server.isDown = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('link', { name: 'Continue with LINE' }).waitFor();
  await close();
});

test('an empty list of providers is asked for once', async () => {
  const server = new OkusuriServer();
  server.isSignedIn = false;
  let asked = 0;
  server.answers['GET sign-in/providers'] = (route) => (asked++, route.fulfill({ json: { items: [] } }));
  const { page, close } = await open(server);
  await page.getByLabel('Email address').waitFor();
  await page.waitForLoadState('networkidle');
  assert.equal(asked, 1);
  await close();
});

test('an ended session keeps unsent entries for the same user', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server);
  await page.getByRole('img', { name: '23 days in a row; your best is 31.' }).waitFor();
  // Every read of the screen has its answer, so that only the write meets the ended session.
  await page.getByText('Hello, Mio').waitFor();
  await page.getByRole('button', { name: /Fri 20 Nov/ }).waitFor();
  await page.getByTestId('doses').locator('li').first().waitFor();
  server.isSignedIn = false;
  await page.getByTestId('take').click();
  await page.getByText('Your session has ended.').waitFor();
  assert.doesNotMatch(await stored(page), /bestStreak/);
  await page.getByLabel('Email address').fill('mio@example.org');
  await page.getByRole('button', { name: 'Send me a code' }).click();
  await page.getByRole('textbox', { name: 'Code' }).fill('123456');
  await act(page).getByText('Taken today', { exact: true }).waitFor();
  // The first attempt is refused, the second one has the new session.
  await becomes(() => logChanges(server), [`PUT logs/${today}`, `PUT logs/${today}`]);
  assert.ok(server.logs.has(today));
  await close();
});

test('signing out deletes all cached data, also when the server is told later', async () => {
  const server = new OkusuriServer();
  const { page, context, close } = await open(server);
  await page.getByRole('img', { name: '23 days in a row; your best is 31.' }).waitFor();
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

test('an unfinished sign-out stops a sign-in that it would end', async () => {
  const server = new OkusuriServer();
  server.answers['POST sign-out'] = (route) => route.fulfill({ status: 503 });
  server.answers['GET sign-in/oauth/google'] = (route) => route.fulfill({ body: 'At the provider' });
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  const asked = new Set();
  page.on('request', (request) => asked.add(new URL(request.url()).pathname.replace('/okusuri/api/', '')));
  await page.getByTestId('sign-out').click();
  await page.getByRole('link', { name: 'Continue with Google' }).click();
  await page.getByText('Could not sign you in').waitFor();
  assert.ok(!asked.has('sign-in/oauth/google'));
  await page.getByLabel('Email address').fill('mio@example.org');
  await page.getByRole('button', { name: 'Send me a code' }).click();
  await page.getByRole('textbox', { name: 'Code' }).fill('123456');
  await page.getByText('Could not sign you in').waitFor();
  assert.ok(!asked.has('sign-in/email/verify'));
  delete server.answers['POST sign-out'];
  await page.getByRole('button', { name: 'Use another address' }).click();
  await page.getByRole('link', { name: 'Continue with Google' }).click();
  await page.getByText('At the provider').waitFor();
  assert.equal(server.isSignedIn, false);
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
  await page.getByLabel('Email address').waitFor();
  await becomes(() => server.changes.at(-1)?.body, { everywhere: true });
  await becomes(() => stored(page), '{}');
  await close();
});

test('everything is deleted only after a new sign-in, and no data stays behind', async () => {
  const server = new OkusuriServer();
  let isFresh = false;
  server.answers['DELETE me'] = (route) =>
    isFresh ? route.fulfill({ status: 204 }) : route.fulfill(named(403, 'sign-in-again', 'Sign in again'));
  const { page, close } = await open(server, { at: '/okusuri/?view=settings' });
  await page.getByRole('button', { name: 'Delete everything…' }).click();
  assert.ok(await page.getByRole('button', { name: 'Delete permanently' }).isDisabled());
  await page.getByRole('checkbox', { name: /I understand/ }).check();
  await page.getByRole('button', { name: 'Delete permanently' }).click();
  await page.getByText('Sign in again to confirm').waitFor();
  await page.getByRole('button', { name: 'Send me a code' }).click();
  isFresh = true;
  await page.getByRole('textbox', { name: 'Code' }).fill('123456');
  await page.getByText('Your account and all its data were deleted.').waitFor();
  assert.equal(await stored(page), '{}');
  await close();
});

test('on the local stack the sign-in page shows the email itself', async () => {
  const server = new OkusuriServer();
  server.isSignedIn = false;
  const { page, close } = await open(server);
  const mail = { to: ['MIO@example.org'], subject: 'Your code', text: 'Your code is 123456.' };
  await page.route('**/_local/mail', (route) =>
    route.fulfill({ json: { items: [{ ...mail, to: ['ann@example.org'], text: '777777' }, mail] } }),
  );
  await page.getByText('Example', { exact: true }).waitFor();
  await page.getByLabel('Email address').fill('mio@example.org');
  await page.getByRole('button', { name: 'Send me a code' }).click();
  await page.getByTestId('local-mail').getByText('Your code is 123456.').waitFor();
  await page.getByRole('link', { name: 'all emails' }).waitFor();
  await close();
});

test('the first screen says that the device is in another time zone', async () => {
  const server = new OkusuriServer();
  const { page, close } = await open(server, { timezoneId: 'Europe/Berlin' });
  await page.getByText('Your days follow Asia/Tokyo, but this device is in Europe/Berlin.').waitFor();
  await page.getByRole('link', { name: 'Change the time zone' }).click();
  await page.getByRole('button', { name: 'Use this device’s time zone: Europe/Berlin' }).waitFor();
  await close();

  const home = await open(new OkusuriServer(), { timezoneId: 'Asia/Tokyo' });
  await home.page.getByTestId('take').waitFor();
  assert.equal(await home.page.getByText('Your days follow').count(), 0);
  await home.close();
});
