/** The header of the pages on a phone has at most two rows. */
import { test } from 'node:test';
import { until, useBrowser } from '../harness.mjs';

const open = useBrowser();

for (const width of [320, 390, 560, 700])
  test(`the header has at most two rows in a window of ${width} pixels, and shows the current page`, async () => {
    for (const locale of ['en-GB', 'ja-JP'])
      for (const at of ['/', '/tide/', '/lately/', '/operator/']) {
        const { page, close } = await open({ at, locale, viewport: { width, height: 700 } });
        const header = page.locator('header');
        await header.locator('[aria-current]').waitFor();
        const middles = () =>
          header.locator('a, button').evaluateAll((all) =>
            all.map((one) => {
              const { top, bottom } = one.getBoundingClientRect();
              return (top + bottom) / 2;
            }),
          );
        // Until the page has its own font, a wider one may need more rows.
        await until(middles, (all) => {
          // Elements of one row may differ by some pixels.
          const rows = new Set(all.map((middle) => Math.round(middle / 20)));
          return [...rows].filter((row) => !rows.has(row - 1)).length <= 2;
        });
        await until(
          () => header.locator('[aria-current]').boundingBox(),
          (current) => current !== null && current.x >= 0 && current.x + current.width <= width,
        );
        await close();
      }
  });
