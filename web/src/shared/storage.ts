/** Browser storage that may be forbidden, full or edited by hand: reading gives `null`, writing is best effort. */

/** One named string in `localStorage` (kept) or `sessionStorage` (until the tab closes). */
export class StoredText {
  constructor(
    private readonly area: 'localStorage' | 'sessionStorage',
    private readonly key: string,
  ) {}

  /** The stored text, or `null` when there is none or the browser refuses. */
  read(): string | null {
    try {
      return globalThis[this.area].getItem(this.key);
    } catch {
      return null;
    }
  }

  /** Stores the text; `null` removes it. */
  write(text: string | null): void {
    try {
      if (text === null) globalThis[this.area].removeItem(this.key);
      else globalThis[this.area].setItem(this.key, text);
    } catch {
      // Private windows may refuse: the page then works without a memory.
    }
  }
}
