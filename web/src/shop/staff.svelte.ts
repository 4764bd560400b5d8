/** The name of the staff member and the sender of their changes. */
import { StoredText } from '../shared/storage.ts';
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { IdempotentSender } from './idempotentSender.ts';

const keys = new StoredText('sessionStorage', 'tidemark.shop.unsettled');

/** The sender of this tab. */
export const sender = new IdempotentSender({
  read: () => keys.read(),
  write: (text) => keys.write(text),
  newKey: () => newUuidV7(Date.now()),
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: Math.random,
});

const storedName = new StoredText('localStorage', 'tidemark.staff-name');

class StaffName {
  /** The name that is recorded in the ledger; may be empty. */
  current = $state(storedName.read() ?? '');

  /** Stores the name for the next visit. */
  keep(): void {
    this.current = this.current.trim();
    storedName.write(this.current === '' ? null : this.current);
  }
}

/** The name of the staff member who uses this browser. */
export const staffName = new StaffName();

/** Trims texts and removes the empty ones. */
export function nonEmptyTexts<Name extends string>(
  texts: Readonly<Record<Name, string>>,
): Partial<Record<Name, string>> {
  const filled = Object.entries<string>(texts).map(([name, text]) => [name, text.trim()] as const);
  return Object.fromEntries(filled.filter(([, text]) => text !== '')) as Partial<Record<Name, string>>;
}
