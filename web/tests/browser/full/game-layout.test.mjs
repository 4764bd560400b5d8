/** Small windows: a drawer and a guesser see everything that they need without scrolling. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useGame } from '../game-page.mjs';
import { anzu, bunta } from '../game-server.mjs';
import { becomes } from '../harness.mjs';

/** @import { Locator, Page } from 'playwright-core' */

const { sit } = useGame();

/** Phones sideways and upright, small laptops without the browser's bars, a tablet, a large window. */
const sizes = [
  [844, 390],
  [932, 430],
  [667, 375],
  [1366, 650],
  [1024, 768],
  [1280, 720],
  [1280, 900],
  [1920, 960],
  [768, 1024],
  [390, 844],
  [320, 700],
].map(([width = 0, height = 0]) => ({ width, height }));

/** The elements that are partly or fully outside of the window. @param {Page} page @param {Locator} locator @param {string} name */
async function outside(page, locator, name) {
  const view = page.viewportSize() ?? { width: 0, height: 0 };
  const boxes = await locator.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
  if (boxes.length === 0) return [`${name} is not on the page`];
  const isOut = (/** @type {DOMRect} */ box) =>
    box.width < 1 || box.left < 0 || box.top < 0 || box.right > view.width + 1 || box.bottom > view.height + 1;
  return boxes.filter(isOut).map((box) => `${name} ${JSON.stringify(box)}`);
}

/**
 * Waits until all elements are in the window. The board gets its size, and the page its fonts, after
 * the first picture.
 *
 * @param {Page} page @param {(readonly [Locator, string])[]} elements
 */
async function fit(page, ...elements) {
  const missing = () => Promise.all(elements.map(([locator, name]) => outside(page, locator, name)));
  await becomes(async () => (await missing()).flat(), []);
}

for (const viewport of sizes) {
  const size = `${viewport.width}x${viewport.height}`;

  test(`at ${size} a drawer sees the board, the word, every tool and colour, and the chat's field`, async () => {
    const { page, close } = await sit('room-drawing-drawer', anzu, { viewport });
    const tools = page.getByRole('group', { name: 'Drawing tools' });
    const colours = tools.getByRole('group', { name: 'Colour' }).getByRole('radio');
    await becomes(() => colours.count(), 24);
    await fit(
      page,
      [page.locator('canvas'), 'the board'],
      [page.locator('.tiles > span'), 'a letter of the word'],
      [page.locator('.top svg').first(), 'the clock'],
      [colours, 'a colour'],
      [tools.getByRole('button'), 'a button'],
      [tools.getByRole('radio'), 'a tool'],
      [page.getByLabel('Secret chat'), 'the field'],
    );
    const board = await page.locator('canvas').boundingBox();
    assert.ok(board && board.width * board.height > (viewport.width * viewport.height) / 6, 'the board is small');
    await close();
  });

  test(`at ${size} a guesser sees the board, the word and the field`, async () => {
    const { page, close } = await sit('room-drawing-guesser', bunta, { viewport });
    await fit(
      page,
      [page.locator('canvas'), 'the board'],
      [page.locator('.tiles > span'), 'a letter of the word'],
      [page.getByLabel('Your guess'), 'the field'],
      [page.getByRole('button', { name: 'Send' }), 'the button'],
    );
    await close();
  });

  test(`at ${size} a drawer sees the words to choose from, and the field for one of their own`, async () => {
    const { page, close } = await sit('room-choosing-drawer', anzu, { viewport });
    await fit(
      page,
      [page.getByRole('list', { name: 'Words to choose from' }).getByRole('button'), 'a word'],
      [page.getByLabel('Or enter your own word'), 'the field'],
      [page.getByRole('button', { name: 'Draw this word' }), 'the button'],
    );
    await close();
  });
}
