/** A list that is read page by page, as reactive state. */
import { asApiError, type ApiError } from './api.ts';
import type { Page } from './decode.ts';

/** Reads the page that begins at a cursor; `null` is the first. */
export type ReadPage<T> = (cursor: string | null) => Promise<Page<T>>;

/** The answer to one question, as far as it has been read. */
export class PagedList<T> {
  /** `null` before the first page. */
  items = $state.raw<readonly T[] | null>(null);
  /** Rows that the server has left out because it cannot read them. */
  skipped = $state(0);
  /** Why the last page could not be read; the ones before it stay. */
  error = $state.raw<ApiError | null>(null);
  /** A page is being read. */
  busy = $state(false);
  #question = $state.raw<ReadPage<T> | null>(null);
  #cursor = $state.raw<string | null>(null);

  /** Whether the server has more. */
  readonly hasMore = $derived(this.#cursor !== null);

  /** Asks a new question. */
  async ask(question: ReadPage<T>): Promise<void> {
    this.clear();
    this.#question = question;
    await this.#read(question);
  }

  /** Reads the next page, or the same one again when it failed. */
  async more(): Promise<void> {
    if (this.#question !== null && !this.busy) await this.#read(this.#question);
  }

  /** Forgets everything; an answer that is still to come is ignored. */
  clear(): void {
    this.#question = null;
    this.#cursor = null;
    this.items = null;
    this.skipped = 0;
    this.error = null;
    this.busy = false;
  }

  async #read(question: ReadPage<T>): Promise<void> {
    this.busy = true;
    this.error = null;
    try {
      const page = await question(this.#cursor);
      if (this.#question !== question) return;
      this.items = [...(this.items ?? []), ...page.items];
      this.skipped += page.skipped ?? 0;
      this.#cursor = page.cursor;
    } catch (failure) {
      if (this.#question !== question) return;
      this.error = asApiError(failure);
    }
    this.busy = false;
  }
}
