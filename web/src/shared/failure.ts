/** Texts for the API's problem types, in the page's language. */
import type { ApiError, JsonObject } from './api.ts';

/**
 * A page's texts for problems, by the last part of the `type`. A function builds a text from the
 * problem's members.
 */
export type ProblemWords = Readonly<Record<string, string | ((members: JsonObject) => string)>>;

/** The text for a problem's `type`; `null` when the page has none. */
export function problemWords(words: ProblemWords, type: string, members: JsonObject = {}): string | null {
  const name = lastPart(type);
  const known = Object.hasOwn(words, name) ? words[name] : undefined;
  return typeof known === 'function' ? known(members) : (known ?? null);
}

/** The last part of a problem's `type`, such as `game-full`; empty when there was no response. */
export function problemName(error: ApiError): string {
  return lastPart(error.problem?.type ?? '');
}

function lastPart(type: string): string {
  return type.slice(type.lastIndexOf(':') + 1);
}
