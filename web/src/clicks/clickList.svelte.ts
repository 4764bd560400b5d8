/** A list that is read page by page, as reactive state. */
import { asApiError, type ApiError } from '../shared/api.ts';
import type { ClickPage, StoredClick } from './api.ts';

/** Reads the page that begins at a cursor; `null` is the first. */
export type ReadPage = (cursor: string | null) => Promise<ClickPage>;

/** The clicks of one question, as far as they have been read. */
export class ClickList {
  /** `null` before the first page. */
  clicks = $state.raw<readonly StoredClick[] | null>(null);
  /** Why the last page could not be read; the ones before it stay. */
  error = $state.raw<ApiError | null>(null);
  /** A page is being read. */
  busy = $state(false);
  #question = $state.raw<ReadPage | null>(null);
  #cursor = $state.raw<string | null>(null);

  /** Whether the server has more. */
  readonly hasMore = $derived(this.#cursor !== null);

  /** Asks a new question. */
  async ask(question: ReadPage): Promise<void> {
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
    this.clicks = null;
    this.error = null;
    this.busy = false;
  }

  async #read(question: ReadPage): Promise<void> {
    this.busy = true;
    this.error = null;
    try {
      const page = await question(this.#cursor);
      if (this.#question !== question) return;
      this.clicks = [...(this.clicks ?? []), ...page.items];
      this.#cursor = page.cursor;
    } catch (failure) {
      if (this.#question !== question) return;
      this.error = asApiError(failure);
    }
    this.busy = false;
  }
}
