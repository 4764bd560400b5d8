/**
 * The queue of unsent writes. It sends them in order and survives network losses and reloads.
 *
 * Every write is a PUT or DELETE of one item, so a retry after a lost answer changes nothing. Of
 * two unsent writes to the same path only the newer one is sent. The queue is in the browser's
 * storage and is read again before each step, because another tab may write too. `exclusive` allows
 * one tab at a time to send.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import { backoffMs, type Backoff } from '../shared/backoff.ts';

/** The limit of unsent writes: months of days without a network. */
export const WRITES_MAX = 500;
const BACKOFF: Backoff = { firstMs: 2_000, maxMs: 60_000 };

/** One write. */
export interface Write {
  /** Unique, so that a newer write to the same path is not mistaken for this one. */
  readonly id: string;
  /** The user who made the write. It is never sent in the session of another user. */
  readonly userId: string;
  readonly method: 'PUT' | 'DELETE';
  /** The API path of the item: `logs/2026-11-22`. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>> | null;
  /**
   * The last part of the problem's `type` when the server has refused the write. It is kept until
   * the user dismisses it.
   */
  readonly refusedAs: string | null;
  /** The server has accepted it, and the page has not read its effect yet. Not in the storage. */
  readonly isSent?: true;
}

/** What the queue depends on. Tests replace it. */
export interface WriteQueueOptions {
  readonly read: () => string | null;
  readonly write: (text: string | null) => void;
  readonly newId: () => string;
  /** Sends one write. Rejects with an {@link ApiError}. */
  readonly send: (write: Write) => Promise<void>;
  /** Runs a task while no other tab runs one. */
  readonly exclusive: (task: () => Promise<void>) => Promise<void>;
  readonly isOnline: () => boolean;
  /** Runs a task after a delay. The next call replaces the one before. */
  readonly later: (ms: number, task: () => void) => void;
  /** From 0 to 1, for the jitter of the backoff. */
  readonly random: () => number;
  /** Called after each change of the queue. */
  readonly onChange: (writes: readonly Write[]) => void;
  /** Called after the server has accepted a write, before it leaves the queue. */
  readonly onSent: (write: Write) => void;
  /** Called when the session has ended. All writes wait for the next session. */
  readonly onSignedOut: () => void;
}

/** The unsent writes of one user, oldest first. */
export class WriteQueue {
  readonly #options: WriteQueueOptions;
  /** The user of this queue. */
  readonly userId: string;
  /**
   * The id of the write that is being sent. It cannot be replaced by a newer one, only followed.
   */
  #sending: string | null = null;
  #failures = 0;
  #flushing: Promise<void> | null = null;
  #isWanted = false;
  #isClosed = false;

  constructor(options: WriteQueueOptions, userId: string) {
    this.#options = options;
    this.userId = userId;
  }

  /** This user's writes, without those of other users. */
  get all(): readonly Write[] {
    return parseWrites(this.#options.read()).filter((write) => write.userId === this.userId);
  }

  /** Adds a write. `false` when too many are unsent. */
  add(method: Write['method'], path: string, body: Write['body'] = null): boolean {
    const others = this.all.filter((write) => write.path !== path || write.id === this.#sending);
    if (others.length >= WRITES_MAX) return false;
    this.#store([...others, { id: this.#options.newId(), userId: this.userId, method, path, body, refusedAs: null }]);
    void this.flush();
    return true;
  }

  /**
   * Sends the pending writes one after the other: at the start, when the network is back, and after
   * a backoff.
   */
  flush(): Promise<void> {
    this.#isWanted = true;
    this.#flushing ??= this.#flush();
    return this.#flushing;
  }

  /** Removes the refused writes. */
  dismissRefused(): void {
    this.#store(this.all.filter((write) => write.refusedAs === null));
  }

  /** Reports the queue again after another tab has changed it. */
  reread(): void {
    this.#options.onChange(this.all);
  }

  /** Stops sending. */
  close(): void {
    this.#isClosed = true;
  }

  async #flush(): Promise<void> {
    try {
      // A write that is added at the end of a round needs another round.
      while (this.#isWanted) {
        this.#isWanted = false;
        await this.#options.exclusive(async () => {
          while (await this.#sendNext());
        });
      }
    } finally {
      this.#flushing = null;
    }
  }

  /** Sends the next write. Returns whether to continue. */
  async #sendNext(): Promise<boolean> {
    const next = this.all.find((write) => write.refusedAs === null);
    if (next === undefined || this.#isClosed || !this.#options.isOnline()) return false;
    this.#sending = next.id;
    try {
      await this.#options.send(next);
    } catch (failure) {
      return this.#failed(next, asApiError(failure));
    } finally {
      this.#sending = null;
    }
    this.#failures = 0;
    this.#options.onSent(next);
    this.#remove(next);
    return true;
  }

  #failed(write: Write, error: ApiError): boolean {
    if (error.problem?.status === 401) {
      this.#options.onSignedOut();
      return false;
    }
    if (error.isTransient) {
      this.#failures += 1;
      const pauseMs = backoffMs(BACKOFF, this.#failures, this.#options.random());
      this.#options.later(pauseMs, () => void this.flush());
      return false;
    }
    // The item to delete is already gone.
    if (write.method === 'DELETE' && error.problem?.status === 404) {
      this.#options.onSent(write);
      this.#remove(write);
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

  /** Writes of another user in this browser are dropped with the first change. */
  #store(writes: readonly Write[]): void {
    this.#options.write(writes.length === 0 ? null : JSON.stringify(writes));
    this.#options.onChange(writes);
  }
}

/** Parses the stored queue. Invalid data counts as none. */
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
