/** The requests of the shop page. */
import { isObject, requestJson, type ApiRequest, type JsonObject } from '../shared/api.ts';
import { count, object, optionalCount, optionalText, page, text, type Page } from '../shared/decode.ts';
import type { DayRange } from '../shared/days.ts';
import { momentMs } from '../shared/format.ts';
import type { PriceBefore, PriceChange, Span } from './steps.ts';

/** A product in a list. */
export interface ProductName {
  readonly id: string;
  readonly name: string;
}

/** The current state of a product. */
export interface Product extends ProductName {
  /** Minor units. */
  readonly price: number;
  /** ISO 4217. */
  readonly currency: string;
  /** `stock` includes the goods that are `reserved` for orders. */
  readonly stock: number;
  readonly reserved: number;
  readonly available: number;
  /** The stock is low at this number or below; 0 turns this off. */
  readonly lowStockThreshold: number;
  /** Incremented by every change. */
  readonly version: number;
  /** The time of archiving in epoch milliseconds; `null` for a product that is not archived. */
  readonly archivedMs: number | null;
}

/** A price and the time from which it was in effect. */
export interface PriceSince {
  readonly price: number;
  /** Epoch milliseconds; `null` when the API does not return it. */
  readonly sinceMs: number | null;
}

/** The reference prices of a product. */
export interface PriceSummary {
  readonly current: PriceSince;
  /** The lowest price of the last 30 days, including the price in effect at their beginning. */
  readonly lowest30Days: PriceSince;
  /** The lowest price of the 30 days before the current price; `null` for a first price. */
  readonly priorLowest: PriceSince | null;
  readonly allTimeLow: PriceSince;
  readonly allTimeHigh: PriceSince;
}

/** The types of stock movements. */
export const MOVEMENTS = ['IN', 'OUT', 'ADJUST', 'COUNT'] as const;
export type MovementType = (typeof MOVEMENTS)[number];

/** A row of the stock ledger. */
export interface LedgerRow {
  readonly id: string;
  readonly atMs: number;
  readonly type: string;
  /** The change of the stock, with its sign. */
  readonly quantity: number;
  readonly previousStock: number;
  readonly newStock: number;
  readonly reason: string | null;
  readonly orderId: string | null;
  readonly changedBy: string | null;
}

/** An action of a user on a product. */
export interface Activity {
  readonly id: string;
  readonly atMs: number;
  readonly userId: string;
  readonly action: string;
  readonly attributes: readonly (readonly [string, string])[];
}

/** The views, visitors and purchases of a product. */
export interface VisitCounts {
  readonly views: number;
  readonly visitors: number;
  readonly purchases: number;
}

/** The counts of a UTC day. */
export interface ProductDay extends VisitCounts {
  readonly date: string;
}

/** The counts of a product that is viewed often. */
export interface TopProduct extends VisitCounts {
  readonly id: string;
}

/**
 * A product to create, or the changes to a product. A change contains no price and no stock,
 * because these are recorded in ledgers by their own requests. Omitted members stay unchanged.
 */
export interface ProductDraft {
  readonly name: string;
  readonly lowStockThreshold?: number;
  readonly archived?: boolean;
  readonly price?: number;
  readonly currency?: string;
  readonly stock?: number;
  readonly changedBy?: string;
}

/** A new price. */
export interface PriceDraft {
  readonly price: number;
  readonly currency: string;
  readonly reason?: string;
  readonly changedBy?: string;
}

/** A stock movement. */
export interface MovementDraft {
  readonly type: MovementType;
  readonly quantity: number;
  readonly reason?: string;
  readonly changedBy?: string;
  readonly orderId?: string;
}

/** Rows of a ledger, or activities, per page. */
const PAGE_ROWS = 25;
/** Price changes per request: the API's maximum. */
const CHANGES_MAX = 1_000;
/** The most requests for the price changes of one span. */
const CHANGE_PAGES_MAX = 5;

/**
 * `GET /products`, in the order of the IDs. With the staff token, it returns the archived products
 * instead.
 */
export async function getProducts(cursor: string | null, limit: number, token?: string): Promise<Page<ProductName>> {
  const asked = query({ archived: token === undefined ? null : 'true', limit, cursor });
  const body = await requestJson(`/products?${asked}`, token === undefined ? {} : authorized(token));
  return page(body, (item) => ({ id: text(item, 'id'), name: text(item, 'name') }));
}

/** `GET /products/{id}`. */
export async function getProduct(id: string, signal: AbortSignal): Promise<Product> {
  return product(await requestJson(path(id), { signal }));
}

/** `GET /products/{id}/prices/summary`. */
export async function getSummary(id: string, signal: AbortSignal): Promise<PriceSummary> {
  const body = await requestJson(path(id, 'prices/summary'), { signal });
  const since = (name: string): PriceSince => {
    const part = object(body, name);
    const at = optionalText(part, 'since') ?? optionalText(part, 'at');
    return { price: count(part, 'price'), sinceMs: at === null ? null : momentMs(at) };
  };
  return {
    current: since('current'),
    lowest30Days: since('lowest30Days'),
    priorLowest: isObject(body['priorLowest30Days']) ? since('priorLowest30Days') : null,
    allTimeLow: since('allTimeLow'),
    allTimeHigh: since('allTimeHigh'),
  };
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
  const range = { from: moment(span.fromMs), to: span.isOpen ? null : moment(span.toMs), order: 'desc' };
  const changes: PriceChange[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < CHANGE_PAGES_MAX; pages++) {
    const asked = query({ ...range, limit: CHANGES_MAX, cursor });
    const part: Page<PriceChange> = page(await requestJson(`${path(id, 'prices')}?${asked}`, request), priceChange);
    changes.push(...part.items);
    cursor = part.cursor;
    if (cursor === null) break;
  }
  const oldest = changes.at(-1);
  if (cursor !== null) {
    const price = oldest?.previousPrice ?? null;
    return { changes, before: price === null ? null : { price, sinceMs: null }, isTruncated: true };
  }
  if (span.fromMs === null || oldest?.previousPrice === null) return { changes, before: null, isTruncated: false };
  const asked = query({ to: moment(span.fromMs), order: 'desc', limit: 1 });
  const earlier = page(await requestJson(`${path(id, 'prices')}?${asked}`, request), priceChange).items[0];
  return { changes, before: earlier ? { price: earlier.price, sinceMs: earlier.atMs } : null, isTruncated: false };
}

/** `GET /products/{id}/statistics`: each UTC day of a range, oldest first. */
export async function getProductDays(id: string, range: DayRange, signal: AbortSignal): Promise<readonly ProductDay[]> {
  const body = await requestJson(`${path(id, 'statistics')}?${query({ ...range })}`, { signal });
  return page(body, (item) => ({ date: text(item, 'date'), ...visitCounts(item) })).items;
}

/** `GET /activities/top`: the most viewed products of the current UTC day, most views first. */
export async function getTopProducts(signal: AbortSignal): Promise<readonly TopProduct[]> {
  const body = await requestJson('/activities/top', { signal });
  return page(body, (item) => ({ id: text(item, 'productId'), ...visitCounts(item) })).items;
}

/** `GET /products/{id}/inventory`, newest first. */
export async function getLedger(token: string, id: string, cursor: string | null): Promise<Page<LedgerRow>> {
  const asked = query({ order: 'desc', limit: PAGE_ROWS, cursor });
  const body = await requestJson(`${path(id, 'inventory')}?${asked}`, authorized(token));
  return page(body, (item) => ({
    id: text(item, 'id'),
    atMs: momentMs(text(item, 'createdAt')),
    type: text(item, 'type'),
    quantity: count(item, 'quantity'),
    previousStock: count(item, 'previousStock'),
    newStock: count(item, 'newStock'),
    reason: optionalText(item, 'reason'),
    orderId: optionalText(item, 'orderId'),
    changedBy: optionalText(item, 'changedBy'),
  }));
}

/** `GET /products/{id}/activities` in a span, newest first. */
export async function getActivities(
  token: string,
  id: string,
  span: Span,
  cursor: string | null,
): Promise<Page<Activity>> {
  const asked = query({
    from: moment(span.fromMs),
    to: span.isOpen ? null : moment(span.toMs),
    order: 'desc',
    limit: PAGE_ROWS,
    cursor,
  });
  const body = await requestJson(`${path(id, 'activities')}?${asked}`, authorized(token));
  return page(body, (item) => ({
    id: text(item, 'id'),
    atMs: momentMs(text(item, 'occurredAt')),
    userId: text(item, 'userId'),
    action: text(item, 'action'),
    attributes: Object.entries(object(item, 'attributes')).map(([name, value]) => [name, String(value)] as const),
  }));
}

/** Checks a token. Fails with {@link ApiError} when it is wrong. */
export async function checkToken(token: string): Promise<void> {
  await requestJson('/products?limit=1', authorized(token));
}

/**
 * `PUT /products/{id}`: creates, changes, archives or restores a product. The request is idempotent
 * without a key.
 */
export async function putProduct(token: string, id: string, draft: ProductDraft): Promise<Product> {
  return product(await requestJson(path(id), { method: 'PUT', body: draft, ...authorized(token) }));
}

/** `POST /products/{id}/price`. Returns whether the price has changed. */
export async function postPrice(token: string, key: string, id: string, draft: PriceDraft): Promise<boolean> {
  const body = await requestJson(path(id, 'price'), { method: 'POST', body: draft, ...authorized(token, key) });
  return body['changed'] !== false;
}

/** `POST /products/{id}/stock`. Returns the new stock; `null` when it is not in the response. */
export async function postMovement(
  token: string,
  key: string,
  id: string,
  draft: MovementDraft,
): Promise<number | null> {
  const body = await requestJson(path(id, 'stock'), { method: 'POST', body: draft, ...authorized(token, key) });
  return optionalCount(body, 'newStock');
}

function product(body: JsonObject): Product {
  const archivedAt = optionalText(body, 'archivedAt');
  return {
    id: text(body, 'id'),
    name: text(body, 'name'),
    price: count(body, 'price'),
    currency: text(body, 'currency'),
    stock: count(body, 'stock'),
    reserved: count(body, 'reserved'),
    available: count(body, 'available'),
    lowStockThreshold: optionalCount(body, 'lowStockThreshold') ?? 0,
    version: count(body, 'version'),
    archivedMs: archivedAt === null ? null : momentMs(archivedAt),
  };
}

function visitCounts(item: JsonObject): VisitCounts {
  return { views: count(item, 'views'), visitors: count(item, 'visitors'), purchases: count(item, 'purchases') };
}

function priceChange(item: JsonObject): PriceChange {
  return {
    id: text(item, 'id'),
    atMs: momentMs(text(item, 'createdAt')),
    price: count(item, 'price'),
    previousPrice: optionalCount(item, 'previousPrice'),
    currency: text(item, 'currency'),
    reason: optionalText(item, 'reason'),
    changedBy: optionalText(item, 'changedBy'),
  };
}

function path(id: string, rest?: string): string {
  return `/products/${encodeURIComponent(id)}${rest === undefined ? '' : `/${rest}`}`;
}

function query(parameters: Readonly<Record<string, string | number | null>>): URLSearchParams {
  return new URLSearchParams(
    Object.entries(parameters).flatMap(([name, value]) => (value === null ? [] : [[name, String(value)]])),
  );
}

function moment(epochMs: number | null): string | null {
  return epochMs === null ? null : new Date(epochMs).toISOString();
}

function authorized(token: string, key?: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${token}`, ...(key === undefined ? {} : { 'idempotency-key': key }) } };
}
