/**
 * Browser storage, which may be blocked or full. Then reading returns `null` and writing does
 * nothing.
 */

/** One named string in `localStorage` (kept) or `sessionStorage` (until the tab closes). */
export class StoredText {
  constructor(
    private readonly area: 'localStorage' | 'sessionStorage',
    private readonly key: string,
  ) {}

  /** The stored text; `null` when there is none or storage is blocked. */
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
      // Private windows may block storage; the page then works without it.
    }
  }
}
