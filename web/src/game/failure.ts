/** What a problem is called in the page's language. */
import type { ApiError } from '../shared/api.ts';
import type { Words } from './words.ts';

/** The words for a problem's `type`; `null` for one that this page has no words of its own for. */
export function problemWords(t: Words, type: string): string | null {
  const name = type.slice(type.lastIndexOf(':') + 1);
  return Object.hasOwn(t.problems, name) ? t.problems[name as keyof typeof t.problems] : null;
}

/** The last part of a problem's `type`, such as `game-full`; empty when no answer came. */
export function problemName(error: ApiError): string {
  const type = error.problem?.type ?? '';
  return type.slice(type.lastIndexOf(':') + 1);
}
