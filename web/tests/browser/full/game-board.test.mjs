/** The drawing board in a browser, on a page of its own without a stack. */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { createServer } from 'vite';
import { viewports } from '../../chromium.mjs';
import { becomes, until, useBrowser, violations } from '../harness.mjs';

/** @import { Locator, Page } from 'playwright-core' */
/** @import { ViteDevServer } from 'vite' */

/** The digest that the unit tests expect too: every JavaScript engine must draw the same pixels. */
const KNOWN_PIXELS = '867ba17c7984cee1';

/** @type {ViteDevServer} */
let server;
before(async () => {
  server = await createServer({
    root: path.resolve(import.meta.dirname, '../../..'),
    logLevel: 'error',
    server: { host: '127.0.0.1', port: 0 },
  });
  await server.listen();
});
after(() => server.close());
const visit = useBrowser('tests/board/harness.html', () => server.resolvedUrls?.local[0] ?? '');

/** @param {Parameters<typeof visit>[0]} [options] */
async function open(options) {
  const visited = await visit(options);
  await visited.page.waitForFunction(() => /** @type {any} */ (globalThis).board?.session.isReady);
  return { ...visited, canvas: visited.page.locator('[data-board=drawer] canvas') };
}

/** The digest of a board's pixels. @param {Page} page @param {string} name @returns {Promise<string>} */
function pixels(page, name) {
  return page.evaluate((which) => /** @type {any} */ (globalThis).board.pixels(which), name);
}

/** Waits until a board shows the same picture as another one. @param {Page} page @param {string} name @param {string} [as] */
const showsTheSame = (page, name, as = 'drawer') =>
  until(
    async () => [await pixels(page, name), await pixels(page, as)],
    ([one, other]) => one === other,
  );

/** Draws with the mouse. Positions are in units of the board. @param {Page} page @param {Locator} canvas @param {number[][]} places */
async function draw(page, canvas, places) {
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  assert.ok(box);
  const at = (/** @type {number[]} */ [x = 0, y = 0] = []) =>
    /** @type {const} */ ([box.x + (x / 1_600) * box.width, box.y + (y / 1_200) * box.height]);
  await page.mouse.move(...at(places[0]));
  await page.mouse.down();
  for (const place of places.slice(1)) await page.mouse.move(...at(place), { steps: 6 });
  await page.mouse.up();
}

/** The colour at a position of the board. @param {Locator} canvas @param {number} x @param {number} y @returns {Promise<number[]>} */
function colourAt(canvas, x, y) {
  return canvas.evaluate(
    (element, [x = 0, y = 0]) => {
      const context = /** @type {HTMLCanvasElement} */ (element).getContext('2d');
      return [...(context?.getImageData(x, y, 1, 1).data ?? [])].slice(0, 3);
    },
    [x, y],
  );
}

/** Waits for a colour at a position. @param {Locator} canvas @param {number} x @param {number} y @param {number[]} colour */
const turns = (canvas, x, y, colour) => becomes(() => colourAt(canvas, x, y), colour);

const WHITE = [255, 255, 255];
const BLACK = [6, 13, 20];
const RED = [212, 27, 72];

test('the drawer, watchers behind a bad relay and late joiners see the same pixels after every kind of op', async () => {
  const { page, canvas, close } = await open();
  await draw(page, canvas, [
    [300, 300],
    [1_200, 320],
    [1_250, 900],
    [280, 880],
    [300, 300],
  ]);
  await page.keyboard.press('f');
  await page.keyboard.press('2');
  await draw(page, canvas, [[800, 600]]);
  await turns(canvas, 800, 600, RED);
  await showsTheSame(page, 'watching');

  await page.keyboard.press('e');
  await page.keyboard.press(']');
  await draw(page, canvas, [
    [500, 500],
    [900, 700],
  ]);
  await turns(canvas, 700, 600, WHITE);
  await page.keyboard.press('b');
  await page.keyboard.press('7');
  await draw(page, canvas, [
    [100, 1_100],
    [700, 200],
    [1_500, 1_100],
  ]);
  await showsTheSame(page, 'watching');

  await page.keyboard.press('Control+z');
  await page.keyboard.press('Control+z');
  await turns(canvas, 700, 600, RED);
  await page.keyboard.press('Control+Shift+z');
  await turns(canvas, 700, 600, WHITE);
  await showsTheSame(page, 'watching');

  await page.keyboard.press('Delete');
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await turns(canvas, 800, 600, WHITE);
  await page.keyboard.press('Control+z');
  await turns(canvas, 400, 400, RED);
  await showsTheSame(page, 'watching');

  await page.evaluate(() => /** @type {any} */ (globalThis).board.finish());
  await page.evaluate(() => /** @type {any} */ (globalThis).board.joinLate());
  await showsTheSame(page, 'late');
  await showsTheSame(page, 'watching');
  await close();
});

test('the browser draws the pixels that the unit tests expect', async () => {
  const { page, close } = await open();
  await page.evaluate(() => /** @type {any} */ (globalThis).board.drawKnown());
  await becomes(() => pixels(page, 'known'), KNOWN_PIXELS);
  await close();
});

test('a stroke appears on the drawer’s board before more than its first point is sent', async () => {
  const { page, canvas, close } = await open();
  const box = await canvas.boundingBox();
  assert.ok(box);
  // No timer ends, so no further batch is sent.
  await page.evaluate(() => {
    globalThis.setTimeout = /** @type {any} */ (() => 0);
  });
  await page.mouse.move(box.x + box.width / 4, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 5 });
  await turns(canvas, 600, 600, BLACK);
  const sent = await page.evaluate(() =>
    /** @type {any} */ (globalThis).board.log.flatMap((/** @type {any} */ message) =>
      message.action === 'draw' ? message.ops.map((/** @type {any} */ op) => op.points.length / 3) : [],
    ),
  );
  assert.deepEqual(sent, [1]);
  await close();
});

test('a finger draws at its position on a narrow phone, and a second finger discards the stroke', async () => {
  const { page, canvas, context, close } = await open({ viewport: viewports.phone, hasTouch: true, isMobile: true });
  const box = await canvas.boundingBox();
  assert.ok(box);
  const cdp = await context.newCDPSession(page);
  const at = (/** @type {number} */ x, /** @type {number} */ y, id = 0) => ({
    x: box.x + (x / 1_600) * box.width,
    y: box.y + (y / 1_200) * box.height,
    id,
  });
  /** @param {'touchStart' | 'touchMove' | 'touchEnd'} type @param {ReturnType<typeof at>[]} touchPoints */
  const touch = (type, touchPoints) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints });

  await touch('touchStart', [at(400, 300)]);
  for (let x = 450; x <= 1_200; x += 50) await touch('touchMove', [at(x, 300)]);
  await touch('touchEnd', []);
  await turns(canvas, 800, 300, BLACK);

  await touch('touchStart', [at(400, 800)]);
  for (let x = 450; x <= 1_000; x += 50) await touch('touchMove', [at(x, 800)]);
  await turns(canvas, 600, 800, BLACK);
  await touch('touchStart', [at(1_000, 800), at(1_000, 500, 1)]);
  await turns(canvas, 600, 800, WHITE);
  for (let x = 950; x >= 600; x -= 50) await touch('touchMove', [at(x, 800), at(x, 500, 1)]);
  await touch('touchEnd', [at(600, 500, 1)]);
  await touch('touchMove', [at(700, 500, 1)]);
  await touch('touchEnd', []);
  assert.equal(await page.evaluate(() => /** @type {any} */ (globalThis).board.session.picture.undoable), 1);
  await close();
});

test('the board ignores keys that are typed into a field', async () => {
  const { page, close } = await open();
  const eraser = page.getByRole('radio', { name: 'Eraser' });
  await page.locator('[name=chat]').pressSequentially('beef1]');
  assert.equal(await page.locator('[name=chat]').inputValue(), 'beef1]');
  assert.equal(await eraser.isChecked(), false);
  await page.locator('[name=chat]').blur();
  await page.keyboard.press('e');
  assert.equal(await eraser.isChecked(), true);
  // A colour key switches to the pen.
  await page.keyboard.press('2');
  assert.equal(await eraser.isChecked(), false);
  assert.equal(await page.getByRole('radio', { name: 'Red', exact: true }).isChecked(), true);
  await close();
});

test('the tools are three radio groups: one tab stop each, arrow keys inside', async () => {
  const { page, canvas, close } = await open();
  await draw(page, canvas, [
    [100, 100],
    [200, 200],
  ]);
  await page.getByRole('radio', { name: 'Pen' }).focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.getByRole('radio', { name: 'Eraser' }).isChecked(), true);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Undo');
  await page.keyboard.press('Enter');
  await turns(canvas, 150, 150, WHITE);
  await close();
});

test('a finished drawing can be replayed and saved as a picture', async () => {
  const { page, canvas, close } = await open();
  await draw(page, canvas, [
    [200, 200],
    [1_400, 1_000],
    [200, 1_000],
  ]);
  await draw(page, canvas, [
    [1_400, 200],
    [1_000, 500],
  ]);
  await page.evaluate(() => /** @type {any} */ (globalThis).board.finish());
  await page.evaluate(() => /** @type {any} */ (globalThis).board.replay());
  await showsTheSame(page, 'replay');
  const replayed = page.locator('[data-board=replay] canvas');
  const position = page.getByRole('slider', { name: 'Position' });
  await position.fill('0');
  await turns(replayed, 1_200, 350, WHITE);
  await turns(replayed, 250, 233, WHITE);
  await page.getByLabel('Speed').selectOption('8');
  await page.getByRole('button', { name: 'Play' }).click();
  await page.getByRole('button', { name: 'Play' }).waitFor();
  await showsTheSame(page, 'replay');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save picture' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'drawing.png');
  await close();
});

for (const [size, viewport] of Object.entries(viewports)) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    test(`axe finds no violation on board, dialog and replay (${size}, ${colorScheme})`, async () => {
      const { page, canvas, close } = await open({ viewport, colorScheme, reducedMotion: 'reduce' });
      await draw(page, canvas, [
        [200, 200],
        [900, 900],
      ]);
      await page.waitForFunction(() => /** @type {any} */ (globalThis).board.stored.length > 0);
      await page.evaluate(() => /** @type {any} */ (globalThis).board.replay());
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press('Delete');
      assert.deepEqual(await violations(page), []);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= viewport.width, `the page is ${width} wide`);
      await close();
    });
  }
}
