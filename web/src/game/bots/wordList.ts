/** Reads the rules' lists of built-in words, which the bots guess from. */
import type { WordLanguage } from '../protocol.ts';

/** The answers of a list, without their other names and translations. */
export function wordsOf(list: string, language: WordLanguage): readonly string[] {
  const lines = list.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.map((line) => line.split(language === 'ja' ? ' ' : ' = ')[0] ?? '');
}
