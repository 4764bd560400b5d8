/** Who works here, and how what they change gets to the server. */
import { StoredText } from '../shared/storage.ts';
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { Delivery } from './delivery.ts';

const keys = new StoredText('sessionStorage', 'tidemark.shop.unsettled');

/** The one way to the server of this tab. */
export const delivery = new Delivery({
  read: () => keys.read(),
  write: (text) => keys.write(text),
  newKey: () => newUuidV7(Date.now()),
  wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: Math.random,
});

const storedName = new StoredText('localStorage', 'tidemark.staff-name');

class StaffName {
  /** The name that stands in the ledger; may be empty. */
  current = $state(storedName.read() ?? '');

  /** Keeps the name for the next time. */
  keep(): void {
    this.current = this.current.trim();
    storedName.write(this.current === '' ? null : this.current);
  }
}

/** The one name of this browser's owner. */
export const staffName = new StaffName();

/** The members of a body whose texts are not empty. */
export function written<Name extends string>(texts: Readonly<Record<Name, string>>): Partial<Record<Name, string>> {
  const filled = Object.entries<string>(texts).map(([name, text]) => [name, text.trim()] as const);
  return Object.fromEntries(filled.filter(([, text]) => text !== '')) as Partial<Record<Name, string>>;
}
