/** How long to wait before trying again: exponential, capped, with jitter so that many browsers do not return in step. */

/** Shape of a backoff. */
export interface Backoff {
  /** The first wait, before jitter. */
  readonly firstMs: number;
  /** No wait is longer. */
  readonly maxMs: number;
}

/** The wait after `failures` failures in a row (1 or more); `random` is in 0..1. Between half and all of the nominal wait. */
export function backoffMs(shape: Backoff, failures: number, random: number): number {
  const nominal = Math.min(shape.maxMs, shape.firstMs * 2 ** (failures - 1));
  return Math.round(nominal * (0.5 + random / 2));
}
