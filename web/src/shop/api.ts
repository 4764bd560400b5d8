/** The requests of the shop page. Prices are in minor units, as in the API. */
import { bearer, query, requestJson, requestPage } from '../shared/api.ts';
import type { ApiRequest, Item, Page, Schema } from '../shared/api.ts';
import type { DayRange } from '../shared/days.ts';
import { momentMs } from '../shared/format.ts';
import type { PriceBefore, Span } from './steps.ts';

/** A row of a list with its time in epoch milliseconds. */
type Dated<T> = T & { readonly atMs: number };

/** A product in a list. */
export type ProductName = Item<'ListedProducts'>;
/** The current state of a product. */
export type Product = Schema<'Product'>;
/** The reference prices of a product. */
export type PriceSummary = Schema<'PriceSummary'>;
/** A change of the price. Names and reasons come only with the staff token. */
export type PriceChange = Dated<Item<'PriceRows'>>;
/** A row of the stock ledger. */
export type LedgerRow = Dated<Item<'StockRows'>>;
/** An action of a user on a product. */
export type Activity = Dated<Item<'ActivityPage'>>;
/** The views, visitors and purchases of a product on a UTC day. */
export type ProductDay = Item<'ProductDays'>;
/** The counts of a product that is viewed often. */
export type TopProduct = Item<'TopProducts'>;
/** The types of stock movements. */
export const MOVEMENTS = ['IN', 'OUT', 'ADJUST', 'COUNT'] as const satisfies readonly LedgerRow['type'][];
export type MovementType = LedgerRow['type'];
/**
 * A product to create, or the changes to a product. A change contains no price and no stock,
 * because these are recorded in ledgers by their own requests. Omitted members stay unchanged.
 */
export type ProductDraft = Schema<'NewProduct'>;

/** Rows of a ledger, or activities, per page. */
const PAGE_ROWS = 25;
/** Rows of a ledger per request of a download: the API's maximum. */
const DOWNLOAD_ROWS = 1_000;
/** The most requests of a download. */
const DOWNLOAD_PAGES_MAX = 100;
/** Price changes per request: the API's maximum. */
const CHANGES_MAX = 1_000;
/** The most requests for the price changes of one span. */
const CHANGE_PAGES_MAX = 5;

/**
 * `GET /products`, in the order of the IDs. With the staff token, it returns the archived products
 * instead.
 */
export function getProducts(cursor: string | null, limit: number, token?: string): Promise<Page<ProductName>> {
  const asked = query({ archived: token === undefined ? null : 'true', limit, cursor });
  return requestPage(`/products${asked}`, token === undefined ? {} : authorized(token));
}

/** `GET /products/{id}`. */
export function getProduct(id: string, signal: AbortSignal): Promise<Product> {
  return requestJson(path(id), { signal });
}

/** `GET /products/{id}/prices/summary`. */
export function getSummary(id: string, signal: AbortSignal): Promise<PriceSummary> {
  return requestJson(path(id, 'prices/summary'), { signal });
}

/** The price changes of a span, newest first, and the price in effect before them. */
export interface PriceHistory {
  readonly changes: readonly PriceChange[];
  /** `null` when there was none. */
  readonly before: PriceBefore | null;
  /** The oldest changes are missing because there are too many. */
  readonly isTruncated: boolean;
}

/**
 * `GET /products/{id}/prices`, page by page. With the staff token, the changes include names and
 * reasons.
 */
export async function getHistory(id: string, span: Span, token: string, signal: AbortSignal): Promise<PriceHistory> {
  const request: ApiRequest = { signal, ...(token === '' ? {} : authorized(token)) };
  const range = { ...rangeOf(span), order: 'desc' };
  const changes: PriceChange[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < CHANGE_PAGES_MAX; pages++) {
    const part: Page<PriceChange> = await getChanges(id, { ...range, limit: CHANGES_MAX, cursor }, request);
    changes.push(...part.items);
    cursor = part.cursor ?? null;
    if (cursor === null) break;
  }
  const oldest = changes.at(-1);
  if (cursor !== null) {
    const price = oldest?.previousPrice;
    return { changes, before: price === undefined ? null : { price, sinceMs: null }, isTruncated: true };
  }
  const isFirst = oldest !== undefined && oldest.previousPrice === undefined;
  if (span.fromMs === null || isFirst) return { changes, before: null, isTruncated: false };
  const { items } = await getChanges(id, { to: moment(span.fromMs), order: 'desc', limit: 1 }, request);
  const earlier = items[0];
  return { changes, before: earlier ? { price: earlier.price, sinceMs: earlier.atMs } : null, isTruncated: false };
}

async function getChanges(
  id: string,
  asked: Parameters<typeof query>[0],
  request: ApiRequest,
): Promise<Page<PriceChange>> {
  const rows = await requestPage<Item<'PriceRows'>>(path(id, 'prices') + query(asked), request);
  return dated(rows, ({ createdAt }) => createdAt);
}

/** `GET /products/{id}/statistics`: each UTC day of a range, oldest first. */
export async function getProductDays(id: string, range: DayRange, signal: AbortSignal): Promise<readonly ProductDay[]> {
  return (await requestPage<ProductDay>(path(id, 'statistics') + query({ ...range }), { signal })).items;
}

/** `GET /activities/top`: the most viewed products of the current UTC day, most views first. */
export async function getTopProducts(signal: AbortSignal): Promise<readonly TopProduct[]> {
  return (await requestPage<TopProduct>('/activities/top', { signal })).items;
}

/** `GET /products/{id}/inventory`, newest first. */
export async function getLedger(token: string, id: string, cursor: string | null): Promise<Page<LedgerRow>> {
  const asked = query({ order: 'desc', limit: PAGE_ROWS, cursor });
  const rows = await requestPage<Item<'StockRows'>>(path(id, 'inventory') + asked, authorized(token));
  return dated(rows, ({ createdAt }) => createdAt);
}

/** All rows of a ledger, newest first. */
export interface WholeLedger {
  readonly rows: readonly Item<'StockRows'>[];
  /** The number of rows that the server left out because it could not read them. */
  readonly skipped: number;
  /** The oldest rows are missing because there are too many. */
  readonly isTruncated: boolean;
}

/** `GET /products/{id}/inventory`, page by page. */
export async function getWholeLedger(token: string, id: string): Promise<WholeLedger> {
  const rows: Item<'StockRows'>[] = [];
  let [cursor, skipped]: [string | null, number] = [null, 0];
  for (let pages = 0; pages < DOWNLOAD_PAGES_MAX; pages++) {
    const asked = query({ order: 'desc', limit: DOWNLOAD_ROWS, cursor });
    const part: Page<Item<'StockRows'>> = await requestPage(path(id, 'inventory') + asked, authorized(token));
    rows.push(...part.items);
    skipped += part.skipped ?? 0;
    cursor = part.cursor ?? null;
    if (cursor === null) break;
  }
  return { rows, skipped, isTruncated: cursor !== null };
}

/** `GET /products/{id}/activities` in a span, newest first. */
export async function getActivities(
  token: string,
  id: string,
  span: Span,
  cursor: string | null,
): Promise<Page<Activity>> {
  const asked = query({ ...rangeOf(span), order: 'desc', limit: PAGE_ROWS, cursor });
  const rows = await requestPage<Item<'ActivityPage'>>(path(id, 'activities') + asked, authorized(token));
  return dated(rows, ({ occurredAt }) => occurredAt);
}

/** Checks a token. Fails with {@link ApiError} when it is wrong. */
export async function checkToken(token: string): Promise<void> {
  await requestJson('/products?limit=1', authorized(token));
}

/**
 * `PUT /products/{id}`: creates, changes, archives or restores a product. The request is idempotent
 * without a key.
 */
export function putProduct(token: string, id: string, draft: ProductDraft): Promise<Product> {
  return requestJson(path(id), { method: 'PUT', body: draft, ...authorized(token) });
}

/** `POST /products/{id}/price`. Returns whether the price has changed. */
export async function postPrice(token: string, key: string, id: string, draft: Schema<'NewPrice'>): Promise<boolean> {
  const request = { method: 'POST', body: draft, ...authorized(token, key) } as const;
  return (await requestJson<Schema<'PriceChange'>>(path(id, 'price'), request)).changed;
}

/** `POST /products/{id}/stock`. Returns the new stock. */
export async function postMovement(
  token: string,
  key: string,
  id: string,
  draft: Schema<'NewMovement'>,
): Promise<number> {
  const request = { method: 'POST', body: draft, ...authorized(token, key) } as const;
  return (await requestJson<Schema<'StockRow'>>(path(id, 'stock'), request)).newStock;
}

/** Adds the time of each row in epoch milliseconds. */
function dated<T>(page: Page<T>, timeOf: (row: T) => string): Page<Dated<T>> {
  return { ...page, items: page.items.map((row) => ({ ...row, atMs: momentMs(timeOf(row)) })) };
}

function path(id: string, rest?: string): string {
  return `/products/${encodeURIComponent(id)}${rest === undefined ? '' : `/${rest}`}`;
}

function rangeOf(span: Span): { from: string | null; to: string | null } {
  return { from: moment(span.fromMs), to: span.isOpen ? null : moment(span.toMs) };
}

function moment(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(epochMs).toISOString();
}

function authorized(token: string, key?: string): { headers: Record<string, string> } {
  return { headers: { ...bearer(token), ...(key === undefined ? {} : { 'idempotency-key': key }) } };
}
