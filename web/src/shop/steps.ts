/** The price of a product as steps: each holds until the next. */

/** A price that was set. */
export interface PriceChange {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** Minor units. */
  readonly price: number;
  /** `null` for a product's first price. */
  readonly previousPrice: number | null;
  readonly currency: string;
  /** For who holds the admin's token. */
  readonly reason: string | null;
  readonly changedBy: string | null;
}

/** A time with an end and perhaps a beginning, in epoch milliseconds; half open. */
export interface Span {
  readonly fromMs: number | null;
  readonly toMs: number;
  /** The end is now, and moves on. The server's now may be a little later than this browser's. */
  readonly isOpen: boolean;
}

/** The price that was in effect when a span began. */
export interface PriceBefore {
  readonly price: number;
  /** Since when, in epoch milliseconds; `null` when that was not read. */
  readonly sinceMs: number | null;
}

/** The price from a moment on. */
export interface Step {
  /** Where the step begins in its span. */
  readonly atMs: number;
  readonly price: number;
  /** Since when the price was in effect, which may lie before the span; `null` when that is not known. */
  readonly sinceMs: number | null;
}

/** The lowest price of some steps, and when it was in effect last. */
export interface Lowest {
  readonly price: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The steps within a span, oldest first: from its beginning (or the first price) to its end. `changes` are those of the span, newest
 * first; `before` is the price that was in effect when it began. Empty when there was no price yet.
 */
export function stepsWithin(
  span: Omit<Span, 'isOpen'>,
  changes: readonly PriceChange[],
  before: PriceBefore | null,
): readonly Step[] {
  const steps: Step[] = changes.toReversed().map(({ atMs, price }) => ({ atMs, price, sinceMs: atMs }));
  if (before !== null && span.fromMs !== null) steps.unshift({ atMs: span.fromMs, ...before });
  const last = steps.at(-1);
  if (last && last.atMs < span.toMs) steps.push({ ...last, atMs: span.toMs });
  return steps;
}

/** The lowest of steps that {@link stepsWithin} made; of equal ones the latest run. `null` for none. */
export function lowestOf(steps: readonly Step[]): Lowest | null {
  if (steps.length === 0) return null;
  const price = Math.min(...steps.map((step) => step.price));
  const until = steps.findLastIndex((step) => step.price === price);
  let from = until;
  while (steps[from - 1]?.price === price) from -= 1;
  return { price, fromMs: steps[from]!.atMs, untilMs: (steps[until + 1] ?? steps[until])!.atMs };
}

/** The step in effect at a moment: its place, or 0 before the first. */
export function stepAt(steps: readonly Step[], atMs: number): number {
  return Math.max(
    0,
    steps.findLastIndex((step) => step.atMs <= atMs),
  );
}

/** By how much a price changed, as a share of the one before; `null` where there is none to compare with. */
export function shareOf(change: PriceChange): number | null {
  return change.previousPrice === null || change.previousPrice === 0 ? null : change.price / change.previousPrice - 1;
}
