/** The visitor name of this browser: random at first, then any name that the visitor chooses. */
import { StoredText } from '../shared/storage.ts';

/** The maximum length of a name in code points, as in the API. */
export const NAME_CHARS_MAX = 128;

/** Why a name cannot be a `userId`. */
export type NameFault = 'empty' | 'tooLong' | 'hash' | 'control';

const stored = new StoredText('localStorage', 'tidemark.visitor');

/** Checks a name with the rules of the API; `null` when it is valid. */
export function nameFault(name: string): NameFault | null {
  if (name === '') return 'empty';
  if ([...name].length > NAME_CHARS_MAX) return 'tooLong';
  if (name.includes('#')) return 'hash';
  if (/\p{Cc}/u.test(name)) return 'control';
  return null;
}

/** The stored name, or a new random name, which is stored too. */
export function loadVisitor(): string {
  const name = stored.read();
  if (name !== null && nameFault(name) === null) return name;
  const fresh = randomName(crypto.getRandomValues(new Uint8Array(5)));
  stored.write(fresh);
  return fresh;
}

/** Stores a name that {@link nameFault} has accepted. */
export function saveVisitor(name: string): void {
  stored.write(name);
}

/**
 * `visitor-` and 40 random bits in Crockford's Base32, which omits letters that look like digits.
 */
export function randomName(random: Uint8Array): string {
  const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
  let bits = random.reduce((all, byte) => all * 256n + BigInt(byte), 0n);
  let text = '';
  for (let i = 0; i < 8; i++) {
    text += alphabet[Number(bits % 32n)];
    bits /= 32n;
  }
  return `visitor-${text}`;
}
