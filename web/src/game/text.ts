/**
 * The rules for text input, the same as on the server, so that a mistake is shown before anything
 * is sent.
 */
import type { Language } from '../shared/i18n.svelte.ts';
import { WORD_LANGUAGES, type WordLanguage } from './protocol.ts';

/** Length of a name in characters as people see them. */
export const NAME_CHARS_MAX = 10;
export const LINE_CHARS_MAX = 100;
export const WORD_CHARS_MAX = 50;
export const CUSTOM_WORDS_MAX = 100;

export type NameFault = 'empty' | 'tooLong' | 'characters';

/** A name as it is sent: in NFC, without spaces at its ends. */
export function tidyName(name: string): string {
  return name.normalize('NFC').trim();
}

/** The fault of a tidied name. `null` for a valid one. */
export function nameFault(name: string): NameFault | null {
  if (name === '') return 'empty';
  if (graphemes(name).length > NAME_CHARS_MAX) return 'tooLong';
  return /^[\p{L}\p{M}\p{N}]+( [\p{L}\p{M}\p{N}]+)*$/u.test(name) ? null : 'characters';
}

/**
 * Converts input to hiragana: NFKC, katakana to hiragana, no spaces. Other characters stay, and
 * {@link isAnswer} rejects them.
 */
export function toHiragana(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/\s/gu, '')
    .replaceAll(/[\u30a1-\u30f6]/gu, (kana) => String.fromCodePoint(kana.codePointAt(0)! - 0x60));
}

/** Normalises input in Latin letters: NFKC, single spaces, plain apostrophes. */
function toLatin(text: string): string {
  return text.normalize('NFKC').replaceAll(/\s+/gu, ' ').replaceAll('’', "'").trim();
}

/** The name of each language in itself: a player looks for the language that they can read. */
export const LANGUAGE_NAMES: Record<WordLanguage, string> = {
  ja: '日本語',
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  pt: 'Português',
};

/** The letters of a language's words. */
export type Script = 'kana' | 'latin';

export const scriptOf = (language: WordLanguage): Script => (language === 'ja' ? 'kana' : 'latin');

/**
 * The word language that a new game begins with: that of the page, or the first language of the
 * browser that has words but no page.
 */
export function proposedLanguage(page: Language, browser: readonly string[]): WordLanguage {
  if (page === 'ja') return page;
  const codes = browser.map((tag) => tag.toLowerCase().split('-')[0]);
  const known = codes.map((code) => WORD_LANGUAGES.find((language) => language === code));
  return known.find((language) => language !== undefined && language !== 'ja') ?? page;
}

/** Normalises a word for a game's language. */
export function toAnswer(text: string, language: WordLanguage): string {
  return language === 'ja' ? toHiragana(text) : toLatin(text);
}

const ANSWERS: Record<Script, RegExp> = {
  kana: /^[\u3041-\u3096ー]+$/u,
  latin: /^'*[\p{Script=Latin}\d][\p{Script=Latin}\d']*(?:[ -]'*[\p{Script=Latin}\d][\p{Script=Latin}\d']*)*$/u,
};

/** Whether a normalised word can be an answer in a game of that language. */
export function isAnswer(word: string, language: WordLanguage): boolean {
  return [...word].length <= WORD_CHARS_MAX && ANSWERS[scriptOf(language)].test(word);
}

/** The `lang` of a word of an unknown game. A word in Latin letters has an unknown language. */
export function langOf(word: string): 'ja' | '' {
  return /[\p{Script=Latin}\d]/u.test(word) ? '' : 'ja';
}

/**
 * Whether a character of a mask is a letter, hidden or not. Spaces, hyphens and apostrophes are
 * never hidden.
 */
export const isLetter = (place: string): boolean => !/[ '-]/u.test(place);

/** The number of letters of each word in a mask: "3 + 5". */
export function letterCounts(mask: string): string {
  const counts = mask.split(/[ -]/u).map((word) => [...word].filter(isLetter).length);
  return counts.join(' + ');
}

/**
 * Parses a pasted list of words, separated by lines or commas, and removes duplicates. `bad` holds
 * the entries that cannot be an answer.
 */
export function parseWordList(
  text: string,
  language: WordLanguage,
): { readonly words: readonly string[]; readonly bad: readonly string[] } {
  const typed = text.split(/[\n,、，]/u).filter((word) => word.trim() !== '');
  const words = new Set<string>();
  const bad: string[] = [];
  for (const each of typed) {
    const word = toAnswer(each, language);
    if (isAnswer(word, language)) words.add(word);
    else bad.push(each.trim());
  }
  return { words: [...words], bad };
}

/** Finds the game's id in a pasted link or code. `null` when there is none. */
export function parseGameId(text: string): string | null {
  return /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/iu.exec(text)?.[0].toLowerCase() ?? null;
}

/** Splits a text into the characters that people see: an emoji of several code points is one. */
function graphemes(text: string): string[] {
  return Array.from(new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text), (part) => part.segment);
}

/** A chat line as it is sent. `null` when nothing is left of it. */
export function tidyLine(text: string): string | null {
  const line = text
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/\s+/gu, ' ')
    .trim();
  return line === '' ? null : graphemes(line).slice(0, LINE_CHARS_MAX).join('');
}
