/** The rules for what people type, as the server has them, so that a slip is told before it is sent. */
import type { WordLanguage } from './protocol.ts';

/** Characters of a name, as the server counts them: code points after NFC. */
export const NAME_CHARS_MAX = 10;
export const LINE_CHARS_MAX = 100;
export const WORD_CHARS_MAX = 50;
export const CUSTOM_WORDS_MAX = 100;

export type NameFault = 'empty' | 'tooLong' | 'characters';

/** A name as it is sent: composed, without spaces at its ends. */
export function tidyName(name: string): string {
  return name.normalize('NFC').trim();
}

/** What is wrong with a tidy name; `null` when nothing is. */
export function nameFault(name: string): NameFault | null {
  if (name === '') return 'empty';
  if ([...name].length > NAME_CHARS_MAX) return 'tooLong';
  return /^[\p{L}\p{M}\p{N}]+( [\p{L}\p{M}\p{N}]+)*$/u.test(name) ? null : 'characters';
}

/** Hiragana out of what was typed: composed, katakana turned to hiragana, without spaces. What is neither stays, to be refused. */
export function toHiragana(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/\s/gu, '')
    .replaceAll(/[\u30a1-\u30f6]/gu, (kana) => String.fromCodePoint(kana.codePointAt(0)! - 0x60));
}

/** English out of what was typed: composed, with single spaces and plain apostrophes. */
function toEnglish(text: string): string {
  return text.normalize('NFKC').replaceAll(/\s+/gu, ' ').replaceAll('’', "'").trim();
}

/** A word as it is sent, in a game's language. */
export function toAnswer(text: string, language: WordLanguage): string {
  return language === 'ja' ? toHiragana(text) : toEnglish(text);
}

const ANSWERS: Record<WordLanguage, RegExp> = {
  ja: /^[\u3041-\u3096ー]+$/u,
  en: /^'*[\p{Script=Latin}\d][\p{Script=Latin}\d']*(?:[ -]'*[\p{Script=Latin}\d][\p{Script=Latin}\d']*)*$/u,
};

/** Whether a word can be an answer in a game of that language. */
export function isAnswer(word: string, language: WordLanguage): boolean {
  return [...word].length <= WORD_CHARS_MAX && ANSWERS[language].test(word);
}

/** Which language a word is in, for fonts and screen readers: no letter is in both. */
export function languageOf(word: string): WordLanguage {
  return /[\p{Script=Latin}\d]/u.test(word) ? 'en' : 'ja';
}

/** Whether a place of a mask is a letter, open or not; spaces, hyphens and apostrophes are always open. */
export const isLetter = (place: string): boolean => !/[ '-]/u.test(place);

/** How many letters a mask has, word by word: "3 + 5". */
export function letterCounts(mask: string): string {
  const counts = mask.split(/[ -]/u).map((word) => [...word].filter(isLetter).length);
  return counts.join(' + ');
}

/** The words of a list that somebody pasted, one a line or with commas between, each once; `bad` holds what cannot be an answer. */
export function readWords(
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

/** The game's id in a link or a code that somebody pasted; `null` when there is none. */
export function readGameId(text: string): string | null {
  return /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/iu.exec(text)?.[0].toLowerCase() ?? null;
}

/** Characters as people see them: an emoji of several parts is one. */
function seen(text: string): string[] {
  return Array.from(new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(text), (part) => part.segment);
}

/** A line as it is sent; `null` when nothing is left of it. */
export function tidyLine(text: string): string | null {
  const line = text
    .replaceAll(/\p{Cc}/gu, ' ')
    .replaceAll(/\s+/gu, ' ')
    .trim();
  return line === '' ? null : seen(line).slice(0, LINE_CHARS_MAX).join('');
}
