/** The page of the medication log, opened against a scripted server, and what its tests look at. */
import { useBrowser } from './harness.mjs';
import { OkusuriServer } from './okusuri-server.mjs';

/** @import { Page } from 'playwright-core' */

/** A browser for a file's tests. */
export function useOkusuri() {
  const visit = useBrowser('/okusuri/');

  /**
   * Opens the page without its worker, which would fetch past the scripted server.
   *
   * @param {OkusuriServer} server
   * @param {Parameters<typeof visit>[0]} [options]
   */
  const open = (server, options) =>
    visit({ prepare: (page) => server.install(page), serviceWorkers: 'block', timezoneId: 'Asia/Tokyo', ...options });

  return { visit, open };
}

/** Where the day is noted. @param {Page} page */
export const act = (page) => page.getByTestId('act');

/** What this browser keeps. @param {Page} page */
export const stored = (page) => page.evaluate(() => JSON.stringify(localStorage));

/** The changes of logs that came. @param {OkusuriServer} server */
export const logChanges = (server) =>
  server.changes.filter(({ path }) => path.startsWith('logs/')).map(({ method, path }) => `${method} ${path}`);
