/** UUID version 7 (RFC 9562, section 5.7): 48 bits of epoch milliseconds, then random bits. */

/** Builds a UUID from a time and at least 10 random bytes. */
export function uuidV7(epochMs: number, random: Uint8Array): string {
  const bytes = new Uint8Array(16);
  // Bitwise operators truncate to 32 bits, so the 48-bit time is split by division.
  let rest = Math.floor(epochMs);
  for (let i = 5; i >= 0; i--) {
    bytes[i] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  bytes.set(random.subarray(0, 10), 6);
  bytes[6] = 0x70 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * Creates a UUID for this time. It uses `getRandomValues` because `randomUUID` does not exist on
 * plain-HTTP origins.
 */
export function newUuidV7(epochMs: number): string {
  return uuidV7(epochMs, crypto.getRandomValues(new Uint8Array(10)));
}
