/** A list that is read page by page, as reactive state. */
import { asApiError, type ApiError, type Page } from './api.ts';

/** Reads the page at a cursor; `null` is the first page. */
export type ReadPage<T> = (cursor: string | null) => Promise<Page<T>>;

/** The pages of one query that have been read so far. */
export class PagedList<T> {
  /** `null` before the first page. */
  items = $state.raw<readonly T[] | null>(null);
  /** The number of rows that the server left out because it could not read them. */
  skipped = $state(0);
  /** Why the last page could not be read. The pages before it stay in `items`. */
  error = $state.raw<ApiError | null>(null);
  /** A page is being read. */
  busy = $state(false);
  #query = $state.raw<ReadPage<T> | null>(null);
  #cursor = $state.raw<string | null>(null);
  #pages = 0;
  /** The pages that are read, with the one that is asked for. */
  #wanted = 0;
  /** Whether the last read began at the first page. */
  #isAnew = true;
  #attempts = 0;

  /** Whether there are more pages. */
  readonly hasMore = $derived(this.#cursor !== null);

  /** Starts a new query and reads its first page. */
  async ask(query: ReadPage<T>): Promise<void> {
    this.clear();
    this.#query = query;
    await this.#read(1, true);
  }

  /** Reads the next page, or retries the read that failed. */
  async more(): Promise<void> {
    if (this.busy) return;
    await (this.error ? this.#read(this.#wanted, this.#isAnew) : this.#read(this.#pages + 1, false));
  }

  /** Reads all its pages again, and replaces them at once. If that fails, they stay. */
  async again(): Promise<void> {
    await this.#read(this.#wanted, true);
  }

  /** Empties the list. A response that is still to come is ignored. */
  clear(): void {
    this.#attempts += 1;
    this.#query = null;
    this.#cursor = null;
    this.#pages = 0;
    this.items = null;
    this.skipped = 0;
    this.error = null;
    this.busy = false;
  }

  async #read(wanted: number, isAnew: boolean): Promise<void> {
    const query = this.#query;
    if (query === null) return;
    const attempt = ++this.#attempts;
    this.#wanted = wanted;
    this.#isAnew = isAnew;
    this.busy = true;
    this.error = null;
    let [items, skipped, cursor, pages] = isAnew
      ? [[], 0, null, 0]
      : [this.items ?? [], this.skipped, this.#cursor, this.#pages];
    try {
      do {
        const page: Page<T> = await query(cursor);
        if (attempt !== this.#attempts) return;
        items = [...items, ...page.items];
        skipped += page.skipped ?? 0;
        cursor = page.cursor ?? null;
        pages += 1;
      } while (pages < wanted && cursor !== null);
      this.items = items;
      this.skipped = skipped;
      this.#cursor = cursor;
      this.#pages = pages;
    } catch (failure) {
      if (attempt !== this.#attempts) return;
      this.error = asApiError(failure);
    }
    this.busy = false;
  }
}
