/** The states of the start page, each with a scripted server. */
import { problem } from './browser/harness.mjs';
import { now, ShopServer } from './browser/shop-server.mjs';

/** @import { Page, Route } from 'playwright-core' */
/** @import { Scene } from './game-scenes.mjs' */

/** The clicks of the last days, oldest first, today last. */
export const CLICKS = [
  ...[212, 240, 198, 305, 380, 342, 260, 221, 240, 288, 402, 455, 398, 310, 250, 232],
  ...[268, 344, 420, 506, 540, 488, 390, 312, 276, 290, 360, 418, 471, 386],
];

const settings = { playerCount: 6, roundCount: 3, timeLimit: 80, language: 'ja' };
const games = ['Mio', 'Jonas', 'さくら'].map((hostName, i) => ({
  gameId: `game-${i}`,
  hostName,
  players: i + 1,
  settings,
}));

/**
 * The statistics of the requested days.
 *
 * @param {readonly number[]} clicks
 * @returns {(route: Route) => unknown}
 */
const days = (clicks) => (route) => {
  const query = new URL(route.request().url()).searchParams;
  const [from, to] = [Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? '')];
  const items = Array.from({ length: (to - from) / 86_400_000 + 1 }, (_, i) => {
    const totalClicks = clicks.at(i - (to - from) / 86_400_000 - 1) ?? 0;
    const date = new Date(from + i * 86_400_000).toISOString().slice(0, 10);
    return { date, totalClicks, uniqueUsers: Math.ceil(totalClicks / 7) };
  });
  return route.fulfill({ json: { items } });
};

/** @param {Route} route */
const busy = (route) => route.fulfill(problem(503, 'The database asks for patience'));

/** The path prefixes of the page's requests, one for each system. */
export const PATHS = ['/stats/', '/games', '/products', '/journal/'];

/**
 * Installs scripted responses. Paths that begin with one of `failing` return an error.
 *
 * @param {Page} page
 * @param {{ clicks?: readonly number[], games?: unknown[], failing?: readonly string[], shop?: ShopServer, commands?: readonly string[] }} [script]
 */
export async function install(
  page,
  { clicks = CLICKS, games: waiting = games, failing = [], shop = new ShopServer(), commands = [] } = {},
) {
  await shop.install(page);
  await page.route((url) => url.pathname === '/stats/daily', days(clicks));
  await page.route(
    (url) => url.pathname === '/games',
    (route) => route.fulfill({ json: { items: waiting } }),
  );
  await page.route('**/_local/commands', (route) => route.fulfill({ json: { commands } }));
  let state = 'absent';
  await page.route('**/_local/commands/demo*', (route) => {
    const removes = route.request().url().endsWith('remove');
    const told = removes ? (state === 'absent' ? 'absent' : 'removed') : state === 'absent' ? 'added' : 'present';
    state = removes ? 'absent' : 'added';
    const demo = { state: told, gameId: removes ? null : 'game-of-the-demo', email: 'demo@example.com' };
    return route.fulfill({ json: { exitCode: 0, output: JSON.stringify(demo), error: '' } });
  });
  await page.route((url) => failing.some((path) => url.pathname.startsWith(path)), busy);
}

/** A shop without products and a journal without entries. */
export function emptyShop() {
  const shop = new ShopServer();
  shop.products = [];
  shop.entries = [];
  return shop;
}

/** The fixed time of the scenes. */
export { now };

/** @type {Record<string, Scene>} */
export const scenes = {
  start: {
    at: '/',
    prepare: (page) => install(page),
    play: (page) => page.locator('[data-testid=entries] li').first().waitFor(),
  },
  'start-empty': {
    at: '/',
    prepare: (page) => install(page, { clicks: [], games: [], shop: emptyShop() }),
    play: (page) => page.getByText(/No events yet|できごとはまだありません/).waitFor(),
  },
  'start-demo': {
    at: '/',
    prepare: (page) => install(page, { commands: ['demo', 'demo-remove'] }),
    play: async (page) => {
      await page.getByRole('button', { name: /Add the demo|デモを追加する/ }).click();
      await page.locator('[data-testid=demo] li').first().waitFor();
      await page.locator('[data-testid=demo]').scrollIntoViewIfNeeded();
    },
  },
  'start-failing': {
    at: '/',
    prepare: (page) => install(page, { failing: PATHS }),
    play: (page) =>
      page
        .getByRole('status')
        .nth(PATHS.length - 1)
        .waitFor(),
  },
  'start-loading': {
    at: '/',
    prepare: (page) => page.route(/\/(stats|games|products|journal)/, () => {}),
    play: (page) => page.locator('.skeleton').first().waitFor(),
  },
};
