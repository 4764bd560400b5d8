/** Merges pages of journal entries and groups the entries by day. */
import type { Entry } from './api.ts';

/** The entries of one day in the reader's time zone, newest first. */
export interface Day {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly entries: readonly Entry[];
}

/**
 * Merges two lists without duplicates, newest first. An entry can arrive late and then belongs
 * between known entries.
 */
export function mergeEntries(known: readonly Entry[], page: readonly Entry[]): readonly Entry[] {
  const byId = new Map([...known, ...page].map((entry) => [entry.id, entry]));
  return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}

/**
 * Whether the newest page reaches the known entries. If not, entries between the two may be
 * missing.
 */
export function overlaps(known: readonly Entry[], page: readonly Entry[], isLast: boolean): boolean {
  const [newestKnown, oldestRead] = [known[0], page.at(-1)];
  return isLast || newestKnown === undefined || (oldestRead !== undefined && oldestRead.id <= newestKnown.id);
}

/** Groups entries by day; `dayOf` returns the day of an epoch time. */
export function groupByDay(entries: readonly Entry[], dayOf: (epochMs: number) => string): readonly Day[] {
  const days: { day: string; entries: Entry[] }[] = [];
  for (const entry of entries) {
    const day = dayOf(entry.atMs);
    const last = days.at(-1);
    if (last?.day === day) last.entries.push(entry);
    else days.push({ day, entries: [entry] });
  }
  return days;
}
