/**
 * Which of this browser's stored clicks the statistics include by now.
 *
 * The total does not say whose clicks it holds. So a click passes for counted once the total has risen, since the click was made,
 * by at least as much as this browser sent. With many visitors at once that can be a moment early; it is never shown before the
 * server has stored the click, and the numbers on the page are always the server's own.
 */

/** A click that is not seen in the total for this long is no longer waited for: stored it is, and it will be counted. */
export const WAIT_MAX_MS = 20_000;

interface StoredEntry {
  readonly clickCount: number;
  readonly storedAtMs: number;
}

/** Follows the total. */
export class Counting {
  #total: number | null = null;
  /** The total from which the waiting clicks rise; `null` while nothing is under way. */
  #base: number | null = null;
  #unsent = 0;
  #stored: readonly StoredEntry[] = [];

  /** How many clicks are stored and not yet seen in the total. */
  get waiting(): number {
    return this.#stored.reduce((sum, entry) => sum + entry.clickCount, 0);
  }

  /** How many clicks are on their way: while there are any, the total may rise because of them. */
  underWay(clicks: number): void {
    this.#unsent = clicks;
    this.#rebase();
  }

  /** A click is stored. To be told before {@link underWay} no longer counts it. */
  stored(clickCount: number, nowMs: number): void {
    this.#stored = [...this.#stored, { clickCount, storedAtMs: nowMs }];
  }

  /** A total was read. Gives how many clicks it newly includes. */
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

  /** The first click under way fixes the base at the last total (or, before any was read, at the first to come); the last frees it. */
  #rebase(): void {
    if (this.#unsent === 0 && this.#stored.length === 0) this.#base = null;
    else this.#base ??= this.#total;
  }
}
