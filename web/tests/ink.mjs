/**
 * Measures the way of ink from one browser to another: from the pen's first point to the first
 * changed pixel on another screen.
 *
 *     TIDEMARK_URL=http://127.0.0.1:3000 node tests/ink.mjs [strokes]
 *
 * Two real browsers play a game of the running stack. Both run on this machine, so their clocks are
 * one.
 */
import { setTimeout } from 'node:timers/promises';
import { launchChromium, stackUrl, viewports } from './chromium.mjs';

const strokes = Number(process.argv[2] ?? 60);
const url = stackUrl();
/** A screen without a change for so long shows the whole stroke. */
const QUIET_MS = 500;

/** @param {string} path @param {object} body */
async function post(path, body) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

/** Opens a game for a seat. @param {{ gameId: string, playerId: string, playerToken: string }} seat @param {string} name */
async function sit(seat, name) {
  const browser = await launchChromium();
  const page = await browser.newPage({ viewport: viewports.desktop, locale: 'en-GB' });
  await page.addInitScript(
    ([player, token, name, game]) => {
      localStorage.setItem('tidemark.game.player', String(player));
      localStorage.setItem('tidemark.game.token', String(token));
      localStorage.setItem('tidemark.game.name', String(name));
      localStorage.setItem('tidemark.game.last', String(game));
    },
    [seat.playerId, seat.playerToken, name, seat.gameId],
  );
  await page.goto(`${url}/game/?game=${seat.gameId}`);
  return { browser, page };
}

const settings = { timeLimit: 300, roundCount: 1, playerCount: 2, language: 'en' };
const host = await post('/games', { name: 'Ann', settings });
const guest = await post(`/games/${host.gameId}/players`, { name: 'Bob', role: 'player' });
const [ann, bob] = await Promise.all([sit(host, 'Ann'), sit(guest, 'Bob')]);
await bob.page.getByRole('button', { name: 'I’m ready' }).click();
await ann.page.getByRole('button', { name: 'Start game' }).click();
await ann.page.getByRole('heading', { name: 'Choose a word' }).waitFor();
await ann.page.locator('.easel button').first().click();
const canvas = ann.page.locator('.easel canvas').first();
await canvas.waitFor();
await bob.page.locator('.easel canvas').first().waitFor();
await ann.page.locator('.easel [disabled]').first().waitFor({ state: 'attached' });

await ann.page.evaluate(() => {
  const note = (/** @type {Event} */ event) =>
    Object.assign(globalThis, { downAt: performance.timeOrigin + event.timeStamp });
  document.addEventListener('pointerdown', note, { capture: true });
});
// The page paints by putting changed parts of an image on its canvas.
await bob.page.evaluate(() => {
  const paint = CanvasRenderingContext2D.prototype.putImageData;
  Object.assign(globalThis, { paintedAt: 0 });
  CanvasRenderingContext2D.prototype.putImageData = function (/** @type {any[]} */ ...parts) {
    paint.apply(this, /** @type {any} */ (parts));
    const world = /** @type {any} */ (globalThis);
    world.paintedAt ||= performance.timeOrigin + performance.now();
  };
});

const box = await canvas.boundingBox();
if (box === null) throw new Error('The board is not visible.');
/** @type {number[]} */
const times = [];
for (let stroke = 0; stroke < strokes; stroke++) {
  await bob.page.evaluate(() => void Object.assign(globalThis, { paintedAt: 0 }));
  const [x, y] = [box.x + 20 + ((stroke * 37) % (box.width - 80)), box.y + 20 + ((stroke * 53) % (box.height - 80))];
  await ann.page.mouse.move(x, y);
  await ann.page.mouse.down();
  for (let step = 1; step <= 12; step++) {
    await ann.page.mouse.move(x + step * 4, y + step * 3);
    await setTimeout(16);
  }
  await ann.page.mouse.up();
  const painted = await bob.page.waitForFunction(() => /** @type {any} */ (globalThis).paintedAt || false);
  const downAt = await ann.page.evaluate(() => /** @type {number} */ (/** @type {any} */ (globalThis).downAt));
  times.push(Number(await painted.jsonValue()) - downAt);
  // The rest of the stroke is played before the next one begins.
  do {
    await bob.page.evaluate(() => void Object.assign(globalThis, { paintedAt: 0 }));
    await setTimeout(QUIET_MS);
  } while (await bob.page.evaluate(() => /** @type {any} */ (globalThis).paintedAt > 0));
}
times.sort((a, b) => a - b);
/** @param {number} share */
const at = (share) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? NaN);
console.log(
  `ink on another screen, ${times.length} strokes: least ${at(0)} ms, median ${at(0.5)} ms, 95 % ${at(0.95)} ms, most ${at(1)} ms`,
);
await Promise.all([ann.browser.close(), bob.browser.close()]);
