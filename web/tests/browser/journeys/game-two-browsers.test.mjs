/** Two players, a spectator and then a stranger in games of the running stack, each in a browser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { becomes, until, useBrowser } from '../harness.mjs';

/** @import { Page } from 'playwright-core' */

const open = useBrowser('/game/');

/** @typedef {{ digest: string, inked: number }} Picture */

/** Runs in the page before its scripts: what the test asks the page. */
function observers() {
  /** A digest of the board's pixels, and how many of them are not white. @returns {Promise<Picture>} */
  async function picture() {
    const canvas = document.querySelector('canvas');
    const data = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data;
    if (!data) return { digest: '', inked: 0 };
    let inked = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] !== 255 || data[i + 1] !== 255 || data[i + 2] !== 255) inked++;
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', data));
    return { digest: Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''), inked };
  }

  /** Waits for the reveal. Returns its text and the picture at its beginning. */
  async function reveal() {
    const shown = () => document.querySelector('[data-testid=reveal]')?.textContent;
    await new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
      const check = () => shown() && resolve();
      new MutationObserver(check).observe(document.body, { childList: true, subtree: true });
      check();
    });
    return { text: shown() ?? '', picture: await picture() };
  }

  Object.assign(globalThis, { picture, reveal, tones: 0 });
  // Counts the tones instead of playing them.
  OscillatorNode.prototype.start = () => void (/** @type {any} */ (globalThis).tones++);
  OscillatorNode.prototype.stop = () => {};
}

/** @param {Page} page @returns {Promise<number>} */
const tones = (page) => page.evaluate('tones');

/** Opens a page with the observers. @param {string} [at] */
const visit = (at) => open({ ...(at && { at }), prepare: (page) => page.addInitScript(observers) });

/** Waits until all boards show the same picture, and returns it. @param {Page[]} pages */
async function samePicture(...pages) {
  const [first] = await until(
    () => Promise.all(pages.map((page) => /** @type {Promise<Picture>} */ (page.evaluate('picture()')))),
    ([first, ...others]) => !!first && first.inked > 0 && others.every((other) => other.digest === first.digest),
  );
  return first;
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
  await page.getByText('You are drawing', { exact: true }).waitFor();
  await page.getByText('Loading the drawing').waitFor({ state: 'detached' });
  return word;
}

test('players see and hear one game, strangers the shared one, and a rematch has no points', async () => {
  const host = await visit();
  await host.page.getByLabel('Your name').fill('あんず');
  await host.page.getByLabel('Rounds').selectOption('1');
  await host.page.getByLabel('Points').selectOption('equal');
  // The longest turn, so that a busy machine does not end it.
  await host.page.getByLabel('Drawing time').selectOption('300');
  await host.page.getByRole('button', { name: 'Create game' }).click();
  const link = new URL(await host.page.getByTestId('game-link').inputValue());
  const at = link.pathname + link.search;

  const guest = await visit(at);
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

  const onlooker = await visit(at);
  await onlooker.page.getByLabel('Your name').fill('Chie');
  await onlooker.page.getByRole('button', { name: 'Just watch' }).click();
  const picture = await samePicture(host.page, guest.page, onlooker.page);
  await onlooker.page.getByRole('button', { name: 'Like (0)' }).click();
  await guest.page.getByRole('button', { name: 'Funny (0)' }).click();
  for (const { page } of [host, guest, onlooker])
    for (const name of ['Like (1)', 'Funny (1)']) await page.getByRole('button', { name }).waitFor();

  // A reload restores the seat and the picture, and leaves the sounds off.
  const sounds = (/** @type {boolean} */ pressed) => guest.page.getByRole('button', { name: 'Sounds', pressed });
  await sounds(true).click();
  await guest.page.reload();
  await sounds(false).waitFor();
  const field = guest.page.getByLabel('Your guess');
  await field.fill('ちがうことば');
  await field.press('Enter');
  await host.page.getByTestId('chat').getByText('ちがうことば').waitFor();
  await becomes(() => tones(host.page), 1);
  assert.deepEqual(await samePicture(host.page, guest.page), picture);
  // As a word of its own: "ear" is also in "clear".
  const answer = new RegExp(`(?<!\\p{L})${word}(?!\\p{L})`, 'iu');
  for (const { page } of [guest, onlooker]) {
    assert.doesNotMatch(await page.locator('body').innerText(), answer, 'the answer is out before its time');
  }

  // The reveal lasts eight seconds. Each page observes its own, so that none is missed.
  const reveals = [host, guest, onlooker].map(
    ({ page }) => /** @type {Promise<{ text: string, picture: Picture }>} */ (page.evaluate('reveal()')),
  );
  await field.fill(word);
  await field.press('Enter');
  for (const revealed of await Promise.all(reveals)) {
    assert.match(revealed.text, answer);
    assert.deepEqual(revealed.picture, picture);
  }
  // The right guess and the end of the turn, if they come apart, or the end alone.
  await until(
    () => tones(host.page),
    (heard) => heard === 3 || heard === 5,
  );
  assert.equal(await tones(guest.page), 0);
  await sounds(false).click();
  await becomes(() => tones(guest.page), 1);

  await choose(guest.page);
  await guest.page.getByRole('button', { name: 'Skip this turn' }).click();
  await host.page.getByTestId('standings').waitFor();
  const points = await host.page.getByTestId('standings').locator('td:last-child').allInnerTexts();
  assert.deepEqual(
    points.map((text) => Number.parseInt(text)),
    [100, 100],
  );

  // The replay, which plays by itself, ends with the same pixels.
  const exactly = host.page.getByText(word, { exact: true });
  await host.page.getByRole('button').filter({ has: exactly }).click();
  await becomes(() => samePicture(host.page), picture);

  await host.page.getByLabel('Anyone with the link can watch the drawings').click();
  await until(
    async () => (await host.page.request.get(`${link.origin}/games/${link.searchParams.get('game')}/turns`)).status(),
    (status) => status === 200,
  );
  const stranger = await visit(at);
  await becomes(() => stranger.page.getByTestId('standings').locator('tr').count(), 2);
  await stranger.page
    .getByRole('button')
    .filter({ has: stranger.page.getByText(word, { exact: true }) })
    .waitFor();
  await stranger.page.locator('.turn').last().scrollIntoViewIfNeeded();
  await stranger.page.locator('.turn img').first().waitFor();
  await becomes(() => samePicture(stranger.page), picture);
  await stranger.page.getByRole('button', { name: 'Play too' }).waitFor();
  await stranger.close();

  // A rematch without points.
  await host.page.getByRole('button', { name: 'Play again' }).click();
  await host.page.getByLabel('Points').selectOption('none');
  await guest.page.getByRole('button', { name: 'Join the rematch' }).click();
  await guest.page.getByText('No points').waitFor();
  await guest.page.getByRole('button', { name: 'I’m ready' }).click();
  await host.page.getByRole('button', { name: 'Start game' }).click();
  await field.fill(await choose(host.page));
  await field.press('Enter');
  await guest.page.getByTestId('reveal').getByText('Guessed by ぶんた').waitFor();
  assert.doesNotMatch(await host.page.getByTestId('players').first().innerText(), /points/);
  for (const { close } of [host, guest, onlooker]) await close();
});
