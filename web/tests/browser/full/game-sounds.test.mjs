/** The sounds of a game: heard, turned off, and remembered. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { line, useGame } from '../game-page.mjs';
import { anzu, bunta, GameServer } from '../game-server.mjs';
import { becomes } from '../harness.mjs';

/** @import { Page } from 'playwright-core' */

const { sit } = useGame();

/** Counts the tones instead of playing them. @param {Page} page */
const countTones = (page) =>
  page.addInitScript(() => {
    Object.assign(globalThis, { tones: 0 });
    OscillatorNode.prototype.start = () => void (/** @type {any} */ (globalThis).tones++);
    OscillatorNode.prototype.stop = () => {};
  });

/** @param {Page} page @returns {Promise<number>} */
const tones = (page) => page.evaluate(() => /** @type {any} */ (globalThis).tones);

/** @param {GameServer} server @param {string} id @param {string} kind */
const hear = (server, id, kind) =>
  server.say({ type: 'chat', lines: [{ id, playerId: anzu, name: 'あんず', text: id, kind, at: 1 }] });

test('a guess and a right guess are heard, and one click turns the sounds off for good', async () => {
  const { server, page, close } = await sit('room-drawing-guesser', bunta);
  await countTones(page);
  await page.reload();
  await page.locator('[data-connection=live]').waitFor({ state: 'attached' });
  hear(server, 'first', 'talk');
  await line(page, 'first').waitFor();
  hear(server, 'くじら', 'guess');
  await becomes(() => tones(page), 1);
  hear(server, 'right', 'correct');
  await becomes(() => tones(page), 3);
  await server.show('room-reveal');
  await becomes(() => tones(page), 5);

  await page.getByRole('button', { name: 'Sounds', pressed: true }).click();
  await page.reload();
  await page.locator('[data-connection=live]').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Sounds', pressed: false }).waitFor();
  hear(server, 'second', 'talk');
  hear(server, 'third', 'guess');
  await line(page, 'third').waitFor();
  assert.equal(await tones(page), 0);
  await page.getByRole('button', { name: 'Sounds' }).click();
  await becomes(() => tones(page), 1);
  await close();
});
