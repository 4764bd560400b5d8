/** What each page makes a phone load: all scripts that a visit fetches, compressed as a CDN would. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { useBrowser } from './harness.mjs';

const open = useBrowser('/');

const KB = 1_000;
/** The most that a page may load, and what the way in, which everybody takes, may. */
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
    /** @type {Map<string, Promise<Buffer>>} */
    const scripts = new Map();
    const { page, close } = await open({
      at,
      // The worker loads what its page has loaded already.
      serviceWorkers: 'block',
      prepare: async (page) => {
        page.on('response', (response) => {
          const isScript = response.headers()['content-type']?.includes('javascript');
          if (isScript) scripts.set(response.url(), response.body());
        });
      },
    });
    await page.locator('h1').first().waitFor();
    await page.waitForLoadState('load');
    const bodies = await Promise.all(scripts.values());
    const size = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
    assert.ok(bodies.length >= 2, 'the early script and the page’s own');
    assert.ok(size < max, `${size} bytes in ${[...scripts.keys()].join(', ')}`);
    await close();
  });
}
