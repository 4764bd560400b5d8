/**
 * Estimates which of this browser's stored clicks the statistics already include.
 *
 * The total does not say whose clicks it contains. A click is treated as counted when the total has
 * risen by at least the clicks that this browser sent since then. Clicks of other visitors can make
 * this a moment too early. It never happens before the server has stored the click, and the figures
 * on the page are always those of the server.
 */

/** The page stops waiting after this time. The click is stored and will be counted later. */
export const WAIT_MAX_MS = 20_000;

interface StoredEntry {
  readonly clickCount: number;
  readonly storedAtMs: number;
}

/** Compares the total with the clicks of this browser. */
export class Counting {
  #total: number | null = null;
  /** The total before the waiting clicks; `null` when no click is waiting. */
  #base: number | null = null;
  #unsent = 0;
  #stored: readonly StoredEntry[] = [];

  /** The number of clicks that are stored but not counted yet. */
  get waiting(): number {
    return this.#stored.reduce((sum, entry) => sum + entry.clickCount, 0);
  }

  /**
   * Sets the number of unsent clicks. The server may already count such a click before its response
   * arrives.
   */
  underWay(clicks: number): void {
    this.#unsent = clicks;
    this.#rebase();
  }

  /**
   * Reports a stored click. Call it before {@link underWay} with the reduced number, or the base
   * would be lost.
   */
  stored(clickCount: number, nowMs: number): void {
    this.#stored = [...this.#stored, { clickCount, storedAtMs: nowMs }];
  }

  /** Reports a new total. Returns the number of clicks that it newly includes. */
  observe(total: number, nowMs: number): number {
    this.#total = total;
    this.#rebase();
    let counted = 0;
    while (this.#base !== null) {
      const first = this.#stored[0];
      if (first === undefined || total - this.#base < first.clickCount) break;
      this.#base += first.clickCount;
      this.#stored = this.#stored.slice(1);
      counted += first.clickCount;
    }
    this.#stored = this.#stored.filter((entry) => nowMs - entry.storedAtMs < WAIT_MAX_MS);
    this.#rebase();
    return counted;
  }

  /**
   * Sets the base to the last total, or the next one if there is none, when clicks begin to wait.
   * Clears it when none waits.
   */
  #rebase(): void {
    if (this.#unsent === 0 && this.#stored.length === 0) this.#base = null;
    else this.#base ??= this.#total;
  }
}
