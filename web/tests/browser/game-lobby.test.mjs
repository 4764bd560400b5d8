/** The way to a game's table against a scripted server: making one, coming to it, getting ready. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table } from '../game-scenes.mjs';
import { useGame } from './game-page.mjs';
import { anzu, chie, gameId, GameServer } from './game-server.mjs';
import { named } from './harness.mjs';

const { open, sit } = useGame();

test('a game is made with what was chosen, and the link leads others to it', async () => {
  const server = await GameServer.at('welcome');
  server.playerId = anzu;
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByRole('button', { name: 'Create the game' }).click();
  await page.getByText('Please write a name.').waitFor();
  await page.getByLabel('Your name').fill(' あんず ');
  await page.getByLabel('Rounds').selectOption('2');
  await page.getByLabel('Language of the words').selectOption('ja');
  await page.getByText('Own words (optional)').click();
  await page.getByLabel('One a line').fill('カレー\nたこやき');
  await page.getByLabel('Show it in the public list').check();
  await page.getByRole('button', { name: 'Create the game' }).click();
  await page.getByRole('heading', { name: 'Waiting room' }).waitFor();
  assert.deepEqual(server.posted[0], {
    path: '/games',
    body: {
      name: 'あんず',
      public: true,
      settings: { timeLimit: 80, roundCount: 2, playerCount: 8, hints: true, words: 'both', language: 'ja' },
      words: ['かれー', 'たこやき'],
    },
    token: null,
  });
  assert.match(await page.getByTestId('game-link').inputValue(), new RegExp(`/game/\\?game=${gameId}$`));
  assert.match(page.url(), new RegExp(gameId));
  await close();
});

test('words that cannot be answers stop the form, by name', async () => {
  const server = await GameServer.at('welcome');
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByLabel('Your name').fill('Ann');
  await page.getByText('Own words (optional)').click();
  await page.getByLabel('One a line').fill('cat\nねこ');
  await page.getByText('Latin letters, digits, spaces and hyphens only, please: ねこ').waitFor();
  await page.getByLabel('Language of the words').selectOption('ja');
  await page.getByText('Kana only, please: cat').waitFor();
  await page.getByRole('button', { name: 'Create the game' }).click();
  assert.deepEqual(server.posted, []);
  await close();
});

for (const { locale, words, create } of [
  { locale: 'en-GB', words: 'en', create: 'Create the game' },
  { locale: 'ja-JP', words: 'ja', create: 'ゲームを作る' },
])
  test(`a game's words are in the browser's language when nothing is chosen (${locale})`, async () => {
    const server = await GameServer.at('welcome');
    const { page, close } = await open({ locale, prepare: (page) => server.install(page) });
    await page.locator('input[autocomplete=nickname], form input').first().fill('Ann');
    await page.getByRole('button', { name: create }).click();
    await page.locator('[data-connection]').waitFor({ state: 'attached' });
    assert.equal(server.posted[0]?.body['settings'].language, words);
    await close();
  });

test('who follows a link sees who is there, says a name and has a seat', async () => {
  const server = await GameServer.at('room-waiting');
  const { page, close } = await open({ at: table, prepare: (page) => server.install(page) });
  await page.getByRole('heading', { name: 'あんず invites you to draw' }).waitFor();
  await page.getByLabel('Your name').fill('だいき');
  await page.getByRole('button', { name: 'Play' }).click();
  await page.getByRole('heading', { name: 'Waiting room' }).waitFor();
  assert.deepEqual(server.posted[0]?.body, { name: 'だいき', role: 'player' });
  await server.hears('hello');
  // The heading of the new screen has the focus, so that a screen reader goes on there.
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Waiting room');
  await close();
});

test('a pasted text with a code in it leads to the game, one without is told', async () => {
  const server = await GameServer.at('room-waiting');
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByLabel('Link or code').fill('come and play');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('There is no game’s code in this text.').waitFor();
  await page.getByLabel('Link or code').fill(`come: http://x.test/game/?game=${gameId} !`);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'あんず invites you to draw' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Draw it, guess it' }).waitFor();
  await close();
});

for (const [type, status, words] of /** @type {const} */ ([
  ['game-not-found', 404, 'There is no such game (any more).'],
  ['game-finished', 409, 'This game is over.'],
  ['kicked', 403, 'You were voted out of this game.'],
  ['too-many-spectators', 409, 'No more can watch this game at once.'],
])) {
  test(`a door that is closed says why (${type})`, async () => {
    const server = await GameServer.at('room-waiting');
    const answer = named(status, type, 'No');
    server.answers[`POST /games/${gameId}/players`] = (route) => route.fulfill(answer);
    if (type === 'game-not-found') server.answers[`GET /games/${gameId}`] = (route) => route.fulfill(answer);
    const { page, close } = await open({ at: table, prepare: (page) => server.install(page) });
    if (type !== 'game-not-found') {
      await page.getByLabel('Your name').fill('Ann');
      await page.getByRole('button', { name: 'Play' }).click();
    }
    await page.getByRole('alert').getByText(words).waitFor();
    await close();
  });
}

test('a token that the server does not know any more is dropped, and the seat is taken anew', async () => {
  const server = await GameServer.at('room-waiting');
  const answer = named(401, 'invalid-token', 'No');
  const path = `POST /games/${gameId}/players`;
  server.answers[path] = (route) => {
    delete server.answers[path];
    return route.fulfill(answer);
  };
  const { page, close } = await open({ at: table, prepare: (page) => server.seat(page) });
  await page.getByRole('heading', { name: 'Waiting room' }).waitFor();
  assert.deepEqual(
    server.posted.map((request) => request.token),
    ['Bearer token-1', null],
  );
  await close();
});

test('the host sets the game up and starts it when the others are ready', async () => {
  const { server, page, close } = await sit('welcome', anzu);
  assert.equal(await page.getByRole('button', { name: 'Start the game' }).isDisabled(), true);
  await page.getByText('Still waiting for Chie.').waitFor();
  await page.getByLabel('Time to draw').selectOption('120');
  assert.deepEqual(await server.hears('configure'), {
    action: 'configure',
    settings: { timeLimit: 120, roundCount: 3, playerCount: 8, hints: true, words: 'both', language: 'ja' },
  });
  await server.show('room-waiting');
  await page.getByRole('button', { name: 'Start the game' }).click();
  await server.hears('start');
  await close();
});

test('a guest says ready, and takes it back', async () => {
  const { server, page, close } = await sit('welcome', chie);
  await page.getByRole('button', { name: 'I’m ready' }).click();
  assert.equal((await server.hears('ready'))['ready'], true);
  await server.show('room-waiting');
  await page.getByRole('button', { name: 'Wait, not yet' }).click();
  assert.equal((await server.hears('ready'))['ready'], false);
  await close();
});
