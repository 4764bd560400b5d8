/** Opens the medication log against a scripted server, with helpers for its tests. */
import { useBrowser } from './harness.mjs';
import { OkusuriServer } from './okusuri-server.mjs';

/** @import { Page } from 'playwright-core' */

/** The browser of a test file. */
export function useOkusuri() {
  const visit = useBrowser('/okusuri/');

  /**
   * Opens the page without its service worker, whose requests would bypass the scripted server.
   *
   * @param {OkusuriServer} server
   * @param {Parameters<typeof visit>[0]} [options]
   */
  const open = (server, options) =>
    visit({ prepare: (page) => server.install(page), serviceWorkers: 'block', timezoneId: 'Asia/Tokyo', ...options });

  return { visit, open };
}

/**
 * Tells a new page that it is offline. On a busy machine, Chromium may do so too late and without
 * an event.
 *
 * @param {Page} page
 */
export async function tellOffline(page) {
  if (!(await page.evaluate(() => navigator.onLine))) return;
  await page.context().setOffline(false);
  await page.context().setOffline(true);
}

/** The section that records the day. @param {Page} page */
export const act = (page) => page.getByTestId('act');

/** The browser's local storage. @param {Page} page */
export const stored = (page) => page.evaluate(() => JSON.stringify(localStorage));

/** The changes to logs that the server has received. @param {OkusuriServer} server */
export const logChanges = (server) =>
  server.changes.filter(({ path }) => path.startsWith('logs/')).map(({ method, path }) => `${method} ${path}`);
