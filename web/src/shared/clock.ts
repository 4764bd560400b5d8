/**
 * Estimates the server's clock from the `Date` header of its responses.
 *
 * An idempotency key of a click contains a time, and the server rejects a key whose time is minutes
 * off. Without this correction, a computer with a wrong clock could not click.
 */

/**
 * Smaller differences come from the header's one-second resolution and from the network, not from a
 * wrong clock.
 */
const SKEW_MIN_MS = 5_000;

/**
 * The `Date` header has a resolution of one second, so that it is half a second early on average.
 */
const DATE_HEADER_GRAIN_MS = 1_000;

let skewMs = 0;

/**
 * Updates the estimate from a `Date` header. `receivedMs` is the local epoch time at which the
 * response arrived.
 */
export function observeServerDate(header: string | null, receivedMs: number): void {
  const serverMs = Date.parse(header ?? '');
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs + DATE_HEADER_GRAIN_MS / 2 - receivedMs;
  skewMs = Math.abs(difference) < SKEW_MIN_MS ? 0 : difference;
}

/** The current time of the server's clock, in epoch milliseconds. */
export function serverNowMs(): number {
  return Date.now() + skewMs;
}
