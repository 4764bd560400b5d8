/** The size of all scripts that a visit of each page loads, compressed as by a CDN. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { useBrowser } from '../harness.mjs';

/** @import { Response } from 'playwright-core' */

const open = useBrowser('/');

const KB = 1_000;
/** The limit of a page, and the lower limit of the start page, which everybody loads first. */
const PAGE_MAX = 150 * KB;
const START_MAX = 60 * KB;

for (const [at, max] of /** @type {const} */ ([
  ['/', START_MAX],
  ['/tide/', PAGE_MAX],
  ['/game/', PAGE_MAX],
  ['/shop/', PAGE_MAX],
  ['/okusuri/', PAGE_MAX],
  ['/lately/', PAGE_MAX],
  ['/operator/', PAGE_MAX],
])) {
  test(`the scripts of ${at} are less than ${max / KB} KB compressed`, async () => {
    /** @type {Map<string, Response>} */
    const scripts = new Map();
    const { page, close } = await open({
      at,
      // The service worker would load the page's scripts again.
      serviceWorkers: 'block',
      prepare: async (page) => {
        page.on('response', (response) => {
          const isScript = response.headers()['content-type']?.includes('javascript');
          if (isScript) scripts.set(response.url(), response);
        });
      },
    });
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('load');
    const bodies = await Promise.all([...scripts.values()].map((response) => response.body()));
    const size = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
    assert.ok(bodies.length >= 2, 'expects early.js and the page’s own scripts');
    assert.ok(size < max, `${size} bytes in ${[...scripts.keys()].join(', ')}`);
    await close();
  });
}
