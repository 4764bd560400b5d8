/**
 * What somebody wrote down, on its way to the server: in order, once, and kept over a lost network and a reload.
 *
 * Every write is a PUT or DELETE of one thing, so a repeat after a lost answer changes nothing; of two unsent writes of the same
 * thing only the later one is sent. The list lives in the browser's storage and is read anew before each step, since another tab
 * may write too; `exclusive` sees to it that one tab at a time sends.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import { backoffMs, type Backoff } from '../shared/backoff.ts';

/** Unsent writes that are kept; months of days without a network. */
export const WRITES_MAX = 500;
const BACKOFF: Backoff = { firstMs: 2_000, maxMs: 60_000 };

/** One write. */
export interface Write {
  /** Its own, so that nothing is sent or dropped in another's place. */
  readonly id: string;
  /** Whose it is: what one person wrote is never sent as another. */
  readonly userId: string;
  readonly method: 'PUT' | 'DELETE';
  /** The thing that is written, below the API's root: `logs/2026-11-22`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>> | null;
  /** The last part of the problem's `type` when the server refused it; it then waits for a person. */
  readonly refusedAs: string | null;
}

/** What the list needs from the world. */
export interface WritesWorld {
  readonly read: () => string | null;
  readonly write: (text: string | null) => void;
  readonly newId: () => string;
  /** Sends one; fails with an {@link ApiError}. */
  readonly send: (write: Write) => Promise<void>;
  /** Runs a task while no other tab runs one. */
  readonly exclusive: (task: () => Promise<void>) => Promise<void>;
  readonly isOnline: () => boolean;
  /** Calls back after a while; the next call replaces the one before. */
  readonly later: (ms: number, task: () => void) => void;
  /** 0..1 */
  readonly random: () => number;
  /** After each change of the list. */
  readonly onChange: (writes: readonly Write[]) => void;
  /** After the server has taken one. */
  readonly onSent: (write: Write) => void;
  /** The session has ended; everything waits for the next one. */
  readonly onSignedOut: () => void;
}

/** The unsent writes of one person, oldest first. */
export class Writes {
  readonly #world: WritesWorld;
  /** Whose they are. */
  readonly userId: string;
  /** The one that is being sent; it may not be replaced, only followed. */
  #sending: string | null = null;
  #failures = 0;
  #flushing: Promise<void> | null = null;
  #isWanted = false;
  #isClosed = false;

  constructor(world: WritesWorld, userId: string) {
    this.#world = world;
    this.userId = userId;
  }

  /** The list as it stands; other people's are not in it. */
  get all(): readonly Write[] {
    return parseWrites(this.#world.read()).filter((write) => write.userId === this.userId);
  }

  /** Takes a write. `false`: too many are unsent. */
  add(method: Write['method'], path: string, body: Write['body'] = null): boolean {
    const others = this.all.filter((write) => write.path !== path || write.id === this.#sending);
    if (others.length >= WRITES_MAX) return false;
    this.#store([...others, { id: this.#world.newId(), userId: this.userId, method, path, body, refusedAs: null }]);
    void this.flush();
    return true;
  }

  /** Sends what waits, one after the other: at the start, when the network is back, and after a pause when it failed. */
  flush(): Promise<void> {
    this.#isWanted = true;
    this.#flushing ??= this.#flush();
    return this.#flushing;
  }

  /** Lets go of what the server refused. */
  dismissRefused(): void {
    this.#store(this.all.filter((write) => write.refusedAs === null));
  }

  /** Tells again how the list stands: another tab has changed it. */
  reread(): void {
    this.#world.onChange(this.all);
  }

  /** Sends nothing any more. */
  close(): void {
    this.#isClosed = true;
  }

  async #flush(): Promise<void> {
    try {
      // A write that is added while the last one is being put away asks for one more round.
      while (this.#isWanted) {
        this.#isWanted = false;
        await this.#world.exclusive(async () => {
          while (await this.#sendNext());
        });
      }
    } finally {
      this.#flushing = null;
    }
  }

  /** Whether to go on with the next one. */
  async #sendNext(): Promise<boolean> {
    const next = this.all.find((write) => write.refusedAs === null);
    if (next === undefined || this.#isClosed || !this.#world.isOnline()) return false;
    this.#sending = next.id;
    try {
      await this.#world.send(next);
    } catch (failure) {
      return this.#failed(next, asApiError(failure));
    } finally {
      this.#sending = null;
    }
    this.#failures = 0;
    this.#remove(next);
    this.#world.onSent(next);
    return true;
  }

  #failed(write: Write, error: ApiError): boolean {
    if (error.problem?.status === 401) {
      this.#world.onSignedOut();
      return false;
    }
    if (error.isTransient) {
      this.#failures += 1;
      const pauseMs = backoffMs(BACKOFF, this.#failures, this.#world.random());
      this.#world.later(pauseMs, () => void this.flush());
      return false;
    }
    // What is to be removed is gone already: that is what was wanted.
    if (write.method === 'DELETE' && error.problem?.status === 404) {
      this.#remove(write);
      this.#world.onSent(write);
      return true;
    }
    const type = error.problem?.type ?? '';
    const refusedAs = type.slice(type.lastIndexOf(':') + 1);
    this.#store(this.all.map((other) => (other.id === write.id ? { ...other, refusedAs } : other)));
    return true;
  }

  #remove({ id }: Write): void {
    this.#store(this.all.filter((write) => write.id !== id));
  }

  /** What another person left unsent in this browser is dropped with the first change. */
  #store(writes: readonly Write[]): void {
    this.#world.write(writes.length === 0 ? null : JSON.stringify(writes));
    this.#world.onChange(writes);
  }
}

/** Reads what was kept; anything else, as a hand-edited text, is nothing. */
export function parseWrites(json: string | null): readonly Write[] {
  let list: unknown;
  try {
    list = JSON.parse(json ?? '[]');
  } catch {
    return [];
  }
  return Array.isArray(list) ? list.filter(isWrite) : [];
}

function isWrite(value: unknown): value is Write {
  const write = value as Partial<Record<keyof Write, unknown>> | null;
  return (
    typeof write === 'object' &&
    write !== null &&
    [write.id, write.userId, write.path].every((part) => typeof part === 'string') &&
    (write.method === 'PUT' || write.method === 'DELETE') &&
    typeof write.body === 'object' &&
    (write.refusedAs === null || typeof write.refusedAs === 'string')
  );
}
