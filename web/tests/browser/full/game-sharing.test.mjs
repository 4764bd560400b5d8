/** A finished game: pictures of all turns, a video, and the link for strangers; and reactions. */
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { drawing, table, turns } from '../../game-scenes.mjs';
import { useGame } from '../game-page.mjs';
import { anzu, bunta, chie, gameId, GameServer } from '../game-server.mjs';
import { becomes, problem, until, violations } from '../harness.mjs';

const { open, sit } = useGame();

/** Answers with the drawings of the examples. @param {GameServer} server */
function draws(server) {
  server.answers[`GET /games/${gameId}/turns`] = (route) => route.fulfill({ json: { items: turns } });
  for (const { id } of turns)
    server.answers[`GET /games/${gameId}/turns/${id}/drawing`] = (route) => route.fulfill({ json: drawing });
}

/** Waits until a number has stood still for half a second. @param {() => number} read */
async function requestsSettle(read) {
  for (let before = -1; before !== read(); await setTimeout(500)) before = read();
}

test('the first drawing plays, all have pictures, and one is saved as a video', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', anzu);
  draws(server);
  await server.show('room-finished');
  await page.getByRole('button', { name: 'えんぴつ', pressed: true }).waitFor();
  await page.locator('.turn').last().scrollIntoViewIfNeeded();
  await becomes(() => page.locator('.turn img').count(), 2);
  // A browser on a busy machine records few pictures of a drawing, or none.
  const bytes = async () => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save video' }).click(),
    ]);
    assert.match(download.suggestedFilename(), /^えんぴつ-あんず\.(webm|mp4)$/);
    return (await stat(await download.path())).size;
  };
  await until(bytes, (size) => size > 1_000);
  await page.getByRole('button', { name: 'Save video' }).waitFor();
  await close();
});

test('the host shares the drawings, and a stranger sees them with the standings', async () => {
  const { server, page, close } = await sit('room-finished', anzu);
  draws(server);
  await page.getByLabel('Anyone with the link can watch the drawings').click();
  assert.equal((await server.hears('share'))['shared'], true);
  await server.show('room-finished', { shared: true });
  await page.getByTestId('game-link').waitFor();
  await close();

  const shared = await GameServer.at('room-finished');
  shared.room['shared'] = true;
  draws(shared);
  const visit = await open({ at: table, prepare: (page) => shared.install(page) });
  await visit.page.getByRole('heading', { name: 'This game is over' }).waitFor();
  await becomes(() => visit.page.getByTestId('standings').locator('tr').count(), 4);
  await visit.page.locator('.turn').last().scrollIntoViewIfNeeded();
  await becomes(() => visit.page.locator('.turn img').count(), 2);
  assert.deepEqual(await violations(visit.page), []);
  assert.deepEqual(shared.posted, [], 'a stranger takes no seat');
  await visit.page.getByRole('button', { name: 'Play too' }).click();
  await visit.page.getByRole('button', { name: 'Create game' }).waitFor();
  await visit.close();
});

test('a token that the server refuses does not hide a shared game', async () => {
  const server = await GameServer.at('room-finished');
  server.room['shared'] = true;
  server.playerId = '0199c0d0-9999-7fff-8fff-000000000009';
  draws(server);
  for (const [path, shown] of Object.entries(server.answers))
    server.answers[path] = (route) =>
      route.request().headers()['authorization'] === undefined
        ? shown(route)
        : route.fulfill(problem(401, 'The token has expired'));
  const { page, close } = await open({ at: table, prepare: (page) => server.seat(page) });
  await page.getByRole('button', { name: 'Save video' }).waitFor();
  await page.locator('.turn').last().scrollIntoViewIfNeeded();
  await becomes(() => page.locator('.turn img').count(), 2);
  assert.equal(await page.evaluate(() => localStorage.getItem('tidemark.game.token')), 'token-1', 'the seat is kept');
  await close();
});

test('a slow drawing appears although the list of turns has grown meanwhile', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', anzu);
  draws(server);
  let lists = 0;
  server.answers[`GET /games/${gameId}/turns`] = (route) => route.fulfill({ json: { items: turns.slice(0, ++lists) } });
  server.answers[`GET /games/${gameId}/turns/${turns[0]?.id}/drawing`] = async (route) => {
    await becomes(() => page.locator('.turn').count(), 2);
    await route.fulfill({ json: drawing });
  };
  await server.show('room-finished');
  await page.getByRole('button', { name: 'Save video' }).waitFor();
  await page.getByRole('button', { name: 'えんぴつ', pressed: true }).waitFor();
  await close();
});

test('small pictures are read when they come into view, two at a time', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', anzu);
  const many = Array.from({ length: 40 }, (_, i) => ({ ...turns[0], id: `01.${String(i + 1).padStart(2, '0')}` }));
  server.answers[`GET /games/${gameId}/turns`] = (route) => route.fulfill({ json: { items: many } });
  let [reads, reading, most] = [0, 0, 0];
  for (const { id } of many)
    server.answers[`GET /games/${gameId}/turns/${id}/drawing`] = async (route) => {
      reads += 1;
      most = Math.max(most, ++reading);
      await setTimeout(20);
      reading -= 1;
      await route.fulfill({ json: drawing });
    };
  await server.show('room-finished');
  await page.locator('.turn').first().scrollIntoViewIfNeeded();
  await page.locator('.turn img').nth(1).waitFor();
  await requestsSettle(() => reads);
  assert.ok(reads < many.length / 2, `${reads} drawings are read at once`);
  await page.locator('.turn').last().scrollIntoViewIfNeeded();
  await page.locator('.turn').last().locator('img').waitFor();
  assert.ok(reads < many.length, `${reads} drawings`);
  assert.ok(most <= 2, `${most} at a time`);
  await close();
});

test('a game that is not shared shows strangers nothing', async () => {
  const server = await GameServer.at('room-finished');
  server.answers[`GET /games/${gameId}/turns`] = (route) => route.fulfill(problem(401, 'A token is needed'));
  const { page, close } = await open({ at: table, prepare: (page) => server.install(page) });
  await page.getByRole('heading', { name: 'This game is over' }).waitFor();
  assert.equal(await page.getByTestId('standings').count(), 0);
  assert.equal(await page.locator('.gallery').count(), 0);
  await close();
});

test('a reaction is sent once, counts those of others, and ends with the turn', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  await page.getByRole('button', { name: 'Funny (0)' }).click();
  assert.deepEqual(await server.hears('react'), { action: 'react', turnId: '02.01', reaction: 'laugh' });
  const mine = page.getByRole('button', { name: 'Funny (1)' });
  assert.equal(await mine.isDisabled(), true);
  for (let time = 0; time < 2; time++)
    server.say({ type: 'reaction', turnId: '02.01', playerId: chie, reaction: 'laugh' });
  server.say({ type: 'reaction', turnId: '01.04', playerId: chie, reaction: 'like' });
  await page.getByRole('button', { name: 'Funny (2)' }).waitFor();
  await page.getByRole('button', { name: 'Like (0)' }).waitFor();
  await server.show('room-choosing');
  await page.getByRole('button', { name: 'Funny (2)' }).waitFor({ state: 'detached' });
  await close();
});
