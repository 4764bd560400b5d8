/** Reads the members of a JSON answer; what is not as the API promises raises an {@link ApiError}. */
import { ApiError, isObject, unexpectedAnswer, type JsonObject } from './api.ts';

/** Part of a list, and where the next part begins; `null` on the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly cursor: string | null;
  /** Rows that the server has left out because it cannot read them. */
  readonly skipped?: number;
}

/** A list's part, each item decoded. */
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

/** A finite number, or `null` when there is none. */
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

/** A text, or `null` when there is none. */
export function optionalText(body: JsonObject, name: string): string | null {
  const value = body[name];
  return typeof value === 'string' ? value : null;
}

/** An object, empty when there is none. */
export function object(body: JsonObject, name: string): JsonObject {
  const value = body[name];
  return isObject(value) ? value : {};
}
