/** Two players and a spectator play a turn on the running stack, in three browsers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */

const open = useBrowser('/game/');

/** Ends a test that hangs. Far longer than any step takes. */
const PATIENCE_MS = 20_000;

/** A digest of the board's pixels, and how many of them are not white. @param {Page} page */
function pixels(page) {
  return page.evaluate(async () => {
    const canvas = document.querySelector('canvas');
    const data = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data;
    if (!data) return { digest: '', inked: 0 };
    let inked = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] !== 255 || data[i + 1] !== 255 || data[i + 2] !== 255) inked++;
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', data));
    return { digest: Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''), inked };
  });
}

/** Waits until all boards show the same picture, and returns its digest. @param {Page[]} pages */
async function samePicture(...pages) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const [first, ...others] = await Promise.all(pages.map(pixels));
    if (first && first.inked > 0 && others.every((other) => other.digest === first.digest)) return first;
    if (Date.now() > deadline) assert.fail(`the boards differ: ${JSON.stringify([first, ...others])}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Draws with the mouse. Positions are fractions of the board's size. @param {Page} page @param {[number, number][]} corners */
async function draw(page, corners) {
  const box = await page.locator('canvas').boundingBox();
  assert.ok(box);
  const [[x, y] = [0, 0], ...rest] = corners;
  await page.mouse.move(box.x + x * box.width, box.y + y * box.height);
  await page.mouse.down();
  for (const [x, y] of rest) await page.mouse.move(box.x + x * box.width, box.y + y * box.height, { steps: 8 });
  await page.mouse.up();
}

/** Chooses a word as the drawer, and returns it. @param {Page} page */
async function choose(page) {
  const options = page.getByRole('list', { name: 'Words to choose from' }).getByRole('button');
  // The page says "is drawing" to everybody.
  const option = options.filter({ hasNot: page.getByText('drawing', { exact: true }) }).first();
  const word = await option.locator('strong').innerText();
  await option.click();
  await page.getByText('Loading the drawing').waitFor({ state: 'detached' });
  await page.getByText('You are drawing', { exact: true }).waitFor();
  return word;
}

test('two players and a spectator see the same picture', async () => {
  const host = await open();
  await host.page.getByLabel('Your name').fill('あんず');
  await host.page.getByLabel('Rounds').selectOption('1');
  await host.page.getByRole('button', { name: 'Create game' }).click();
  const link = new URL(await host.page.getByTestId('game-link').inputValue());
  const at = link.pathname + link.search;

  const guest = await open({ at });
  await guest.page.getByLabel('Your name').fill('ぶんた');
  await guest.page.getByRole('button', { name: 'Play' }).click();
  await guest.page.getByRole('button', { name: 'I’m ready' }).click();
  await host.page.getByRole('button', { name: 'Start game' }).click();

  const word = await choose(host.page);
  await draw(host.page, [
    [0.2, 0.2],
    [0.8, 0.2],
    [0.8, 0.8],
    [0.2, 0.8],
    [0.2, 0.2],
  ]);
  // A fill, a stroke over it, and an undo: the order matters on every board.
  await host.page.keyboard.press('f');
  await host.page.locator('canvas').click({ position: { x: 5, y: 5 } });
  await host.page.keyboard.press('b');
  await draw(host.page, [
    [0.1, 0.5],
    [0.9, 0.5],
  ]);
  await host.page.keyboard.press('Control+z');
  await samePicture(host.page, guest.page);

  const onlooker = await open({ at });
  await onlooker.page.getByLabel('Your name').fill('Chie');
  await onlooker.page.getByRole('button', { name: 'Just watch' }).click();
  const picture = await samePicture(host.page, guest.page, onlooker.page);

  // A reload restores the seat and the picture.
  await guest.page.reload();
  const field = guest.page.getByLabel('Your guess');
  await field.fill('ちがうことば');
  await field.press('Enter');
  await host.page.getByTestId('chat').getByText('ちがうことば').waitFor();
  assert.deepEqual(await samePicture(host.page, guest.page), picture);
  // As a word of its own: "ear" is also in "clear".
  const answer = new RegExp(`(?<!\\p{L})${word}(?!\\p{L})`, 'iu');
  for (const { page } of [guest, onlooker]) {
    assert.doesNotMatch(await page.locator('body').innerText(), answer, 'the answer is out before its time');
  }

  await field.fill(word);
  await field.press('Enter');
  // The reveal lasts eight seconds, so all pages are read at once.
  const revealed = await Promise.all(
    [host, guest, onlooker].map(async ({ page }) => {
      await page.getByTestId('reveal').getByText(word, { exact: true }).waitFor();
      return pixels(page);
    }),
  );
  assert.deepEqual(revealed, [picture, picture, picture]);

  await choose(guest.page);
  await guest.page.getByRole('button', { name: 'Skip this turn' }).click();
  await host.page.getByTestId('standings').waitFor();
  const points = await host.page.getByTestId('standings').locator('td:last-child').allInnerTexts();
  assert.ok(
    points.every((text) => Number.parseInt(text) > 0),
    `both have earned something: ${points.join(', ')}`,
  );

  // The replay shows the same pixels.
  const exactly = host.page.getByText(word, { exact: true });
  await host.page.getByRole('button').filter({ has: exactly }).click();
  assert.deepEqual(await samePicture(host.page), picture);
  for (const { close } of [host, guest, onlooker]) await close();
});
