/** The records in quarantine, as `tidemark quarantine` prints them. */

/** A line of `tidemark quarantine list --json`. Each statistic keeps a record of its own. */
export interface Kept {
  readonly id: string;
  readonly code: string;
  readonly message: string;
  readonly quarantinedAt: string;
  readonly ending?: string | null;
}

/** A record that waits for a person. */
export type Waiting = Pick<Kept, 'id' | 'message' | 'quarantinedAt'>;

/** What a command has printed about a record of one statistic. */
export interface Settled {
  readonly ending: 'counted' | 'gone' | 'dismissed' | 'duplicate' | null;
}

/** The waiting records, one for each id, oldest first. */
export function waitingOf(all: readonly Kept[]): readonly Waiting[] {
  const waiting = new Map(all.filter(({ ending }) => !ending).map((kept) => [kept.id, kept]));
  return [...waiting.values()].toSorted((a, b) => a.quarantinedAt.localeCompare(b.quarantinedAt));
}

/** What became of a record; `unreadable` while one of its statistics still cannot read it. */
export function endingOf(settled: readonly Settled[]): NonNullable<Settled['ending']> | 'unreadable' {
  const endings = settled.map(({ ending }) => ending);
  return endings.length === 0 || endings.includes(null) ? 'unreadable' : (endings[0] ?? 'unreadable');
}
