/**
 * Unsent clicks in `localStorage`: one text for each, so that tabs do not overwrite each other's lists. Two tabs may send the same click; its
 * key makes that harmless.
 */
import { StoredText } from '../shared/storage.ts';
import { parseKept, type PendingClick } from './outbox.ts';

const PREFIX = 'tidemark.click.';

/** All clicks that any tab has left, oldest first. */
export function keptClicks(): readonly PendingClick[] {
  return storedKeys()
    .map((key) => parseKept(stored(key).read()))
    .filter((click) => click !== null)
    .toSorted((a, b) => a.madeAtMs - b.madeAtMs);
}

/** Keeps the clicks of this tab's list as it is now; `before` is the list that was kept last. */
export function keep(clicks: readonly PendingClick[], before: readonly PendingClick[]): void {
  for (const click of clicks) if (!before.includes(click)) stored(click.key).write(JSON.stringify(click));
  const left = new Set(clicks.map((click) => click.key));
  for (const click of before) if (!left.has(click.key)) stored(click.key).write(null);
}

/** Calls back with the key of each click that another tab has settled. */
export function onSettledElsewhere(settled: (key: string) => void): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (newValue === null && key?.startsWith(PREFIX)) settled(key.slice(PREFIX.length));
  });
}

function stored(key: string): StoredText {
  return new StoredText('localStorage', PREFIX + key);
}

function storedKeys(): readonly string[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => key.slice(PREFIX.length));
  } catch {
    // Private windows may refuse: the page then works without a memory.
    return [];
  }
}
