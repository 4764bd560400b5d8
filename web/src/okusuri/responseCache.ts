/**
 * The last responses of the server, kept in the browser's storage for reading without a network.
 * Signing out deletes them.
 */
import { isObject } from '../shared/api.ts';

/** Enough for a year of months and doses, and for the rest. */
export const RESPONSES_MAX = 60;

/**
 * The version of the cached responses. Increase it when a schema of `docs/openapi.yaml` changes so
 * that a page could not show the earlier responses; they then count as none.
 */
const VERSION = 1;

/** A response, and when it arrived. */
export interface CachedResponse {
  readonly atMs: number;
  readonly body: object;
}

/** The storage of the cache. */
export interface ResponseStorage {
  readonly read: () => string | null;
  readonly write: (text: string | null) => void;
}

/** Cached responses by path. */
export class ResponseCache {
  readonly #storage: ResponseStorage;

  constructor(storage: ResponseStorage) {
    this.#storage = storage;
  }

  /** The cached response of a path. `null` if there is none. */
  read(path: string): CachedResponse | null {
    return this.#all().get(path) ?? null;
  }

  /** Caches a response and drops the oldest ones beyond the limit. */
  write(path: string, body: object, atMs: number): void {
    const others = [...this.#all()].filter(([other]) => other !== path);
    this.#storage.write(JSON.stringify([...others, [path, { version: VERSION, atMs, body }]].slice(-RESPONSES_MAX)));
  }

  /** Deletes everything. */
  forget(): void {
    this.#storage.write(null);
  }

  /** Reads all entries. Invalid data counts as none. */
  #all(): ReadonlyMap<string, CachedResponse> {
    let list: unknown;
    try {
      list = JSON.parse(this.#storage.read() ?? '[]');
    } catch {
      return new Map();
    }
    return new Map(Array.isArray(list) ? list.filter(isEntry) : []);
  }
}

function isEntry(value: unknown): value is [string, CachedResponse] {
  if (!Array.isArray(value) || value.length !== 2 || typeof value[0] !== 'string') return false;
  const answer: unknown = value[1];
  if (!isObject(answer) || answer['version'] !== VERSION) return false;
  return typeof answer['atMs'] === 'number' && isObject(answer['body']);
}
