/** The price of a product as steps: each price is in effect until the next one. */

import type { PriceChange } from './api.ts';

/** A half-open time span in epoch milliseconds. Without `fromMs` it begins with the first price. */
export interface Span {
  readonly fromMs: number | null;
  readonly toMs: number;
  /**
   * The span ends now. Its end is not sent, because the server's clock may be a little ahead of
   * this browser's.
   */
  readonly isOpen: boolean;
}

/** The price that was in effect when a span began. */
export interface PriceBefore {
  readonly price: number;
  /** The start in epoch milliseconds; `null` when it was not read. */
  readonly sinceMs: number | null;
}

/** A price from a point in time on. */
export interface Step {
  /** The beginning of the step within the span. */
  readonly atMs: number;
  readonly price: number;
  /**
   * The time from which the price was in effect, which may be before the span; `null` when unknown.
   */
  readonly sinceMs: number | null;
}

/** The lowest price of a span, and the last period in which it was in effect. */
export interface Lowest {
  readonly price: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The steps of a span, oldest first, from its beginning (or the first price) to its end. `changes`
 * are the price changes in the span, newest first; `before` is the price in effect when it began.
 * Empty when there was no price yet.
 */
export function stepsWithin(
  span: Omit<Span, 'isOpen'>,
  changes: readonly Pick<PriceChange, 'atMs' | 'price'>[],
  before: PriceBefore | null,
): readonly Step[] {
  const steps: Step[] = changes.toReversed().map(({ atMs, price }) => ({ atMs, price, sinceMs: atMs }));
  if (before !== null && span.fromMs !== null) steps.unshift({ atMs: span.fromMs, ...before });
  const last = steps.at(-1);
  if (last && last.atMs < span.toMs) steps.push({ ...last, atMs: span.toMs });
  return steps;
}

/**
 * The lowest price of steps from {@link stepsWithin}. If it occurs several times, the latest
 * period; `null` without steps.
 */
export function lowestOf(steps: readonly Step[]): Lowest | null {
  if (steps.length === 0) return null;
  const price = Math.min(...steps.map((step) => step.price));
  const until = steps.findLastIndex((step) => step.price === price);
  let from = until;
  while (steps[from - 1]?.price === price) from -= 1;
  return { price, fromMs: steps[from]!.atMs, untilMs: (steps[until + 1] ?? steps[until])!.atMs };
}

/** The index of the step in effect at a time; 0 before the first step. */
export function stepAt(steps: readonly Step[], atMs: number): number {
  return Math.max(
    0,
    steps.findLastIndex((step) => step.atMs <= atMs),
  );
}

/** The relative change of a price; `null` when the previous price is missing or 0. */
export function shareOf({ price, previousPrice }: Pick<PriceChange, 'price' | 'previousPrice'>): number | null {
  return previousPrice ? price / previousPrice - 1 : null;
}
