/** A game from its creation to its result, against a scripted server. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table } from '../../game-scenes.mjs';
import { line, useGame } from '../game-page.mjs';
import { anzu, bunta, chie, example, gameId, GameServer } from '../game-server.mjs';

const { open, sit } = useGame();

test('a game is created with the chosen settings and shows its invite link', async () => {
  const server = await GameServer.at('welcome');
  server.playerId = anzu;
  const { page, close } = await open({ prepare: (page) => server.install(page) });
  await page.getByRole('button', { name: 'Create game' }).click();
  await page.getByText('Enter your name.').waitFor();
  await page.getByLabel('Your name').fill(' あんず ');
  await page.getByLabel('Rounds').selectOption('2');
  await page.getByLabel('Word language').selectOption('ja');
  await page.getByText('Custom words (optional)').click();
  await page.getByLabel('One word per line').fill('カレー\nたこやき');
  await page.getByLabel('Show this game in the public list').check();
  await page.getByRole('button', { name: 'Create game' }).click();
  await page.getByRole('heading', { name: 'Waiting room' }).waitFor();
  assert.deepEqual(server.posted[0], {
    path: '/games',
    body: {
      name: 'あんず',
      public: true,
      settings: {
        timeLimit: 80,
        roundCount: 2,
        playerCount: 8,
        hints: true,
        words: 'both',
        language: 'ja',
        scoring: 'speed',
      },
      words: ['かれー', 'たこやき'],
    },
    token: null,
  });
  assert.match(await page.getByTestId('game-link').inputValue(), new RegExp(`/game/\\?game=${gameId}$`));
  assert.match(page.url(), new RegExp(gameId));
  await close();
});

test('an invite link shows the players, asks for a name and joins the game', async () => {
  const server = await GameServer.at('room-waiting');
  const { page, close } = await open({ at: table, prepare: (page) => server.install(page) });
  await page.getByRole('heading', { name: 'あんず invites you to play' }).waitFor();
  await page.getByLabel('Your name').fill('だいき');
  await page.getByRole('button', { name: 'Play' }).click();
  await page.getByRole('heading', { name: 'Waiting room' }).waitFor();
  assert.deepEqual(server.posted[0]?.body, { name: 'だいき', role: 'player' });
  await server.hears('hello');
  // The heading of the new screen has the focus, so that a screen reader continues there.
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Waiting room');
  await close();
});

test('the host changes the settings and starts the game when the others are ready', async () => {
  const { server, page, close } = await sit('welcome', anzu);
  assert.equal(await page.getByRole('button', { name: 'Start game' }).isDisabled(), true);
  await page.getByText('Waiting for Chie to get ready.').waitFor();
  await page.getByLabel('Drawing time').selectOption('120');
  assert.deepEqual(await server.hears('configure'), {
    action: 'configure',
    settings: {
      timeLimit: 120,
      roundCount: 3,
      playerCount: 8,
      hints: true,
      words: 'both',
      language: 'ja',
      scoring: 'speed',
    },
  });
  await server.show('room-waiting');
  await page.getByRole('button', { name: 'Start game' }).click();
  await server.hears('start');
  await close();
});

test('the drawer chooses a word of three, or types one in any kana', async () => {
  const { server, page, close } = await sit('room-choosing-drawer', anzu);
  await page.getByRole('button', { name: 'くじら whale' }).click();
  assert.deepEqual(await server.hears('choose'), { action: 'choose', turnId: '02.01', option: 1 });
  await page.getByLabel('Or enter your own word').fill('pencil');
  await page.getByRole('button', { name: 'Draw this word' }).click();
  await page.getByText('Use kana only.').waitFor();
  await page.getByLabel('Or enter your own word').fill('クラゲ');
  await page.getByRole('button', { name: 'Draw this word' }).click();
  assert.deepEqual(await server.hears('choose'), { action: 'choose', turnId: '02.01', word: 'くらげ' });
  await close();
});

test('the drawer’s strokes are sent to the others, and saved', async () => {
  const { server, page, close } = await sit('room-drawing-drawer', anzu);
  await server.hears('catch-up');
  const canvas = page.locator('canvas');
  await page.getByText('Loading the drawing').waitFor({ state: 'detached' });
  const box = await canvas.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 50, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + 200, box.y + 150, { steps: 5 });
  await page.mouse.up();
  const drawn = await server.hears('draw');
  assert.equal(drawn['turnId'], '02.01');
  assert.equal(drawn['seq'], 1);
  assert.equal((await server.hears('save'))['chunk'], 1);
  await close();
});

test('a guesser sees that a guess was close, solves the word, and then reads the secret chat', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  assert.equal(await page.getByTestId('word').innerText(), 'A word with 4 letters: letter 2 is ん');
  const field = page.getByLabel('Your guess');
  await field.fill('えんびつ');
  await field.press('Enter');
  const guess = await server.hears('say');
  assert.equal(guess['text'], 'えんびつ');
  server.say({ ...(await example('near')), id: guess['id'] });
  await line(page, '“えんびつ” is close!').waitFor();

  await field.fill('えんぴつ');
  await field.press('Enter');
  const { id } = await server.hears('say');
  server.say({ type: 'chat', lines: [{ id, playerId: bunta, name: 'ぶんた', text: '', kind: 'correct' }] });
  await server.show('room-drawing-solver');
  await line(page, 'You guessed the word!').waitFor();
  await page.getByText('The word: えんぴつ (pencil)').waitFor({ state: 'attached' });
  await page.getByLabel('Secret chat').waitFor();
  const secret = {
    id: '0199c0de-9000-7000-8000-000000000001',
    playerId: chie,
    name: 'Chie',
    text: 'かんたん',
    kind: 'talk',
  };
  server.say({ type: 'chat', lines: [secret] });
  await line(page, 'secret chat').waitFor();
  await close();
});

test('the reveal shows the word and the points, and an older room is ignored', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', chie);
  const older = server.room;
  await server.show('room-reveal');
  const reveal = page.getByTestId('reveal');
  await reveal.getByText('えんぴつ').waitFor();
  await reveal.getByText('+114').waitFor();
  assert.match((await reveal.getByText('for drawing').locator('..').textContent()) ?? '', /あんず \+70/);
  server.say({ type: 'room', room: older });
  server.say({ type: 'chat', lines: [{ id: 'z', playerId: bunta, name: 'ぶんた', text: 'gg', kind: 'talk' }] });
  await line(page, 'gg').waitFor();
  assert.equal(await reveal.count(), 1);
  await close();
});

test('after a lost connection the page reconnects, sends the waiting lines and requests the drawing', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  await server.hears('catch-up');
  const path = `POST /games/${gameId}/players`;
  server.answers[path] = (route) => route.abort();
  await server.socket?.close();
  await page.getByText('Connection lost. Reconnecting').waitFor();
  await page.getByLabel('Your guess').fill('えんぴつ');
  await page.getByLabel('Your guess').press('Enter');
  await line(page, 'not sent yet').waitFor();
  delete server.answers[path];
  const { id, text } = await server.hears('say');
  assert.equal(text, 'えんぴつ');
  server.say({ type: 'chat', lines: [{ id, playerId: bunta, name: 'ぶんた', text, kind: 'guess' }] });
  await server.hears('catch-up');
  await page.getByText('Connection lost').waitFor({ state: 'detached' });
  assert.equal(server.connections, 2);
  await line(page, 'not sent yet').waitFor({ state: 'detached' });
  await close();
});

test('equal scores share a rank, and the player who asks for a rematch joins it', async () => {
  const { server, page, close } = await sit('room-finished', anzu);
  await page.getByRole('heading', { name: 'It’s a tie: あんず and ぶんた win!' }).waitFor();
  const ranks = await page.getByTestId('standings').locator('.rank').allInnerTexts();
  assert.deepEqual(ranks, ['1.', '1.', '3.', '4.']);
  await page.getByRole('button', { name: 'Play again' }).click();
  await server.hears('rematch');
  const next = await example('rematch');
  const { room } = await example('welcome');
  server.room = { ...room, gameId: next['gameId'], players: [] };
  server.answers[`GET /games/${next['gameId']}`] = (route) => route.fulfill({ json: server.room });
  server.say(next);
  await page.getByRole('heading', { name: 'Waiting room' }).waitFor();
  assert.match(page.url(), new RegExp(next['gameId']));
  assert.equal(server.posted.at(-1)?.path, `/games/${next['gameId']}/players`);
  await close();
});
