/** Which sea creature stands for a player: the same for the same id, everywhere and always. */

export const KINDS = ['octopus', 'fish', 'crab', 'jellyfish', 'star', 'whale'] as const;
export type Kind = (typeof KINDS)[number];

/** Bodies, light enough for a dark outline on them in both themes. */
export const BODIES = ['#f2a65a', '#7cc6a4', '#f08a9b', '#8fb8ec', '#e8cf5d', '#c5a3e6', '#74cdd6', '#e0a184'] as const;

/** An id's creature and colour. A single digit names a kind itself. */
export function creatureOf(seed: string): { readonly kind: Kind; readonly body: string } {
  const hash = seed.length === 1 ? Number(seed) : fnv1a(seed);
  // The colour comes from other bits than the kind.
  const color = seed.length === 1 ? hash : Math.floor(hash / KINDS.length);
  return { kind: KINDS[hash % KINDS.length]!, body: BODIES[color % BODIES.length]! };
}

/** FNV-1a, 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  return hash;
}
