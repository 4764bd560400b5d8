/** The journal as far as it has been read, as reactive state: new entries come in on top, older ones at the end. */
import { asApiError, type ApiError } from '../shared/api.ts';
import type { Page } from '../shared/decode.ts';
import { meets, merged, type Entry } from './entries.ts';

/** Pages that are read to close the gap between what is new and what is known. After that the list begins anew. */
const GAP_PAGES_MAX = 4;

/** Reads the page that begins at a cursor; `null` is the newest. */
export type ReadEntries = (cursor: string | null, signal?: AbortSignal) => Promise<Page<Entry>>;

/** One stream. */
export class Feed {
  /** Newest first; `null` before the first page. */
  entries = $state.raw<readonly Entry[] | null>(null);
  /** New ones that wait until the reader wants them, newest first. */
  held = $state.raw<readonly Entry[]>([]);
  /** Those that came while the page was open. */
  arrived = $state.raw<ReadonlySet<string>>(new Set());
  /** Why the newest page could not be read. */
  error = $state.raw<ApiError | null>(null);
  /** Why older ones could not be read. */
  olderError = $state.raw<ApiError | null>(null);
  /** Older ones are being read. */
  busy = $state(false);
  readonly #read: ReadEntries;
  #cursor = $state.raw<string | null>(null);

  /** Whether there are older ones. */
  readonly hasOlder = $derived(this.#cursor !== null);

  constructor(read: ReadEntries) {
    this.#read = read;
  }

  /** Reads what is new; `hold` keeps it back, so that nothing moves under the reader's eyes. Rejects when it fails, so that the poll slows down. */
  async refresh(hold: boolean, signal: AbortSignal): Promise<void> {
    try {
      const known = merged(this.entries ?? [], this.held);
      let page = await this.#read(null, signal);
      let read = page.items;
      for (let pages = 1; !meets(known, read, page.cursor === null) && pages < GAP_PAGES_MAX; pages++) {
        page = await this.#read(page.cursor, signal);
        read = [...read, ...page.items];
      }
      if (signal.aborted) return;
      this.error = null;
      if (this.entries === null || !meets(known, read, page.cursor === null)) {
        this.#begin(read, page.cursor);
        return;
      }
      const shown = new Set(known.map((entry) => entry.id));
      const fresh = read.filter((entry) => !shown.has(entry.id));
      if (fresh.length > 0) this.held = merged(this.held, fresh);
      if (!hold) this.show();
    } catch (failure) {
      if (!signal.aborted) this.error = asApiError(failure);
      throw failure;
    }
  }

  /** Shows what was kept back. */
  show(): void {
    if (this.held.length === 0) return;
    this.arrived = new Set([...this.arrived, ...this.held.map((entry) => entry.id)]);
    this.entries = merged(this.entries ?? [], this.held);
    this.held = [];
  }

  /** Reads the next older page. */
  async older(): Promise<void> {
    const cursor = this.#cursor;
    if (cursor === null || this.busy) return;
    this.busy = true;
    this.olderError = null;
    try {
      const page = await this.#read(cursor);
      // The list may have begun anew meanwhile.
      if (this.#cursor === cursor) {
        this.entries = merged(this.entries ?? [], page.items);
        this.#cursor = page.cursor;
      }
    } catch (failure) {
      this.olderError = asApiError(failure);
    }
    this.busy = false;
  }

  #begin(entries: readonly Entry[], cursor: string | null): void {
    this.entries = merged([], entries);
    this.held = [];
    this.#cursor = cursor;
  }
}
