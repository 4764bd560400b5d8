/** Accessibility of scenes: WCAG 2.2 AA, as far as axe can check it, in both themes and sizes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewports } from '../chromium.mjs';
import { useBrowser, violations } from './harness.mjs';

/** @import { Scene } from '../game-scenes.mjs' */

/** These two combinations cover each theme and each size. A scene is played once for both. */
const looks = /** @type {const} */ ([
  { size: 'phone', colorScheme: 'dark' },
  { size: 'desktop', colorScheme: 'light' },
]);

/** Defines a test for each scene. @param {Record<string, Scene>} scenes */
export function testScenes(scenes) {
  const open = useBrowser();
  for (const [name, scene] of Object.entries(scenes)) {
    test(`axe finds no violations in the scene "${name}" (phone in dark, then desktop in light)`, async () => {
      const { page, close } = await open({
        at: scene.at,
        prepare: scene.prepare,
        viewport: viewports.phone,
        colorScheme: 'dark',
        reducedMotion: 'reduce',
        // Requests of a service worker would bypass the scripted server.
        serviceWorkers: 'block',
      });
      await scene.play?.(page);
      for (const { size, colorScheme } of looks) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.setViewportSize(viewports[size]);
        assert.deepEqual(await violations(page), [], `${size}, ${colorScheme}`);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewports[size].width);
      }
      await close();
    });
  }
}
