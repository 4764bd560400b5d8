/** Joins sentences for a screen reader, so that each ends with exactly one punctuation mark. */
import type { Language } from './i18n.svelte.ts';

/** Joins the sentences. One that already ends with a punctuation mark keeps it. */
export function sentences(language: Language, parts: readonly string[]): string {
  const [stop, gap] = language === 'ja' ? ['。', ''] : ['.', ' '];
  return parts.map((part) => (/[.!?…。！？][”」）)]?$/u.test(part) ? part : part + stop)).join(gap);
}
