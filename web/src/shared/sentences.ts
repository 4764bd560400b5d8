/** Sentences in a row, as a screen reader says them: each ends in exactly one mark. */
import type { Language } from './i18n.svelte.ts';

/** Joins them; one that ends in a mark of its own keeps it. */
export function sentences(language: Language, parts: readonly string[]): string {
  const [stop, gap] = language === 'ja' ? ['。', ''] : ['.', ' '];
  return parts.map((part) => (/[.!?…。！？][”」）)]?$/u.test(part) ? part : part + stop)).join(gap);
}
