/** The request of the recent events page. */
import { requestJson } from '../shared/api.ts';
import { object, page, text, type Page } from '../shared/decode.ts';
import { momentMs } from '../shared/format.ts';
import type { Entry } from './entries.ts';

/** Entries per page. */
const PAGE_ENTRIES = 50;

/** `GET /journal/suite`: newest first. */
export async function getEntries(cursor: string | null, signal?: AbortSignal): Promise<Page<Entry>> {
  const query = new URLSearchParams({ limit: String(PAGE_ENTRIES), ...(cursor === null ? {} : { cursor }) });
  return page(await requestJson(`/journal/suite?${query}`, signal ? { signal } : {}), (item) => ({
    id: text(item, 'id'),
    atMs: momentMs(text(item, 'at')),
    message: text(item, 'message'),
    attributes: Object.fromEntries(
      Object.entries(object(item, 'attributes')).filter(
        (pair): pair is [string, string] => typeof pair[1] === 'string',
      ),
    ),
  }));
}
