/**
 * Scenes in both themes and sizes: WCAG 2.2 AA, as far as axe can check it, and no page wider than
 * its window in either language.
 */
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
        for (const language of ['日本語', 'English']) {
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), viewports[size].width);
          const other = page.getByRole('button', { name: language, exact: true });
          // Without a pointer, because a dialog may be open before it.
          if (await other.isVisible()) await other.evaluate((/** @type {HTMLElement} */ button) => button.click());
        }
      }
      await close();
    });
  }
}
