/** A scripted server for the shop page and the recent events page, with a fixed time. */
import { named, problem } from './harness.mjs';

/** @import { Page, Route } from 'playwright-core' */

/**
 * A JSON object whose members only the test knows.
 *
 * @typedef {Record<string, any>} Json
 */

/** The fixed time. */
export const now = Date.UTC(2026, 10, 21, 14, 5);
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const LEDGER_PAGE = 25;

/** A time in the API's format. @param {number} epochMs */
export const moment = (epochMs) => new Date(epochMs).toISOString().replace('Z', '000000Z');

/** A UUIDv7 of this time. @param {number} epochMs @param {number} [n] */
export function idAt(epochMs, n = 0) {
  const time = epochMs.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`;
}

/** A product in the API's format. @param {Json} [changes] */
export function product(changes = {}) {
  const all = { stock: 42, reserved: 6, ...changes };
  return {
    id: 'mug-035',
    name: 'Enamel mug, 0.35 l',
    price: 1_490,
    currency: 'EUR',
    lowStockThreshold: 12,
    version: 1,
    createdAt: moment(now - 400 * DAY_MS),
    updatedAt: moment(now - 3 * DAY_MS),
    ...all,
    available: all.stock - all.reserved,
  };
}

/** Prices, oldest first: days before now, and cents. */
const COST = [
  [400, 1_590],
  [352, 1_690],
  [301, 1_490],
  [280, 1_690],
  [214, 1_750],
  [181, 1_390],
  [174, 1_750],
  [120, 1_790],
  [84, 1_690],
  [61, 1_790],
  [40, 1_850],
  [26, 1_790],
  [19.3, 1_590],
  [12.4, 1_790],
  [3.2, 1_490],
];

/** The price changes of a product, newest first. @param {string} id @param {string} currency */
export function priceRows(id, currency) {
  return COST.map(([days = 0, price], i) => {
    const at = now - days * DAY_MS;
    return {
      id: `${moment(at)}~${idAt(at)}`,
      productId: id,
      price,
      ...(i > 0 && { previousPrice: COST[i - 1]?.[1] }),
      currency,
      createdAt: moment(at),
      reason: i === COST.length - 1 ? 'Autumn sale' : 'Supplier’s list',
      changedBy: i % 2 === 0 ? 'Mio' : 'Jonas',
    };
  }).toReversed();
}

/**
 * The rows of the stock ledger, newest first; `stock` is the stock after the newest.
 *
 * @param {number} stock
 * @param {number} count
 */
export function ledgerRows(stock, count) {
  const kinds = [
    ['OUT', -3, 'Sold', 'order-1181'],
    ['OUT', -1, 'Sold', 'order-1180'],
    ['COUNT', -2, 'Year’s inventory: two were cracked'],
    ['IN', 17, 'Delivery 77 of the enamel works'],
    ['ADJUST', 1, 'Found behind the shelf'],
    ['OUT', -12, 'Sold', 'order-1174'],
  ];
  let after = stock;
  return Array.from({ length: count }, (_, i) => {
    const [type, quantity, reason, orderId] = kinds[i % kinds.length] ?? [];
    const at = now - (i * 7 + 1) * HOUR_MS;
    const newStock = after;
    after -= Number(quantity);
    return {
      id: `${moment(at)}~${idAt(at)}`,
      type,
      quantity,
      previousStock: after,
      newStock,
      reason,
      ...(orderId && { orderId }),
      changedBy: i % 3 === 0 ? 'Jonas' : 'Mio',
      createdAt: moment(at),
    };
  });
}

/**
 * An entry of the journal.
 *
 * @param {number} epochMs
 * @param {string} message
 * @param {Json} attributes
 * @param {number} [n]
 */
export function entry(epochMs, message, attributes, n = 0) {
  return { id: idAt(epochMs, n), at: moment(epochMs), message, attributes };
}

/**
 * Entries of some days, newest first: each kind, an unknown kind, and one without attributes.
 *
 * @param {number} count
 */
export function entries(count) {
  /** @type {(readonly [string, Json])[]} */
  const kinds = [
    [
      'The price of mug-035 went from 1790 to 1490 EUR, in minor units.',
      { kind: 'price-changed', productId: 'mug-035', price: '1490', previousPrice: '1790', currency: 'EUR' },
    ],
    ['A game', { kind: 'game-finished', players: '4', rounds: '3', bestScore: '1240' }],
    ['Stock', { kind: 'stock-moved', productId: 'mug-035', changeType: 'OUT', quantity: '-3', stock: '42' }],
    ['kettle-2 runs low', { kind: 'low-stock', productId: 'kettle-2', stock: '4', lowStockThreshold: '5' }],
    ['Stock', { kind: 'stock-moved', productId: 'kettle-2', changeType: 'COUNT', quantity: '-1', stock: '4' }],
    ['The harbour master has waved.', { kind: 'harbour-master' }],
    ['Statistics were compared with their clicks and set right.', { kind: 'statistics-repaired' }],
    ['A record is settled.', { kind: 'record-settled', ending: 'counted' }],
    ['A record could not be counted.', { kind: 'record-quarantined', reason: 'click-count' }],
    ['lamp-7 is out of stock.', { kind: 'out-of-stock', productId: 'lamp-7' }],
    ['Stock', { kind: 'stock-moved', productId: 'mug-035', changeType: 'IN', quantity: '40', stock: '60' }],
    ['First', { kind: 'price-changed', productId: 'lamp-7', price: '12800', currency: 'JPY' }],
    ['A game of nobody is over.', { kind: 'game-finished' }],
    ['Stock', { kind: 'stock-moved', productId: 'mug-035', changeType: 'ADJUST', quantity: '1', stock: '61' }],
    ['A game', { kind: 'game-finished', players: '2', rounds: '1', bestScore: '90' }],
  ];
  return Array.from({ length: count }, (_, i) => {
    const [message, attributes] = kinds[i % kinds.length] ?? ['', {}];
    return entry(now - 40_000 - Math.round(i ** 1.6 * 9 * 60_000), message, attributes, i);
  });
}

/** The API of one shop and its journal. */
export class ShopServer {
  /** @type {Json[]} */
  products = [
    product(),
    product({ id: 'kettle-2', name: 'Kettle for two', price: 3_900, stock: 4, reserved: 0, lowStockThreshold: 5 }),
    product({ id: 'lamp-7', name: '灯台のランプ', price: 12_800, currency: 'JPY', stock: 0, reserved: 0 }),
    product({
      id: 'chart-n-sea',
      name: 'Sea chart of the North Sea, folded',
      price: 2_450,
      stock: 1_280,
      reserved: 35,
    }),
  ];
  /** The journal, newest first. @type {Json[]} */
  entries = entries(120);
  ledger = ledgerRows(42, 60);
  /** @type {Json[]} */
  activities = Array.from({ length: 8 }, (_, i) => ({
    id: idAt(now - i * HOUR_MS, i),
    userId: `visitor-${'abc'[i % 3]}7k2`,
    action: ['viewed', 'put-in-cart', 'viewed', 'searched'][i % 4],
    productId: 'mug-035',
    occurredAt: moment(now - i * HOUR_MS),
    attributes: i % 4 === 3 ? { query: 'mug', place: 'home' } : {},
  }));
  /** The most viewed products of today, and their views. @type {[string, number][]} */
  top = [
    ['mug-035', 1_240],
    ['no-product', 700],
    ['lamp-7', 86],
    ['chart-n-sea', 1],
  ];
  /** Views, visitors and purchases of each of the last days, newest first. @type {number[][]} */
  visits = [
    [1_240, 810, 31],
    [980, 702, 25],
    [1_105, 764, 40],
    [0, 0, 0],
    [431, 300, 12],
    [377, 251, 9],
    [402, 290, 11],
  ];
  /**
   * The received changes.
   *
   * @type {{ path: string, body: Json, key: string | null, token: string | null }[]}
   */
  changes = [];
  /**
   * Responses that replace the default ones, by "METHOD path".
   *
   * @type {Record<string, (route: Route) => unknown>}
   */
  answers = {};
  token = 'token-1';
  /** Entries per page of the journal. */
  journalPage = 50;

  /** Installs the server; for `prepare`. @param {Page} page */
  async install(page) {
    await page.clock.setFixedTime(now);
    await page.route(
      (url) => /^\/(products|activities|journal)(\/|$)/.test(url.pathname),
      (route) => this.#answer(route),
    );
  }

  /** Installs the server and stores the staff token in the browser. @param {Page} page */
  async staff(page) {
    await page.addInitScript(() => {
      sessionStorage.setItem('tidemark.staff-token', 'token-1');
      localStorage.setItem('tidemark.staff-name', 'Mio');
    });
    await this.install(page);
  }

  /** @param {Route} route */
  async #answer(route) {
    const request = route.request();
    const { pathname, searchParams } = new URL(request.url());
    const token = (await request.headerValue('authorization')) ?? null;
    const method = request.method();
    if (method !== 'GET') {
      const key = (await request.headerValue('idempotency-key')) ?? null;
      this.changes.push({ path: pathname, body: request.postDataJSON(), key, token });
    }
    const special = this.answers[`${method} ${pathname}`];
    if (special) return special(route);
    const isStaff = token === `Bearer ${this.token}`;
    if (token !== null && !isStaff) return route.fulfill(named(401, 'invalid-token', 'The token is not valid'));
    if (pathname === '/journal/suite') {
      return route.fulfill({ json: listPage(this.entries, searchParams, this.journalPage) });
    }
    if (pathname === '/activities/top') {
      const date = new Date(now).toISOString().slice(0, 10);
      const items = this.top.map(([productId, views]) => ({ productId, views, visitors: views, purchases: 0 }));
      return route.fulfill({ json: { date, items } });
    }
    if (pathname === '/products') {
      const limit = Number(searchParams.get('limit'));
      return route.fulfill({
        json: listPage(
          this.products
            .filter(({ archivedAt }) => (archivedAt !== undefined) === searchParams.has('archived'))
            .map(({ id, name }) => ({ id, name })),
          searchParams,
          limit,
        ),
      });
    }
    const [, , id = '', ...rest] = pathname.split('/');
    const found = this.products.find((product) => product['id'] === id);
    if (method === 'PUT') return this.#put(route, id, found);
    if (!found) return route.fulfill(named(404, 'product-not-found', 'There is no such product'));
    return this.#ofProduct(route, found, `${method} ${rest.join('/')}`, isStaff);
  }

  /** @param {Route} route @param {Json} found @param {string} what @param {boolean} isStaff */
  #ofProduct(route, found, what, isStaff) {
    const query = new URL(route.request().url()).searchParams;
    const rows = priceRows(found['id'], found['currency']);
    switch (what) {
      case 'GET ':
        return route.fulfill({ json: found });
      case 'GET prices/summary':
        return route.fulfill({ json: summary(found) });
      case 'GET prices': {
        const from = Date.parse(query.get('from') ?? '1970-01-01');
        const to = Date.parse(query.get('to') ?? '2100-01-01');
        const limit = Number(query.get('limit'));
        const items = rows
          .filter(({ createdAt }) => Date.parse(createdAt) >= from && Date.parse(createdAt) < to)
          .map(({ reason, changedBy, ...row }) => (isStaff ? { ...row, reason, changedBy } : row));
        return route.fulfill({ json: listPage(items, query, limit) });
      }
      case 'GET statistics': {
        const [from, to] = ['from', 'to'].map((name) => Date.parse(query.get(name) ?? ''));
        const items = [];
        for (let ms = from ?? 0; ms <= (to ?? 0); ms += DAY_MS) {
          const [views = 0, visitors = 0, purchases = 0] = this.visits[Math.floor((now - ms) / DAY_MS)] ?? [];
          items.push({ date: new Date(ms).toISOString().slice(0, 10), views, visitors, purchases });
        }
        return route.fulfill({ json: { items } });
      }
      case 'GET inventory':
        return route.fulfill({ json: listPage(this.ledger, query, LEDGER_PAGE) });
      case 'GET activities':
        return route.fulfill({ json: listPage(this.activities, query, LEDGER_PAGE) });
      case 'POST price': {
        const { price } = route.request().postDataJSON();
        const changed = price !== found['price'];
        Object.assign(found, { price, version: found['version'] + (changed ? 1 : 0) });
        return route.fulfill({ status: changed ? 201 : 200, json: { changed, price } });
      }
      case 'POST stock': {
        const { type, quantity } = route.request().postDataJSON();
        const previousStock = found['stock'];
        const newStock = type === 'COUNT' ? quantity : previousStock + (type === 'OUT' ? -quantity : quantity);
        Object.assign(found, { ...product({ ...found, stock: newStock }), version: found['version'] + 1 });
        return route.fulfill({
          status: 201,
          json: { type, quantity: newStock - previousStock, previousStock, newStock },
        });
      }
      default:
        return route.fulfill(problem(404, 'No such route'));
    }
  }

  /** @param {Route} route @param {string} id @param {Json | undefined} found */
  #put(route, id, found) {
    const body = route.request().postDataJSON();
    const { archived, ...changes } = body;
    /** @type {Json} */
    const made = product({ ...(found ?? { id, reserved: 0, version: 0 }), ...changes });
    if (archived === true) made['archivedAt'] ??= moment(now);
    if (archived === false) delete made['archivedAt'];
    made['version'] += 1;
    this.products = [...this.products.filter((other) => other !== found), made];
    return route.fulfill({ status: found ? 200 : 201, json: made });
  }
}

/** @param {Json} product */
function summary(product) {
  const { price, currency, id } = product;
  const at = (/** @type {number} */ days, /** @type {number} */ price) => ({
    price,
    since: moment(now - days * DAY_MS),
  });
  return {
    productId: id,
    currency,
    current: at(3.2, price),
    lowest30Days: at(3.2, Math.min(price, 1_490)),
    priorLowest30Days: at(19.3, 1_590),
    allTimeLow: at(181, Math.min(price, 1_390)),
    allTimeHigh: at(40, Math.max(price, 1_850)),
  };
}

/**
 * A page of a list in the API's format.
 *
 * @param {readonly Json[]} items
 * @param {URLSearchParams} query
 * @param {number} limit
 */
function listPage(items, query, limit) {
  const from = Number(query.get('cursor') ?? 0);
  const end = from + limit;
  return { items: items.slice(from, end), ...(end < items.length && { cursor: String(end) }) };
}
