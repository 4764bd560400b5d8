/**
 * Reads the members of a JSON response. A member that differs from the API's documentation throws
 * an {@link ApiError}.
 */
import { ApiError, isObject, unexpectedAnswer, type JsonObject } from './api.ts';

/** One page of a list. `cursor` requests the next page; it is `null` on the last page. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: string | null;
  /** The number of rows that the server left out because it could not read them. */
  readonly skipped?: number;
}

/** Decodes one page of a list. */
export function page<T>(body: JsonObject, decode: (item: JsonObject) => T): Page<T> {
  const list = body['items'];
  if (!Array.isArray(list)) throw new ApiError(unexpectedAnswer(200));
  return {
    items: list.map((item: unknown) => decode(isObject(item) ? item : {})),
    cursor: optionalText(body, 'cursor'),
    skipped: optionalCount(body, 'skipped') ?? 0,
  };
}

/** A finite number. */
export function count(body: JsonObject, name: string): number {
  const value = optionalCount(body, name);
  if (value === null) throw new ApiError(unexpectedAnswer(200));
  return value;
}

/** A finite number; `null` when the member is missing or not a number. */
export function optionalCount(body: JsonObject, name: string): number | null {
  const value = body[name];
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** A text. */
export function text(body: JsonObject, name: string): string {
  const value = optionalText(body, name);
  if (value === null) throw new ApiError(unexpectedAnswer(200));
  return value;
}

/** A text; `null` when the member is missing or not a text. */
export function optionalText(body: JsonObject, name: string): string | null {
  const value = body[name];
  return typeof value === 'string' ? value : null;
}

/** An object; empty when the member is missing or not an object. */
export function object(body: JsonObject, name: string): JsonObject {
  const value = body[name];
  return isObject(value) ? value : {};
}
