/** The requests of the shop's page. Shapes are checked on arrival. */
import { isObject, requestJson, type ApiRequest, type JsonObject } from '../shared/api.ts';
import { count, object, optionalCount, optionalText, page, text, type Page } from '../shared/decode.ts';
import { momentMs } from '../shared/format.ts';
import type { PriceBefore, PriceChange, Span } from './steps.ts';

/** A product as lists name it. */
export interface ProductName {
  readonly id: string;
  readonly name: string;
}

/** A product as it stands. */
export interface Product extends ProductName {
  /** Minor units. */
  readonly price: number;
  /** ISO 4217. */
  readonly currency: string;
  /** The goods that are there, and those of them that orders are promised. */
  readonly stock: number;
  readonly reserved: number;
  readonly available: number;
  /** From this stock on it is low; with 0 never before all is gone. */
  readonly lowStockThreshold: number;
  /** Grows with every change. */
  readonly version: number;
  /** Since when it is archived, epoch milliseconds; `null` when it is not. */
  readonly archivedMs: number | null;
}

/** A price and when it was in effect. */
export interface PriceSince {
  readonly price: number;
  /** Epoch milliseconds; `null` when the API does not say. */
  readonly sinceMs: number | null;
}

/** What matters of a product's whole history of prices. */
export interface PriceSummary {
  readonly current: PriceSince;
  /** Of the last 30 days, the price that was in effect at their beginning included. */
  readonly lowest30Days: PriceSince;
  /** The lowest of the 30 days before the current price came; `null` for a first price. */
  readonly priorLowest: PriceSince | null;
  readonly allTimeLow: PriceSince;
  readonly allTimeHigh: PriceSince;
}

/** How goods move. */
export const MOVEMENTS = ['IN', 'OUT', 'ADJUST', 'COUNT'] as const;
export type MovementType = (typeof MOVEMENTS)[number];

/** A line of the ledger. */
export interface LedgerRow {
  readonly id: string;
  readonly atMs: number;
  readonly type: string;
  /** By how many, with its sign. */
  readonly quantity: number;
  readonly previousStock: number;
  readonly newStock: number;
  readonly reason: string | null;
  readonly orderId: string | null;
  readonly changedBy: string | null;
}

/** Something that somebody did with a product. */
export interface Activity {
  readonly id: string;
  readonly atMs: number;
  readonly userId: string;
  readonly action: string;
  readonly attributes: readonly (readonly [string, string])[];
}

/** A product to be created, or what is to be changed of one: then without price and stock, which leave lines in ledgers. What is left out stays. */
export interface ProductDraft {
  readonly name: string;
  readonly lowStockThreshold?: number;
  readonly archived?: boolean;
  readonly price?: number;
  readonly currency?: string;
  readonly stock?: number;
  readonly changedBy?: string;
}

/** A new price. Texts that are left out are unknown. */
export interface PriceDraft {
  readonly price: number;
  readonly currency: string;
  readonly reason?: string;
  readonly changedBy?: string;
}

/** A movement of goods. */
export interface MovementDraft {
  readonly type: MovementType;
  readonly quantity: number;
  readonly reason?: string;
  readonly changedBy?: string;
  readonly orderId?: string;
}

/** Rows of a ledger, or activities, per page. */
const PAGE_ROWS = 25;
/** Changes of a price per request, the most that the API gives. */
const CHANGES_MAX = 1_000;
/** Requests for the changes of one span. */
const CHANGE_PAGES_MAX = 5;

/** `GET /products`: by id. With the staff's token, those that are archived. */
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

/** The changes of a span, newest first, and the price that was in effect before them. */
export interface History {
  readonly changes: readonly PriceChange[];
  /** `null` when there was none. */
  readonly before: PriceBefore | null;
  /** There are more changes than were read: the oldest are missing. */
  readonly isCut: boolean;
}

/** `GET /products/{id}/prices`, page by page. With the admin's token the changes tell who and why. */
export async function getHistory(id: string, span: Span, token: string, signal: AbortSignal): Promise<History> {
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
    return { changes, before: price === null ? null : { price, sinceMs: null }, isCut: true };
  }
  if (span.fromMs === null || oldest?.previousPrice === null) return { changes, before: null, isCut: false };
  const asked = query({ to: moment(span.fromMs), order: 'desc', limit: 1 });
  const earlier = page(await requestJson(`${path(id, 'prices')}?${asked}`, request), priceChange).items[0];
  return { changes, before: earlier ? { price: earlier.price, sinceMs: earlier.atMs } : null, isCut: false };
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

/** `GET /products/{id}/activities` of a span, newest first. */
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

/** Asks whether a token is right. Fails with an {@link ApiError} when it is not. */
export async function checkToken(token: string): Promise<void> {
  await requestJson('/products?limit=1', authorized(token));
}

/** `PUT /products/{id}`: makes a product, changes its name and threshold, archives or restores it. Idempotent by nature. */
export async function putProduct(token: string, id: string, draft: ProductDraft): Promise<Product> {
  return product(await requestJson(path(id), { method: 'PUT', body: draft, ...authorized(token) }));
}

/** `POST /products/{id}/price`. Gives whether the price was another one before. */
export async function postPrice(token: string, key: string, id: string, draft: PriceDraft): Promise<boolean> {
  const body = await requestJson(path(id, 'price'), { method: 'POST', body: draft, ...authorized(token, key) });
  return body['changed'] !== false;
}

/** `POST /products/{id}/stock`. Gives the stock after it; `null` when the answer does not say. */
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
