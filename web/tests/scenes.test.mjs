/**
 * WCAG 2.2 AA, as far as axe can check it, in every scene of every page, in both themes and sizes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from './chromium.mjs';
import { scenes as clicksScenes } from './clicks-scenes.mjs';
import { scenes as gameScenes } from './game-scenes.mjs';
import { scenes as okusuriScenes } from './okusuri-scenes.mjs';
import { scenes as operatorScenes } from './operator-scenes.mjs';
import { scenes as shopScenes } from './shop-scenes.mjs';
import { scenes as startScenes } from './start-scenes.mjs';
import { useBrowser, violations } from './browser/harness.mjs';

const open = useBrowser();

for (const [name, scene] of Object.entries({
  ...startScenes,
  ...clicksScenes,
  ...gameScenes,
  ...shopScenes,
  ...okusuriScenes,
  ...operatorScenes,
})) {
  test(`axe finds no violations in the scene "${name}" (phone in dark, then desktop in light)`, async () => {
    const { page, close } = await open({
      at: scene.at,
      prepare: scene.prepare,
      viewport: viewports.phone,
      colorScheme: 'dark',
      reducedMotion: 'reduce',
      serviceWorkers: 'block',
    });
    await scene.play?.(page);
    // These two combinations cover each theme and each size. The scene is played once for both.
    for (const [size, colorScheme] of /** @type {const} */ ([
      ['phone', 'dark'],
      ['desktop', 'light'],
    ])) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.setViewportSize(viewports[size]);
      assert.deepEqual(await violations(page), [], `${size}, ${colorScheme}`);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewports[size].width);
    }
    await close();
  });
}
