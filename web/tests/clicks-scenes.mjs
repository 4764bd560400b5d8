/** The states of the clicks page, each with a scripted server. */
import { ClicksServer, STRANGE_TARGETS } from './browser/clicks-server.mjs';

/** @import { Page } from 'playwright-core' */
/** @import { Scene } from './game-scenes.mjs' */

/** @param {Page} page */
const loaded = async (page) => {
  await page.locator('[data-testid=periods] tr:not([aria-hidden])').first().waitFor();
  await page.locator('[data-testid=targets] tr:not([aria-hidden])').first().waitFor();
};

/** @param {Page} page @param {number} index */
async function turnTo(page, index) {
  await loaded(page);
  await page.locator('.units button').nth(index).click();
}

/** @param {Page} page @param {number} rank */
async function select(page, rank) {
  await loaded(page);
  await page.getByTestId('targets').getByRole('button').nth(rank).click();
}

/**
 * @param {(page: Page) => Promise<unknown>} play
 * @param {(server: ClicksServer) => void} [change]
 * @returns {Scene}
 */
const scene = (play, change = () => {}) => ({
  at: '/tide/',
  prepare: (page) => {
    const server = new ClicksServer();
    change(server);
    return server.install(page);
  },
  play,
});

/** @type {Record<string, Scene>} */
export const scenes = {
  'clicks-hours': scene((page) => turnTo(page, 0)),
  'clicks-days': scene(loaded),
  'clicks-weeks': scene((page) => turnTo(page, 2)),
  'clicks-months': scene((page) => turnTo(page, 3)),
  'clicks-target': scene((page) => select(page, 1)),
  'clicks-strange-target': scene(
    (page) => select(page, 1),
    (server) => (server.targets = STRANGE_TARGETS.map((name, i) => [name, 60 - 6 * i, 30 - 3 * i])),
  ),
  'clicks-embed': scene(async (page) => {
    await select(page, 1);
    await page.getByTestId('counter').locator('xpath=ancestor::details/summary').click();
  }),
  'clicks-refused-fields': scene(async (page) => {
    await loaded(page);
    for (const form of await page.locator('.saved form').all()) {
      await form.locator('input').fill('');
      await form.locator('button').click();
    }
  }),
  'clicks-empty': scene(loaded, (server) => {
    Object.assign(server, { isEmpty: true, targets: [], clicksToday: 0, total: 0 });
  }),
  'clicks-no-targets': scene(
    (page) => page.getByRole('alert').waitFor(),
    (server) => (server.failing = ['/stats/targets']),
  ),
  'clicks-failing': scene(
    (page) => page.getByRole('alert').waitFor(),
    (server) => (server.failing = ['/stats/']),
  ),
  'clicks-loading': {
    at: '/tide/',
    prepare: (page) => page.route('**/stats/**', () => {}),
    play: (page) => page.locator('.skeleton').first().waitFor(),
  },
};
