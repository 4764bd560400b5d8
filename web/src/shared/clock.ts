/**
 * The server's clock, as far as a browser can know it.
 *
 * A click's key carries the time at which it was made and the server refuses keys that are minutes off, so a laptop with a wrong
 * clock must still be able to click. Every answer's `Date` header says how far apart the clocks are.
 */

/** Differences below this are the header's one-second grain and the network, not a wrong clock. */
const SKEW_MIN_MS = 5_000;

/** The `Date` header has whole seconds, so it is half a second early on average. */
const DATE_HEADER_GRAIN_MS = 1_000;

let skewMs = 0;

/** Learns from the `Date` header of an answer that was received at `receivedMs` (epoch, this machine's clock). */
export function observeServerDate(header: string | null, receivedMs: number): void {
  const serverMs = Date.parse(header ?? '');
  if (Number.isNaN(serverMs)) return;
  const difference = serverMs + DATE_HEADER_GRAIN_MS / 2 - receivedMs;
  skewMs = Math.abs(difference) < SKEW_MIN_MS ? 0 : difference;
}

/** Now, in epoch milliseconds of the server's clock. */
export function serverNowMs(): number {
  return Date.now() + skewMs;
}
