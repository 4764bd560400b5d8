/** A game of a visitor with bots, on the running stack. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stackUrl } from '../../chromium.mjs';
import { until, useBrowser } from '../harness.mjs';

const open = useBrowser('/');

/** @param {{ connected: boolean }} player */
const isConnected = ({ connected }) => connected;

/** The public state of a game. @param {string | null} gameId */
async function room(gameId) {
  return (await fetch(`${stackUrl()}/games/${gameId}`)).json();
}

test('one click starts a game with three bots, which draw, return after a reload, and leave', async () => {
  const { page, close } = await open({ viewport: { width: 1366, height: 650 } });
  await page.getByRole('button', { name: 'Play with bots now' }).click();
  await page.getByRole('heading', { name: 'Choose a word' }).waitFor();
  const gameId = new URL(page.url()).searchParams.get('game');
  const names = (await room(gameId)).players.map((/** @type {{ name: string }} */ { name }) => name);
  assert.deepEqual(names.sort(), ['Bot Ada', 'Bot Max', 'Bot Zoe', 'Guest']);

  // The skip is the visitor's: a bot draws next.
  await page.getByRole('button', { name: 'Skip this turn' }).click();
  await page.getByRole('heading', { name: /^Bot (Ada|Max|Zoe) is drawing$/ }).waitFor();
  const paper = page.locator('canvas').first();
  await paper.waitFor();
  const blank = await paper.evaluate((canvas) => /** @type {HTMLCanvasElement} */ (canvas).toDataURL());
  await until(
    () => paper.evaluate((canvas) => /** @type {HTMLCanvasElement} */ (canvas).toDataURL()),
    (picture) => picture !== blank,
  );

  let welcomes = 0;
  page.on('websocket', (socket) =>
    socket.on('framereceived', ({ payload }) => (welcomes += Number(String(payload).includes('"welcome"')))),
  );
  await page.reload();
  await until(
    () => welcomes,
    (count) => count >= 4,
  );
  assert.equal((await room(gameId)).players.length, 4);

  await page.getByRole('button', { name: 'Leave game' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Leave game' }).click();
  await page.getByRole('button', { name: 'Create game' }).waitFor();
  await until(
    () => room(gameId),
    ({ players }) => !players.some(isConnected),
  );
  await close();
});

test('when no game can be created, the page says so and the button works again', async () => {
  const { page, close } = await open({
    at: '/game/',
    locale: 'ja-JP',
    prepare: (page) => page.route('**/games', (route) => route.abort()),
  });
  await page.getByRole('button', { name: '今すぐボットと遊ぶ' }).click();
  await page.getByRole('alert').waitFor();
  await page.unroute('**/games');
  await page.getByRole('button', { name: '今すぐボットと遊ぶ' }).click();
  await page.getByRole('heading', { name: 'お題を選んでください' }).waitFor();
  assert.match(await page.locator('aside').innerText(), /ボットあお[^]*ボットけん|ボットけん[^]*ボットあお/);
  await close();
});
