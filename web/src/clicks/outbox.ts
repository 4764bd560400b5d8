/**
 * The outbox: sends clicks to the server without losing one or counting one twice.
 *
 * A click keeps its idempotency key over all attempts, so that the server recognises a repeat even
 * if only the response was lost. The outbox retries until there is a response. A click that the
 * server rejects stays with the reason until the visitor dismisses it.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import { backoffMs, type Backoff } from '../shared/backoff.ts';
import type { NewClick } from './api.ts';

/**
 * After this many attempts, the visitor sees a notice. With the backoff below, this takes about 12
 * seconds.
 */
export const ATTEMPTS_BEFORE_NOTICE = 6;

/**
 * The server accepts a click for 24 hours after its time. The difference leaves time for the
 * request.
 */
export const KEY_AGE_MAX_MS = 23.5 * 60 * 60_000;

/**
 * The most parallel requests. A browser opens 6 connections to an HTTP/1.1 server; the others
 * remain for reads.
 */
const IN_FLIGHT_MAX = 4;

/** The most unsent clicks. Further clicks are not accepted. */
export const OUTBOX_CLICKS_MAX = 200;

const BACKOFF: Backoff = { firstMs: 400, maxMs: 30_000 };

/**
 * The problem type of a key that is too old. The server has not stored the click and never will
 * under this key.
 */
const KEY_TIME_PROBLEM = 'urn:tidemark:problem:idempotency-key-time';

/**
 * `waiting` for a free slot or the network, `sending`, `retrying` after a failure, or `refused` by
 * the server.
 */
export type ClickState = 'waiting' | 'sending' | 'retrying' | 'refused';

/** An unsent click. */
export interface PendingClick extends NewClick {
  /** The time inside `key`, in epoch milliseconds of the server's clock. */
  readonly madeAtMs: number;
  /** The number of attempts. With 0, the server cannot know the click. */
  readonly attempts: number;
  readonly state: ClickState;
  /** The last failure. */
  readonly error: ApiError | null;
}

/** The environment of the outbox, which tests replace. */
export interface OutboxWorld {
  /** Sends one click; fails with {@link ApiError}. */
  readonly send: (click: NewClick) => Promise<void>;
  /** Creates a UUIDv7 for this time. */
  readonly newKey: (epochMs: number) => string;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** 0..1 */
  readonly random: () => number;
  readonly isOnline: () => boolean;
  /** Called after every change, to show and to save the list. */
  readonly onChange: (clicks: readonly PendingClick[]) => void;
  /** Called when the server has stored a click, before the click leaves the list. */
  readonly onStored: (click: NewClick) => void;
}

/** The unsent clicks, oldest first. */
export class Outbox {
  readonly #world: OutboxWorld;
  #clicks: readonly PendingClick[];
  #inFlight = 0;
  /** Ends all pauses between attempts. */
  #wake: () => void = () => {};
  #woken: Promise<void> = this.#nextWake();

  /** `kept` are the unsent clicks of earlier visits. */
  constructor(world: OutboxWorld, kept: readonly PendingClick[] = []) {
    this.#world = world;
    this.#clicks = kept.map((click) => (click.state === 'refused' ? click : { ...click, state: 'waiting' }));
  }

  /** Adds one click of this visitor on a target. Returns `false` when too many are unsent. */
  add(userId: string, target: string): boolean {
    if (this.#clicks.length >= OUTBOX_CLICKS_MAX) return false;
    const madeAtMs = this.#world.nowMs();
    const key = this.#world.newKey(madeAtMs);
    const click: NewClick = { key, userId, clickCount: 1, target };
    this.#set([...this.#clicks, { ...click, madeAtMs, attempts: 0, state: 'waiting', error: null }]);
    this.#sendWaiting();
    return true;
  }

  /** Sends all waiting clicks now and ends the pauses between attempts. */
  flush(): void {
    this.#wake();
    this.#sendWaiting();
  }

  /** Removes the rejected clicks after the visitor has seen them. */
  dismissAll(): void {
    this.#set(this.#clicks.filter((click) => click.state !== 'refused'));
  }

  /** Removes a click that another tab has sent or dismissed. */
  settledElsewhere(key: string): void {
    if (this.#clicks.some((click) => click.key === key && click.state !== 'sending')) {
      this.#set(this.#clicks.filter((click) => click.key !== key));
    }
  }

  #sendWaiting(): void {
    while (this.#inFlight < IN_FLIGHT_MAX && this.#world.isOnline()) {
      const next = this.#clicks.find((click) => click.state === 'waiting');
      if (next === undefined) return;
      this.#inFlight += 1;
      void this.#deliver(next).finally(() => {
        this.#inFlight -= 1;
        this.#sendWaiting();
      });
    }
  }

  async #deliver(first: PendingClick): Promise<void> {
    let click = first.attempts > 0 ? first : this.#withUsableKey(first);
    let isRenewed = false;
    for (let attempt = 1; ; attempt++) {
      click = this.#update(click.key, { ...click, state: 'sending', attempts: click.attempts + 1 });
      try {
        await this.#world.send(click);
        this.#world.onStored(click);
        this.#set(this.#clicks.filter((other) => other.key !== click.key));
        return;
      } catch (failure) {
        click = { ...click, error: asApiError(failure) };
      }
      if (click.error?.problem?.type === KEY_TIME_PROBLEM && !isRenewed) {
        // The server stored no attempt under the old key and never will, so a new key cannot count
        // the click twice.
        isRenewed = true;
        click = this.#renewed(click);
        continue;
      }
      if (click.error?.isTransient === false) {
        this.#update(click.key, { ...click, state: 'refused' });
        return;
      }
      if (!this.#world.isOnline()) {
        this.#update(click.key, { ...click, state: 'waiting' });
        return;
      }
      click = this.#update(click.key, { ...click, state: 'retrying' });
      await Promise.race([this.#world.wait(backoffMs(BACKOFF, attempt, this.#world.random())), this.#woken]);
      // Another tab may have sent the click in the meantime.
      if (!this.#clicks.some((other) => other.key === click.key)) return;
    }
  }

  /**
   * Gives an old click a new key and time. Only for a click without attempts: an attempt may have
   * been stored under its key.
   */
  #withUsableKey(click: PendingClick): PendingClick {
    return this.#world.nowMs() - click.madeAtMs <= KEY_AGE_MAX_MS ? click : this.#renewed(click);
  }

  #renewed(click: PendingClick): PendingClick {
    const madeAtMs = this.#world.nowMs();
    return this.#update(click.key, { ...click, key: this.#world.newKey(madeAtMs), madeAtMs, attempts: 0 });
  }

  #nextWake(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#woken = this.#nextWake();
        resolve();
      };
    });
  }

  #update(key: string, changed: PendingClick): PendingClick {
    this.#set(this.#clicks.map((click) => (click.key === key ? changed : click)));
    return changed;
  }

  #set(clicks: readonly PendingClick[]): void {
    this.#clicks = clicks;
    this.#world.onChange(clicks);
  }
}

/** Parses a stored click; returns `null` for anything else, such as an edited text. */
export function parseUnsentClick(json: string | null): PendingClick | null {
  let click: unknown;
  try {
    click = JSON.parse(json ?? 'null');
  } catch {
    return null;
  }
  return isUnsentClick(click) ? { ...click, error: null } : null;
}

function isUnsentClick(value: unknown): value is PendingClick {
  const click = value as Partial<Record<keyof PendingClick, unknown>> | null;
  const states: readonly unknown[] = ['waiting', 'sending', 'retrying', 'refused'];
  return (
    typeof click === 'object' &&
    click !== null &&
    typeof click.key === 'string' &&
    typeof click.userId === 'string' &&
    typeof click.clickCount === 'number' &&
    ['string', 'undefined'].includes(typeof click.target) &&
    typeof click.madeAtMs === 'number' &&
    typeof click.attempts === 'number' &&
    states.includes(click.state)
  );
}
