/**
 * A `GET` request whose last response is cached: shown until the new response arrives, and when
 * there is no network.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import { account, responseCache } from './account.svelte.ts';
import { get } from './api.ts';

/** The response for one path, as reactive state. */
export class CachedQuery<T extends object> {
  /** `null` until there is a response. */
  value = $state.raw<T | null>(null);
  /** Why the last request failed. The earlier value stays. */
  error = $state.raw<ApiError | null>(null);
  /** When the shown value was fetched, if it is from the cache. */
  cachedAtMs = $state<number | null>(null);
  #path: string | null = null;
  #attempts = 0;

  /** Requests a path. `null` clears the value. */
  load(path: string | null): Promise<void> {
    return account.reads(this.#load(path));
  }

  async #load(path: string | null): Promise<void> {
    const attempt = ++this.#attempts;
    if (path !== this.#path) this.#switchTo(path);
    if (path === null) return;
    const { sessionNumber } = account;
    try {
      const body = await get<T>(path);
      // Signed out meanwhile: a late answer must not be cached.
      if (attempt !== this.#attempts || sessionNumber !== account.sessionNumber) return;
      this.value = body;
      this.error = null;
      this.cachedAtMs = null;
      responseCache.write(path, body, Date.now());
    } catch (failure) {
      if (attempt !== this.#attempts) return;
      this.error = asApiError(failure);
      this.cachedAtMs ??= responseCache.read(path)?.atMs ?? null;
      if (this.error.problem?.status === 401) account.end('ended');
    }
  }

  #switchTo(path: string | null): void {
    this.#path = path;
    const before = path === null ? null : responseCache.read(path);
    this.value = (before?.body ?? null) as T | null;
    this.error = null;
    this.cachedAtMs = before?.atMs ?? null;
  }
}
