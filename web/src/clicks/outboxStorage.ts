/**
 * Stores unsent clicks in `localStorage`. Each click has its own item, so that tabs do not
 * overwrite each other's clicks. Two tabs may send the same click; the server counts it once
 * because of its idempotency key.
 */
import { StoredText } from '../shared/storage.ts';
import { parseUnsentClick, type PendingClick } from './outbox.ts';

const PREFIX = 'tidemark.click.';

/** The unsent clicks of all tabs, oldest first. */
export function loadUnsentClicks(): readonly PendingClick[] {
  return storedKeys()
    .map((key) => parseUnsentClick(stored(key).read()))
    .filter((click) => click !== null)
    .toSorted((a, b) => a.madeAtMs - b.madeAtMs);
}

/** Saves the changes between the last saved list (`before`) and the current one. */
export function saveUnsentClicks(clicks: readonly PendingClick[], before: readonly PendingClick[]): void {
  for (const click of clicks) if (!before.includes(click)) stored(click.key).write(JSON.stringify(click));
  const left = new Set(clicks.map((click) => click.key));
  for (const click of before) if (!left.has(click.key)) stored(click.key).write(null);
}

/** Calls `settled` with the key of each click that another tab has sent or dismissed. */
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
    // Private windows may block storage; the page then works without it.
    return [];
  }
}
