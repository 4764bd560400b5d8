/** The start screen and the waiting room: custom words, refusals and settings, against a scripted server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table } from '../../game-scenes.mjs';
import { useGame } from '../game-page.mjs';
import { chie, gameId, GameServer } from '../game-server.mjs';
import { named } from '../harness.mjs';

const { open, sit } = useGame();

test('custom words that cannot be answers are named, and the form is not sent', async () => {
  const server = await GameServer.at('welcome');
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByLabel('Your name').fill('Ann');
  await page.getByText('Custom words (optional)').click();
  await page.getByLabel('One word per line').fill('cat\nねこ');
  await page.getByText('Not accepted: ねこ').waitFor();
  await page.getByLabel('Word language').selectOption('ja');
  await page.getByText('Use kana only. Not accepted: cat').waitFor();
  await page.getByRole('button', { name: 'Create game' }).click();
  assert.deepEqual(server.posted, []);
  await close();
});

for (const { locale, words, create } of [
  { locale: 'en-GB', words: 'en', create: 'Create game' },
  { locale: 'ja-JP', words: 'ja', create: 'ゲームを作る' },
  { locale: 'de-DE', words: 'de', create: 'Create game' },
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

test('a pasted text with a game code opens the game, one without shows an error', async () => {
  const server = await GameServer.at('room-waiting');
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByLabel('Link or code').fill('come and play');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('No game link or code found.').waitFor();
  await page.getByLabel('Link or code').fill(`come: http://x.test/game/?game=${gameId} !`);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByRole('heading', { name: 'あんず invites you to play' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Draw it, guess it' }).waitFor();
  await close();
});

test('joining says why there is no place left', async () => {
  const server = await GameServer.at('room-waiting');
  const answer = named(409, 'too-many-spectators', 'No');
  server.answers[`POST /games/${gameId}/players`] = (route) => route.fulfill(answer);
  const { page, close } = await open({ at: table, prepare: (page) => server.install(page) });
  await page.getByLabel('Your name').fill('Ann');
  await page.getByRole('button', { name: 'Just watch' }).click();
  await page.getByRole('alert').getByText('This game has no room for more spectators.').waitFor();
  await close();
});

const noGame = {
  en: [
    'There is no game at this link',
    'The link is incomplete, or the game has expired. Ask the host for a new link.',
  ],
  ja: [
    'このリンクのゲームは見つかりません',
    'リンクが途中で切れているか、ゲームの期限が切れています。ホストに新しいリンクをもらってください。',
  ],
};

for (const [what, answer, changes, said] of /** @type {const} */ ([
  ['a link without a game', named(404, 'game-not-found', 'No'), {}, noGame],
  ['a broken link', named(400, 'invalid-parameter', 'Bad', { detail: 'gameId: not a UUID' }), {}, noGame],
  ['a finished game', null, { status: 'finished' }, { en: ['This game is over'], ja: ['このゲームは終了しました'] }],
  [
    'a full game',
    null,
    { settings: { playerCount: 2 } },
    {
      en: ['This game is full', 'All 2 seats are taken. You can watch the game.'],
      ja: ['このゲームは満員です', '2人の席がすべて埋まっています。観戦はできます。'],
    },
  ],
])) {
  for (const language of /** @type {const} */ (['en', 'ja'])) {
    test(`the page of ${what} says that and nothing else (${language})`, async () => {
      const server = await GameServer.at('room-waiting');
      const { settings, ...others } = /** @type {{ settings?: object, status?: string }} */ (changes);
      server.room = { ...server.room, ...others, settings: { ...server.room['settings'], ...settings } };
      if (answer) server.answers[`GET /games/${gameId}`] = (route) => route.fulfill(answer);
      const { page, close } = await open({ at: table, locale: language, prepare: (page) => server.install(page) });
      const door = page.locator('.door');
      await door.getByRole('heading', { name: said[language][0] ?? '', exact: true }).waitFor();
      const texts = (await door.innerText()).split('\n').filter((text) => text.trim() !== '');
      // Who finds a full game may watch it.
      if (what === 'a full game') texts.splice(said[language].length, 3);
      assert.deepEqual(texts, [...said[language], language === 'en' ? 'Back to the start page' : '最初の画面に戻る']);
      await close();
    });
  }
}

test('a token that the server rejects is dropped, and the player joins as a new one', async () => {
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

test('a guest becomes ready, and not ready again', async () => {
  const { server, page, close } = await sit('welcome', chie);
  await page.getByRole('button', { name: 'I’m ready' }).click();
  assert.equal((await server.hears('ready'))['ready'], true);
  await server.show('room-waiting');
  await page.getByRole('button', { name: 'I’m not ready' }).click();
  assert.equal((await server.hears('ready'))['ready'], false);
  await close();
});
