/** The sea creature that represents a player. The same id always gives the same creature. */

export const CREATURE_KINDS = ['octopus', 'fish', 'crab', 'jellyfish', 'star', 'whale'] as const;
export type CreatureKind = (typeof CREATURE_KINDS)[number];

/** Body colours, light enough for a dark outline in both themes. */
export const BODY_COLOURS = [
  '#f2a65a',
  '#7cc6a4',
  '#f08a9b',
  '#8fb8ec',
  '#e8cf5d',
  '#c5a3e6',
  '#74cdd6',
  '#e0a184',
] as const;

/** The creature and colour of an id. A single digit selects a kind directly. */
export function creatureOf(seed: string): { readonly kind: CreatureKind; readonly body: string } {
  const hash = seed.length === 1 ? Number(seed) : fnv1a(seed);
  // Kind and colour use different parts of the hash, so that every combination is possible.
  const color = seed.length === 1 ? hash : Math.floor(hash / CREATURE_KINDS.length);
  return { kind: CREATURE_KINDS[hash % CREATURE_KINDS.length]!, body: BODY_COLOURS[color % BODY_COLOURS.length]! };
}

/** FNV-1a, 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const character of text) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  return hash;
}
