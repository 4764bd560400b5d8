/** Reads the members of a JSON response. A member of another type throws an {@link ApiError}. */
import { ApiError, isObject, unexpectedAnswer, type JsonObject } from '../shared/api.ts';

/** A finite number. */
export function count(body: JsonObject, name: string): number {
  const value = body[name];
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new ApiError(unexpectedAnswer(200));
  return value;
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
