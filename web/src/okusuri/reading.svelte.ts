/** Something that is read from the server, shown from memory until the answer is here, and when there is none. */
import { asApiError, type ApiError, type JsonObject } from '../shared/api.ts';
import { account, kept } from './account.svelte.ts';
import { ask } from './api.ts';

/** One question's answer, as reactive state. */
export class Reading<T> {
  /** `null` while nothing is known. */
  value = $state.raw<T | null>(null);
  /** Why the last attempt failed; the value before it stays. */
  error = $state.raw<ApiError | null>(null);
  /** When the value was read, if not just now. */
  keptAtMs = $state<number | null>(null);
  readonly #decode: (body: JsonObject) => T;
  #question: string | null = null;
  #attempts = 0;

  constructor(decode: (body: JsonObject) => T) {
    this.#decode = decode;
  }

  /** Asks; `null` asks nothing and forgets. */
  async load(question: string | null): Promise<void> {
    const attempt = ++this.#attempts;
    if (question !== this.#question) this.#turnTo(question);
    if (question === null) return;
    const { sitting } = account;
    try {
      const body = await ask(question);
      // Signed out meanwhile: what comes late must not be kept.
      if (attempt !== this.#attempts || sitting !== account.sitting) return;
      this.value = this.#decode(body);
      this.error = null;
      this.keptAtMs = null;
      kept.write(question, body, Date.now());
    } catch (failure) {
      if (attempt !== this.#attempts) return;
      this.error = asApiError(failure);
      this.keptAtMs ??= kept.read(question)?.atMs ?? null;
      if (this.error.problem?.status === 401) account.end('ended');
    }
  }

  #turnTo(question: string | null): void {
    this.#question = question;
    this.value = null;
    this.error = null;
    this.keptAtMs = null;
    const before = question === null ? null : kept.read(question);
    if (!before) return;
    try {
      this.value = this.#decode(before.body);
      this.keptAtMs = before.atMs;
    } catch {
      // Kept by an older page: as if it were not there.
    }
  }
}
