/** Who clicks, as far as this browser says: a random id at first, any name that its owner prefers later. */
import { StoredText } from '../shared/storage.ts';

/** The most characters of a name, as the API counts them: code points. */
export const NAME_CHARS_MAX = 128;

/** Why a name cannot be a `userId`. */
export type NameFault = 'empty' | 'tooLong' | 'hash' | 'control';

const stored = new StoredText('localStorage', 'tidemark.visitor');

/** Checks a name by the API's rules; `null` when it is fine. */
export function nameFault(name: string): NameFault | null {
  if (name === '') return 'empty';
  if ([...name].length > NAME_CHARS_MAX) return 'tooLong';
  if (name.includes('#')) return 'hash';
  if (/\p{Cc}/u.test(name)) return 'control';
  return null;
}

/** The remembered name, or a new random one, which is then remembered. */
export function recallVisitor(): string {
  const name = stored.read();
  if (name !== null && nameFault(name) === null) return name;
  const fresh = randomName(crypto.getRandomValues(new Uint8Array(5)));
  stored.write(fresh);
  return fresh;
}

/** Remembers a name that {@link nameFault} found nothing in. */
export function rememberVisitor(name: string): void {
  stored.write(name);
}

/** `visitor-` and 40 random bits in Crockford's base 32, which leaves out letters that are easily mistaken for digits. */
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
