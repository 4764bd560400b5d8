/** What the start page reads of each system: little, and only what everybody may see. */
import { getDays, type Stat } from '../clicks/api.ts';
import { serverNowMs } from '../shared/clock.ts';
import { dayOf, lastDays } from '../shared/days.ts';
import type { Page } from '../shared/decode.ts';
import { getEntries } from '../lately/api.ts';
import type { Entry } from '../lately/entries.ts';
import { getProduct, getProducts, getSummary, type Product } from '../shop/api.ts';

/** The days of the tide line. */
const TIDE_DAYS = 30;
/** Products among which one is chosen for the day; the same page tells the journal their names. */
const PRODUCTS_MAX = 50;
/** Entries of the journal. */
const ENTRIES_MAX = 3;

const DAY_MS = 86_400_000;

/** The last days' clicks, oldest first, today at the end. */
export function readTide(signal: AbortSignal): Promise<readonly Stat[]> {
  return getDays(lastDays(dayOf(serverNowMs()), TIDE_DAYS), signal);
}

/** The shop, as far as it is shown. */
export interface Window {
  /** Names of products, by id. */
  readonly names: ReadonlyMap<string, string>;
  /** The product of the day; `null` when there is none. */
  readonly product: Product | null;
  /** Its lowest price of thirty days, minor units. */
  readonly lowest: number | null;
}

/** The first products, and one of them more closely: each day another. */
export async function readWindow(signal: AbortSignal): Promise<Window> {
  const { items } = await getProducts(null, PRODUCTS_MAX);
  const names = new Map(items.map(({ id, name }) => [id, name]));
  const chosen = items[Math.floor(serverNowMs() / DAY_MS) % Math.max(items.length, 1)];
  if (!chosen) return { names, product: null, lowest: null };
  const [product, summary] = await Promise.all([getProduct(chosen.id, signal), getSummary(chosen.id, signal)]);
  return { names, product, lowest: summary.lowest30Days.price };
}

/** The newest entries of the journal. */
export async function readNews(signal: AbortSignal): Promise<readonly Entry[]> {
  const page: Page<Entry> = await getEntries(null, signal);
  return page.items.slice(0, ENTRIES_MAX);
}
