/** Entries of the journal: how newer and older ones come together, and how they stand in days. */

/** Something that happened. */
export interface Entry {
  /** A UUIDv7: later entries have greater ones. */
  readonly id: string;
  /** Epoch milliseconds. */
  readonly atMs: number;
  /** One English sentence, for kinds that this page has no words for. */
  readonly message: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** The entries of one of the reader's days, newest first. */
export interface Day {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly entries: readonly Entry[];
}

/** All of both, each once, newest first. An entry may be told late, so a newer page can also fill a place further down. */
export function merged(known: readonly Entry[], page: readonly Entry[]): readonly Entry[] {
  const byId = new Map([...known, ...page].map((entry) => [entry.id, entry]));
  return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** Whether a newest page reaches down to what is known: else there may be entries between them. */
export function meets(known: readonly Entry[], page: readonly Entry[], isLast: boolean): boolean {
  const [newestKnown, oldestRead] = [known[0], page.at(-1)];
  return isLast || newestKnown === undefined || (oldestRead !== undefined && oldestRead.id <= newestKnown.id);
}

/** The entries in days; `dayOf` names the day of an epoch time. */
export function inDays(entries: readonly Entry[], dayOf: (epochMs: number) => string): readonly Day[] {
  const days: { day: string; entries: Entry[] }[] = [];
  for (const entry of entries) {
    const day = dayOf(entry.atMs);
    const last = days.at(-1);
    if (last?.day === day) last.entries.push(entry);
    else days.push({ day, entries: [entry] });
  }
  return days;
}
