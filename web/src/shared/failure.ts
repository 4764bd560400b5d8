/** What a problem is called in the page's language. */
import type { ApiError, JsonObject } from './api.ts';

/** A page's words for problems, by the last part of their `type`. Some tell what the problem's own members say. */
export type ProblemWords = Readonly<Record<string, string | ((members: JsonObject) => string)>>;

/** The words for a problem's `type`; `null` for one that the page has no words of its own for. */
export function problemWords(words: ProblemWords, type: string, members: JsonObject = {}): string | null {
  const name = lastPart(type);
  const known = Object.hasOwn(words, name) ? words[name] : undefined;
  return typeof known === 'function' ? known(members) : (known ?? null);
}

/** The last part of a problem's `type`, such as `game-full`; empty when no answer came. */
export function problemName(error: ApiError): string {
  return lastPart(error.problem?.type ?? '');
}

function lastPart(type: string): string {
  return type.slice(type.lastIndexOf(':') + 1);
}
