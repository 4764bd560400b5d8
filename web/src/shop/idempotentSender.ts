/**
 * Sends changes with an idempotency key and retries them, so that each change takes effect once.
 *
 * A change keeps its key until its outcome is known: over retries, a second press of the button,
 * and a reload of the page. After that, the same change gets a new key.
 */
import { asApiError } from '../shared/api.ts';
import { backoffMs, type Backoff } from '../shared/backoff.ts';

/** The most attempts before the form shows an error. */
export const ATTEMPTS_MAX = 4;
/** The most stored keys of changes whose outcome is unknown. */
const KEYS_MAX = 20;
const BACKOFF: Backoff = { firstMs: 400, maxMs: 4_000 };

/** The environment of the sender, which tests replace. */
export interface SenderWorld {
  readonly read: () => string | null;
  readonly write: (text: string | null) => void;
  readonly newKey: () => string;
  readonly wait: (ms: number) => Promise<void>;
  /** 0..1 */
  readonly random: () => number;
}

/** Sends changes and stores their keys. */
export class IdempotentSender {
  readonly #world: SenderWorld;
  /** The keys of changes whose outcome is unknown, oldest first. */
  #keys: ReadonlyMap<string, string>;

  constructor(world: SenderWorld) {
    this.#world = world;
    this.#keys = parseKeys(world.read());
  }

  /**
   * Sends a change. `meaning` identifies it: only the same change has the same text. Fails with
   * {@link ApiError}.
   */
  async send<T>(meaning: string, attempt: (key: string) => Promise<T>): Promise<T> {
    const key = this.#keys.get(meaning) ?? this.#world.newKey();
    this.#keep(meaning, key);
    for (let attempts = 1; ; attempts++) {
      try {
        const answer = await attempt(key);
        this.#keep(meaning, null);
        return answer;
      } catch (failure) {
        const error = asApiError(failure);
        if (!error.isTransient) this.#keep(meaning, null);
        if (!error.isTransient || attempts >= ATTEMPTS_MAX) throw error;
      }
      await this.#world.wait(backoffMs(BACKOFF, attempts, this.#world.random()));
    }
  }

  #keep(meaning: string, key: string | null): void {
    const others = [...this.#keys].filter(([other]) => other !== meaning);
    this.#keys = new Map([...others, ...(key === null ? [] : [[meaning, key] as const])].slice(-KEYS_MAX));
    this.#world.write(this.#keys.size === 0 ? null : JSON.stringify([...this.#keys]));
  }
}

/** Parses the stored keys; ignores anything else, such as an edited text. */
function parseKeys(json: string | null): ReadonlyMap<string, string> {
  let list: unknown;
  try {
    list = JSON.parse(json ?? '[]');
  } catch {
    return new Map();
  }
  if (!Array.isArray(list)) return new Map();
  return new Map(
    list.filter(
      (pair: unknown): pair is [string, string] =>
        Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string'),
    ),
  );
}
