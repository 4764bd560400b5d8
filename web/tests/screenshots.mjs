/**
 * Photographs every page: loaded, empty and failing, light and dark, desktop and phone.
 *
 *     TIDEMARK_URL=http://127.0.0.1:3000 npm run screenshots [-- <folder>]
 *
 * "Loaded" is whatever the running stack holds; the other states are made by answering requests in its place.
 */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { launchChromium, stackUrl, viewports } from './chromium.mjs';
import { scenes as gameScenes } from './game-scenes.mjs';
import { scenes as okusuriScenes } from './okusuri-scenes.mjs';
import { scenes as operatorScenes } from './operator-scenes.mjs';
import { scenes as shopScenes } from './shop-scenes.mjs';
import { scenes as startScenes } from './start-scenes.mjs';

/** @import { Page, Route } from 'playwright-core' */

const folder = process.argv[2] ?? 'screenshots';
const url = stackUrl();

/** Time for fonts, charts and the water to come to rest. */
const SETTLE_MS = 800;

/** @param {unknown} body */
const json = (body) => ({ status: 200, contentType: 'application/json', body: JSON.stringify(body) });

/** Statistics of a day on which nobody has ever clicked. @param {Route} route */
function answerEmpty(route) {
  const { pathname, searchParams } = new URL(route.request().url());
  const [, , kind, period] = pathname.split('/');
  const zero = { totalClicks: 0, uniqueUsers: 0 };
  if (kind === 'total') return route.fulfill(json({ totalClicks: 0 }));
  if (period) return route.fulfill(json({ [kind === 'daily' ? 'date' : 'month']: period, ...zero }));
  const to = searchParams.get('to') ?? '';
  if (kind === 'monthly') return route.fulfill(json({ items: [{ month: to, ...zero }] }));
  const items = [];
  for (let ms = Date.parse(searchParams.get('from') ?? ''); ms <= Date.parse(to); ms += 86_400_000) {
    items.push({ date: new Date(ms).toISOString().slice(0, 10), ...zero });
  }
  return route.fulfill(json({ items }));
}

/** @param {Route} route */
function answerProblem(route) {
  return route.fulfill({
    status: 503,
    contentType: 'application/problem+json',
    body: JSON.stringify({
      type: 'about:blank',
      title: 'The statistics are busy',
      status: 503,
      detail: 'The table is throttled; try again in a moment.',
    }),
  });
}

/** What is made of the page before the picture. @type {Record<string, (page: Page) => Promise<unknown>>} */
const states = {
  loaded: async () => {},
  empty: (page) => page.route('**/stats/**', answerEmpty),
  error: (page) => page.route('**/stats/**', answerProblem),
  loading: (page) => page.route('**/stats/**', () => {}),
};

/** The scenes of the other pages; `SCENES` names those that one wants alone, as a regular expression. */
const wanted = new RegExp(process.env['SCENES'] ?? '');
const scenes = [
  ...Object.entries(startScenes),
  ...Object.entries(gameScenes).map(([name, scene]) => /** @type {const} */ ([`game-${name}`, scene])),
  ...Object.entries(shopScenes),
  ...Object.entries(okusuriScenes),
  ...Object.entries(operatorScenes),
].filter(([name]) => wanted.test(name));

await mkdir(folder, { recursive: true });
const browser = await launchChromium();
for (const [size, viewport] of Object.entries(viewports)) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [state, prepare] of Object.entries(states)) {
      if (!wanted.test(`clicks-${state}`)) continue;
      for (const locale of state === 'loaded' ? ['en-GB', 'ja-JP'] : ['en-GB']) {
        const page = await browser.newPage({
          viewport,
          colorScheme,
          locale,
          reducedMotion: 'reduce',
          deviceScaleFactor: 2,
        });
        await prepare(page);
        await page.goto(`${url}/tide/`);
        if (state === 'loaded' || state === 'empty')
          await page.locator('[data-testid=total-clicks]:not(.skeleton)').waitFor();
        // A window as tall as the page: canvases lose their content when the browser stretches it only for the picture.
        await page.setViewportSize({
          width: viewport.width,
          height: await page.evaluate(() => document.documentElement.scrollHeight),
        });
        await page.waitForTimeout(SETTLE_MS);
        const name = ['clicks', state, size, colorScheme, ...(locale === 'ja-JP' ? ['ja'] : [])].join('-');
        await page.screenshot({ path: path.join(folder, `${name}.png`) });
        await page.close();
      }
    }
  }
}
for (const [size, viewport] of Object.entries(viewports)) {
  for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
    for (const [name, scene] of scenes) {
      // Both languages in both themes and sizes would be too many to look at: half of them in each.
      const locale = (size === 'phone') === (colorScheme === 'light') ? 'ja-JP' : 'en-GB';
      // A service worker would fetch past the scripted server.
      const look = { viewport, colorScheme, locale, reducedMotion: /** @type {const} */ ('reduce') };
      const page = await browser.newPage({ ...look, serviceWorkers: 'block' });
      await scene.prepare(page);
      await page.goto(url + scene.at);
      await scene.play?.(page);
      await page.waitForTimeout(SETTLE_MS);
      await page.screenshot({ path: path.join(folder, `${name}-${size}-${colorScheme}.png`), fullPage: true });
      await page.close();
    }
  }
}
await browser.close();
console.log(`The pictures are in ${path.resolve(folder)}`);
