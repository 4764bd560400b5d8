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

  /** Whether there are more pages. */
  readonly hasMore = $derived(this.#cursor !== null);

  /** Starts a new query and reads its first page. */
  async ask(query: ReadPage<T>): Promise<void> {
    this.clear();
    this.#query = query;
    await this.#read(query);
  }

  /** Reads the next page, or retries the one that failed. */
  async more(): Promise<void> {
    if (this.#query !== null && !this.busy) await this.#read(this.#query);
  }

  /** Empties the list. A response that is still to come is ignored. */
  clear(): void {
    this.#query = null;
    this.#cursor = null;
    this.items = null;
    this.skipped = 0;
    this.error = null;
    this.busy = false;
  }

  async #read(query: ReadPage<T>): Promise<void> {
    this.busy = true;
    this.error = null;
    try {
      const page = await query(this.#cursor);
      if (this.#query !== query) return;
      this.items = [...(this.items ?? []), ...page.items];
      this.skipped += page.skipped ?? 0;
      this.#cursor = page.cursor ?? null;
    } catch (failure) {
      if (this.#query !== query) return;
      this.error = asApiError(failure);
    }
    this.busy = false;
  }
}
