/** The requests of the start page. They need no token. */
import { getDays, type Stat } from '../clicks/api.ts';
import { serverNowMs } from '../shared/clock.ts';
import { dayOf, lastDays } from '../shared/days.ts';
import { getEntries, type Entry } from '../journal/api.ts';
import { getProduct, getProducts, getSummary, type Product } from '../shop/api.ts';

/** The number of days in the chart of clicks. */
const CLICK_DAYS = 30;
/**
 * The product of the day is one of the first products. The same list gives the events their product
 * names.
 */
const PRODUCTS_MAX = 50;
/** The number of events. */
const ENTRIES_MAX = 3;

const DAY_MS = 86_400_000;

/** The clicks of the last days, oldest first, today last. */
export function readDailyClicks(signal: AbortSignal): Promise<readonly Stat[]> {
  return getDays(lastDays(dayOf(serverNowMs()), CLICK_DAYS), signal);
}

/** The data of the shop that the start page shows. */
export interface ShopPreview {
  /** Product names by ID. */
  readonly names: ReadonlyMap<string, string>;
  /** The product of the day; `null` when there is none. */
  readonly product: Product | null;
  /** The lowest price of the product of the day in the last 30 days, in minor units. */
  readonly lowest: number | null;
}

/** Reads the names of the first products and the details of one, which changes every day. */
export async function readShopPreview(signal: AbortSignal): Promise<ShopPreview> {
  const { items } = await getProducts(null, PRODUCTS_MAX);
  const names = new Map(items.map(({ id, name }) => [id, name]));
  const chosen = items[Math.floor(serverNowMs() / DAY_MS) % Math.max(items.length, 1)];
  if (!chosen) return { names, product: null, lowest: null };
  const [product, summary] = await Promise.all([getProduct(chosen.id, signal), getSummary(chosen.id, signal)]);
  return { names, product, lowest: summary.lowest30Days.price };
}

/** The newest entries of the journal. */
export async function readNewestEntries(signal: AbortSignal): Promise<readonly Entry[]> {
  return (await getEntries(null, signal)).items.slice(0, ENTRIES_MAX);
}
