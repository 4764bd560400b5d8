/** Exponential backoff with jitter, so that many browsers do not retry at the same time. */

/** The limits of a backoff. */
export interface Backoff {
  /** The first delay, before jitter. */
  readonly firstMs: number;
  /** The longest delay. */
  readonly maxMs: number;
}

/**
 * The delay after `failures` consecutive failures (at least 1). `random` is in 0..1 and selects a
 * delay between 50% and 100% of the nominal one.
 */
export function backoffMs(shape: Backoff, failures: number, random: number): number {
  const nominal = Math.min(shape.maxMs, shape.firstMs * 2 ** (failures - 1));
  return Math.round(nominal * (0.5 + random / 2));
}
