/** What the start page shows, for its tests. */
import { CLICKS } from '../start-scenes.mjs';

/** @import { Page } from 'playwright-core' */

/**
 * What the page shows when the request to each path succeeds.
 *
 * @type {Record<string, (page: Page) => Promise<unknown>>}
 */
export const signs = {
  '/stats/': (page) =>
    page
      .getByTestId('today')
      .getByText(String(CLICKS.at(-1)), { exact: true })
      .waitFor(),
  '/games': (page) => page.getByText('3 games are waiting for players').waitFor(),
  '/products': (page) => page.getByText('Lowest in 30 days').waitFor(),
  '/journal/': (page) => page.getByTestId('entries').getByText('to €14.90').waitFor(),
};
