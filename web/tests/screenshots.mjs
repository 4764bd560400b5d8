/**
 * Takes screenshots of every page: loaded, empty and failing, light and dark, on a desktop, a
 * laptop, a phone, and a phone held sideways.
 *
 *     TIDEMARK_URL=http://127.0.0.1:3000 npm run screenshots [-- <folder>]
 *
 * "clicks-loaded" shows the data of the running stack. The other states use scripted responses.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { launchChromium, stackUrl, viewports as sizesOfTests } from './chromium.mjs';
import { scenes as clicksScenes } from './clicks-scenes.mjs';
import { scenes as gameScenes } from './game-scenes.mjs';
import { scenes as okusuriScenes } from './okusuri-scenes.mjs';
import { scenes as operatorScenes } from './operator-scenes.mjs';
import { journalScenes, scenes as shopScenes } from './shop-scenes.mjs';
import { scenes as startScenes } from './start-scenes.mjs';

/** @import { Page } from 'playwright-core' */

const viewports = { ...sizesOfTests, laptop: { width: 1366, height: 650 }, sideways: { width: 700, height: 320 } };

const folder = process.argv[2] ?? 'screenshots';
const url = stackUrl();

/** Waits until the fonts are loaded, every animation that ends has ended, and a frame is drawn. @param {Page} page */
const settled = (page) =>
  page.evaluate(async () => {
    await document.fonts.ready;
    const ending = document.getAnimations().filter(({ effect }) => effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map(({ finished }) => finished));
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  });

/** The scenes of all pages. `SCENES` is a regular expression that selects some of them. */
const wanted = new RegExp(process.env['SCENES'] ?? '');
const scenes = [
  ...Object.entries(startScenes),
  ...Object.entries(clicksScenes),
  ...Object.entries(gameScenes).map(([name, scene]) => /** @type {const} */ ([`game-${name}`, scene])),
  ...Object.entries(shopScenes),
  ...Object.entries(journalScenes),
  ...Object.entries(okusuriScenes),
  ...Object.entries(operatorScenes),
].filter(([name]) => wanted.test(name));

await mkdir(folder, { recursive: true });
const browser = await launchChromium();
for (const [size, viewport] of Object.entries(viewports)) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    if (!wanted.test('clicks-loaded')) continue;
    for (const locale of ['en-GB', 'ja-JP']) {
      const page = await browser.newPage({
        viewport,
        colorScheme,
        locale,
        reducedMotion: 'reduce',
        deviceScaleFactor: 2,
      });
      await page.goto(`${url}/tide/`);
      await page.locator('[data-testid=total-clicks]:not(.skeleton)').waitFor();
      // Makes the window as tall as the page. A full-page screenshot would resize the window and
      // clear the canvases.
      await page.setViewportSize({
        width: viewport.width,
        height: await page.evaluate(() => document.documentElement.scrollHeight),
      });
      await settled(page);
      const name = ['clicks-loaded', size, colorScheme, ...(locale === 'ja-JP' ? ['ja'] : [])].join('-');
      await page.screenshot({ path: path.join(folder, `${name}.png`) });
      await page.close();
    }
  }
}
for (const [size, viewport] of Object.entries(viewports)) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [name, scene] of scenes) {
      // Each combination of size and theme uses one language, so that the number of pictures stays
      // small.
      const locale = (size === 'phone') === (colorScheme === 'light') ? 'ja-JP' : 'en-GB';
      // Requests of a service worker would bypass the scripted server.
      const look = { viewport, colorScheme, locale, reducedMotion: /** @type {const} */ ('reduce') };
      const page = await browser.newPage({ ...look, serviceWorkers: 'block' });
      await scene.prepare(page);
      await page.goto(url + scene.at);
      await scene.play?.(page);
      await settled(page);
      await page.screenshot({ path: path.join(folder, `${name}-${size}-${colorScheme}.png`), fullPage: true });
      await page.close();
    }
  }
}
await browser.close();
console.log(`The screenshots are in ${path.resolve(folder)}`);
