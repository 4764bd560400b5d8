/**
 * The entries that have been read so far, as reactive state. New entries are added on top, older
 * ones at the end.
 */
import { asApiError, type ApiError, type Page } from '../shared/api.ts';
import type { Entry } from './api.ts';
import { mergeEntries, overlaps } from './entries.ts';

/**
 * The most pages that are read to reach the known entries. If there are more, the list starts again
 * with the newest ones.
 */
const GAP_PAGES_MAX = 4;

/** Reads the page at a cursor; `null` is the newest page. */
export type ReadEntries = (cursor: string | null, signal?: AbortSignal) => Promise<Page<Entry>>;

/** The list of entries. */
export class Feed {
  /** Newest first; `null` before the first page. */
  entries = $state.raw<readonly Entry[] | null>(null);
  /** New entries that are held back until the reader asks for them, newest first. */
  held = $state.raw<readonly Entry[]>([]);
  /** The IDs of entries that arrived while the page was open. */
  arrived = $state.raw<ReadonlySet<string>>(new Set());
  /** Why the newest page could not be read. */
  error = $state.raw<ApiError | null>(null);
  /** Why older entries could not be read. */
  olderError = $state.raw<ApiError | null>(null);
  /** Older entries are being read. */
  busy = $state(false);
  readonly #read: ReadEntries;
  #cursor = $state.raw<string | null>(null);

  /** Whether there are older entries. */
  readonly hasOlder = $derived(this.#cursor !== null);

  constructor(read: ReadEntries) {
    this.#read = read;
  }

  /**
   * Reads new entries. With `hold`, they are held back, so that the text does not move while
   * somebody reads. Rejects on failure, so that the poll backs off.
   */
  async refresh(hold: boolean, signal: AbortSignal): Promise<void> {
    try {
      const known = mergeEntries(this.entries ?? [], this.held);
      let page = await this.#read(null, signal);
      let read = page.items;
      for (let pages = 1; !overlaps(known, read, page.cursor === undefined) && pages < GAP_PAGES_MAX; pages++) {
        page = await this.#read(page.cursor ?? null, signal);
        read = [...read, ...page.items];
      }
      if (signal.aborted) return;
      this.error = null;
      if (this.entries === null || !overlaps(known, read, page.cursor === undefined)) {
        this.#restart(read, page.cursor ?? null);
        return;
      }
      const shown = new Set(known.map((entry) => entry.id));
      const fresh = read.filter((entry) => !shown.has(entry.id));
      if (fresh.length > 0) this.held = mergeEntries(this.held, fresh);
      if (!hold) this.show();
    } catch (failure) {
      if (!signal.aborted) this.error = asApiError(failure);
      throw failure;
    }
  }

  /** Shows the entries that were held back. */
  show(): void {
    if (this.held.length === 0) return;
    this.arrived = new Set([...this.arrived, ...this.held.map((entry) => entry.id)]);
    this.entries = mergeEntries(this.entries ?? [], this.held);
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
      // The list may have been restarted in the meantime.
      if (this.#cursor === cursor) {
        this.entries = mergeEntries(this.entries ?? [], page.items);
        this.#cursor = page.cursor ?? null;
      }
    } catch (failure) {
      this.olderError = asApiError(failure);
    }
    this.busy = false;
  }

  #restart(entries: readonly Entry[], cursor: string | null): void {
    this.entries = mergeEntries([], entries);
    this.held = [];
    this.#cursor = cursor;
  }
}
