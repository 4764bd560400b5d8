/** The request of the recent events page. */
import { query, requestPage, type Item, type Page } from '../shared/api.ts';
import { momentMs } from '../shared/format.ts';

/** Entries per page. */
const PAGE_ENTRIES = 50;

/** An entry of the journal. A newer entry has a greater id. */
export type Entry = Omit<Item<'EntryPage'>, 'at'> & {
  /** The time in epoch milliseconds. */
  readonly atMs: number;
};

/** `GET /journal/suite`: newest first. */
export async function getEntries(cursor: string | null, signal?: AbortSignal): Promise<Page<Entry>> {
  const path = `/journal/suite${query({ limit: PAGE_ENTRIES, cursor })}`;
  const page = await requestPage<Item<'EntryPage'>>(path, signal ? { signal } : {});
  return { ...page, items: page.items.map((entry) => ({ ...entry, atMs: momentMs(entry.at) })) };
}
