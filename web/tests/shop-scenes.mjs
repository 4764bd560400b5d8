/** The states of the shop page and the recent events page, each with a scripted server. */
import { named, problem } from './browser/harness.mjs';
import { entry, moment, now, product, ShopServer } from './browser/shop-server.mjs';

/** @import { Page } from 'playwright-core' */
/** @import { Scene } from './game-scenes.mjs' */

/** The addresses of the pages. */
export const shop = '/shop/';
export const mug = '/shop/?product=mug-035';
export const lately = '/lately/';

/**
 * @param {string} at
 * @param {(page: Page, server: ShopServer) => Promise<unknown>} play
 * @param {{ staff?: boolean, server?: (server: ShopServer) => void }} [options]
 * @returns {Scene}
 */
function scene(at, play, { staff = false, server: script = () => {} } = {}) {
  /**
   * One server for each page, because a scene is used by many pages.
   *
   * @type {WeakMap<Page, ShopServer>}
   */
  const servers = new WeakMap();
  return {
    at,
    prepare: async (page) => {
      const server = new ShopServer();
      script(server);
      servers.set(page, server);
      await (staff ? server.staff(page) : server.install(page));
    },
    play: async (page) => {
      const server = servers.get(page);
      if (server) await play(page, server);
    },
  };
}

/** @param {Page} page */
const loaded = (page) => page.locator('[data-testid=lowest]').waitFor();
/** @param {Page} page */
const alert = (page) => page.getByRole('alert').first().waitFor();
/** @param {Page} page */
const ledger = (page) => page.getByTestId('ledger').locator('tr.line').first().waitFor();
/** @param {Page} page */
const log = (page) => page.locator('[data-testid=log] li').first().waitFor();

/** The scenes of the shop page. @type {Record<string, Scene>} */
export const scenes = {
  'shop-list': scene(shop, (page) => page.getByText('€24.50').or(page.getByText('€ 24.50')).waitFor()),
  'shop-list-empty': scene(shop, (page) => page.getByRole('button', { name: /examples|サンプル/ }).waitFor(), {
    staff: true,
    server: (server) => (server.products = []),
  }),
  'shop-list-failing': scene(shop, alert, {
    server: (server) => {
      server.answers['GET /products'] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
    },
  }),
  product: scene(mug, async (page) => {
    await loaded(page);
    await page.getByText(/List of price changes|価格変更の一覧/).click();
  }),
  'shop-archived': scene(
    '/shop/?archived',
    (page) => page.getByText('€14.90').or(page.getByText('€ 14.90')).waitFor(),
    {
      staff: true,
      server: (server) =>
        (server.products = [product({ archivedAt: moment(now - 86_400_000) }), ...server.products.slice(1)]),
    },
  ),
  'shop-archived-without-token': scene('/shop/?archived', (page) => page.locator('input[type=password]').waitFor()),
  'product-archiving': scene(
    mug,
    async (page) => {
      await ledger(page);
      await page.getByRole('button', { name: /^(Archive|アーカイブ)$/ }).click();
      await page.getByRole('button', { name: /^(Archive product|商品をアーカイブする)$/ }).click();
    },
    { staff: true },
  ),
  'product-archived': scene(
    mug,
    async (page) => {
      await ledger(page);
      await page.getByTestId('archived').waitFor();
    },
    { staff: true, server: (server) => (server.products = [product({ archivedAt: moment(now - 86_400_000) })]) },
  ),
  'product-low': scene('/shop/?product=kettle-2', loaded),
  'product-out': scene('/shop/?product=lamp-7', loaded),
  'product-extreme': scene('/shop/?product=' + 'x'.repeat(64), loaded, {
    server: (server) => {
      const huge = { id: 'x'.repeat(64), name: 'Ω'.repeat(200), price: 10 ** 15, stock: 10 ** 12, reserved: 10 ** 11 };
      server.products = [product({ ...huge, lowStockThreshold: 10 ** 12 })];
    },
  }),
  'shop-list-extreme': scene(shop, (page) => page.getByText('10,000,000,000,000').waitFor(), {
    server: (server) => {
      server.products = [product({ id: 'x'.repeat(64), name: 'Ω'.repeat(200), price: 10 ** 15 }), ...server.products];
    },
  }),
  'product-before-sale': scene(mug, async (page) => {
    await loaded(page);
    await page.locator('input[type=date]').first().fill('2024-01-01');
    await page.locator('input[type=date]').last().fill('2024-02-01');
    await page.locator('input[type=date]').last().blur();
    await page.getByText(/Not for sale yet|まだ販売していません/).waitFor();
  }),
  'product-all': scene(mug, async (page) => {
    await loaded(page);
    await page.getByRole('button', { name: /^(All|全期間)$/ }).click();
  }),
  'product-not-found': scene('/shop/?product=nothing', (page) => page.locator('h1').waitFor()),
  'product-failing': scene(mug, alert, {
    server: (server) => {
      server.answers['GET /products/mug-035'] = (route) =>
        route.fulfill(problem(503, 'The database asks for patience'));
    },
  }),
  'product-loading': scene(mug, (page) => page.locator('.skeleton').first().waitFor(), {
    server: (server) => {
      server.answers['GET /products/mug-035'] = () => {};
    },
  }),
  'staff-token': scene(mug, async (page) => {
    await loaded(page);
    await page.locator('details').last().locator('summary').click();
  }),
  'staff-token-refused': scene(mug, alert, { staff: true, server: (server) => (server.token = 'another') }),
  'staff-price': scene(
    mug,
    async (page) => {
      await ledger(page);
      await page.getByLabel(/New price|新しい価格/).fill('12,90');
      await page.getByRole('button', { name: /Set price|価格を変更する/ }).click();
      await page.getByText(/now € ?12\.90|€ ?12\.90 に/).waitFor();
    },
    { staff: true },
  ),
  'staff-price-asks': scene(
    mug,
    async (page) => {
      await ledger(page);
      await page.getByLabel(/New price|新しい価格/).fill('1,29');
      await page.getByRole('button', { name: /Set price|価格を変更する/ }).click();
      await page
        .getByRole('alert')
        .getByText(/€ ?1\.29/)
        .waitFor();
    },
    { staff: true },
  ),
  'staff-price-fault': scene(
    mug,
    async (page) => {
      await ledger(page);
      await page.getByLabel(/New price|新しい価格/).fill('12.345');
      await page.getByRole('button', { name: /Set price|価格を変更する/ }).click();
      await page.locator('[aria-invalid=true]').first().waitFor();
    },
    { staff: true },
  ),
  'staff-stock-refused': scene(
    mug,
    async (page) => {
      await ledger(page);
      await page.getByRole('button', { name: /Change stock|在庫を変更/ }).click();
      await page
        .getByText(/^(Removed|出庫)$/)
        .first()
        .click();
      await page.getByLabel(/Quantity|数量/).fill('40');
      await page.getByRole('button', { name: /Record movement|記録する/ }).click();
      await alert(page);
    },
    {
      staff: true,
      server: (server) => {
        const level = { stock: 42, reserved: 6, available: 36 };
        server.answers['POST /products/mug-035/stock'] = (route) =>
          route.fulfill(named(409, 'insufficient-stock', 'Not enough is available', level));
      },
    },
  ),
  'staff-product': scene(
    mug,
    async (page) => {
      await ledger(page);
      await page.getByRole('button', { name: /Edit product|商品を編集/ }).click();
    },
    { staff: true },
  ),
  'new-token': scene('/shop/?new', (page) => page.locator('h1').waitFor()),
  new: scene(
    '/shop/?new',
    async (page) => {
      await page.getByRole('textbox', { name: /^ID$/ }).fill('not an id');
      await page.getByRole('textbox', { name: /^(Price|価格)$/ }).fill('-1');
      await page.getByRole('button', { name: /Create product|商品を登録する/ }).click();
      await page.locator('.field-error').first().waitFor();
    },
    { staff: true },
  ),
};

/** The scenes of the recent events page. @type {Record<string, Scene>} */
export const journalScenes = {
  lately: scene(lately, log),
  'lately-new': scene(lately, async (page, server) => {
    await log(page);
    await page.evaluate(() => scrollTo(0, 700));
    const attributes = { kind: 'out-of-stock', productId: 'kettle-2' };
    server.entries = [entry(now, 'kettle-2 is out of stock.', attributes, 999), ...server.entries];
    await page.locator('button.new').waitFor();
  }),
  'lately-empty': scene(lately, (page) => page.getByRole('link', { name: /Play a game|ゲームで遊ぶ/ }).waitFor(), {
    server: (server) => (server.entries = []),
  }),
  'lately-failing': scene(lately, alert, {
    server: (server) => {
      server.answers['GET /journal/suite'] = (route) => route.fulfill(problem(503, 'The database asks for patience'));
    },
  }),
  'lately-older-failing': scene(
    lately,
    async (page) => {
      await log(page);
      // Older entries are read when the end comes near.
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await alert(page);
    },
    {
      server: (server) => {
        server.journalPage = 12;
        server.answers['GET /journal/suite'] = (route) => {
          const isFirst = !new URL(route.request().url()).searchParams.has('cursor');
          const json = { items: server.entries.slice(0, 12), cursor: '12' };
          return route.fulfill(isFirst ? { json } : problem(503, 'The database asks for patience'));
        };
      },
    },
  ),
  'lately-end': scene(lately, (page) => page.getByText(/no older events|これより前のできごと/).waitFor(), {
    server: (server) => (server.entries = server.entries.slice(0, 9)),
  }),
};
