/** The chosen language. Each page has its own dictionary with the texts. */
import { StoredText } from './storage.ts';

/** The supported languages. */
export type Language = 'en' | 'ja';

/** The same texts in each language; the compiler checks that none is missing. */
export type Dictionary<Words> = Readonly<Record<Language, Words>>;

const stored = new StoredText('localStorage', 'tidemark.language');

class LanguageChoice {
  /** The chosen language. */
  current = $state<Language>(initial());
  /**
   * The locale for numbers and dates. English uses the British format, with the day before the
   * month.
   */
  readonly locale = $derived(this.current === 'ja' ? 'ja-JP' : 'en-GB');

  /** Changes the language, remembers it, and sets `lang` for assistive technology. */
  choose(language: Language): void {
    this.current = language;
    stored.write(language);
    document.documentElement.lang = language;
  }
}

/** The language choice that all components share. */
export const language = new LanguageChoice();

function initial(): Language {
  return (stored.read() ?? navigator.language).startsWith('ja') ? 'ja' : 'en';
}
