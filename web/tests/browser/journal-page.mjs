/** Opens the recent events page, with helpers for its tests. */
import { useBrowser } from './harness.mjs';

/** @import { Page } from 'playwright-core' */
/** @import { ShopServer } from './shop-server.mjs' */

/** The browser of a test file. */
export function useJournal() {
  const open = useBrowser('/lately/');

  /** Opens the page with a scripted server. @param {ShopServer} server @param {Parameters<typeof open>[0]} [options] */
  async function openLog(server, options = {}) {
    const visit = await open({ prepare: (page) => server.install(page), ...options });
    await lines(visit.page).first().waitFor();
    return visit;
  }

  return { open, openLog };
}

/** The shown entries. @param {Page} page */
export const lines = (page) => page.getByTestId('log').locator('li');

/** The times of the shown entries. @param {Page} page @returns {Promise<string[]>} */
export const times = (page) =>
  lines(page)
    .locator('time')
    .evaluateAll((all) => all.map((time) => time.getAttribute('datetime') ?? ''));

/** Waits until at least this many entries are shown. @param {Page} page @param {number} count */
export const atLeast = (page, count) =>
  lines(page)
    .nth(count - 1)
    .waitFor();
