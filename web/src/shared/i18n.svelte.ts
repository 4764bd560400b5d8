/** The language of the pages. Each page brings its own dictionary; this module only knows which language is chosen. */
import { StoredText } from './storage.ts';

/** The languages that every dictionary has. */
export type Language = 'en' | 'ja';

/** A dictionary: the same words in each language, checked by the compiler. */
export type Dictionary<Words> = Readonly<Record<Language, Words>>;

const stored = new StoredText('localStorage', 'tidemark.language');

class LanguageChoice {
  /** The chosen language. */
  current = $state<Language>(initial());
  /** The locale for numbers and dates. British English: day before month, as the rest of the world reads it. */
  readonly locale = $derived(this.current === 'ja' ? 'ja-JP' : 'en-GB');

  /** Chooses, remembers, and tells assistive technology. */
  choose(language: Language): void {
    this.current = language;
    stored.write(language);
    document.documentElement.lang = language;
  }
}

/** The choice, shared by all components. */
export const language = new LanguageChoice();

function initial(): Language {
  return (stored.read() ?? navigator.language).startsWith('ja') ? 'ja' : 'en';
}
