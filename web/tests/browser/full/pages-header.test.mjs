/** The header of the pages on a phone has at most two rows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useBrowser } from '../harness.mjs';

const open = useBrowser();

for (const width of [320, 390, 560, 700])
  test(`the header has at most two rows in a window of ${width} pixels, and shows the current page`, async () => {
    for (const locale of ['en-GB', 'ja-JP'])
      for (const at of ['/', '/tide/', '/lately/', '/operator/']) {
        const { page, close } = await open({ at, locale, viewport: { width, height: 700 } });
        const header = page.locator('header');
        await header.locator('[aria-current]').waitFor();
        const middles = await header.locator('a, button').evaluateAll((all) =>
          all.map((one) => {
            const { top, bottom } = one.getBoundingClientRect();
            return (top + bottom) / 2;
          }),
        );
        // Elements of one row may differ by some pixels.
        const rows = new Set(middles.map((middle) => Math.round(middle / 20)));
        const apart = [...rows].filter((row) => !rows.has(row - 1));
        assert.ok(apart.length <= 2, `${at} ${locale}: ${middles.join(', ')}`);
        const current = await header.locator('[aria-current]').boundingBox();
        assert.ok(current && current.x >= 0 && current.x + current.width <= width, `${at} ${locale}`);
        await close();
      }
  });
