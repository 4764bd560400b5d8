/**
 * Clicks on their way to the server: none is lost silently, none is counted twice.
 *
 * A click keeps its key over every attempt, so the server recognises a repeat even when only the answer was lost. It is sent until an
 * answer comes, however long that takes; a click that the server refuses is kept with the reason until the visitor has seen it.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import { backoffMs, type Backoff } from '../shared/backoff.ts';
import type { NewClick } from './api.ts';

/** After so many attempts the visitor is told that a click does not get through. With the backoff below: about 12 seconds. */
export const ATTEMPTS_TOLD = 6;

/** The server takes a click within 24 hours of its time; the rest is for the way there. */
export const KEY_AGE_MAX_MS = 23.5 * 60 * 60_000;

/** Clicks under way at once: fewer than the 6 connections that a browser gives one HTTP/1.1 server, so that reads get through. */
const IN_FLIGHT_MAX = 4;

/** No more clicks are taken while this many are unsent. */
export const OUTBOX_CLICKS_MAX = 200;

const BACKOFF: Backoff = { firstMs: 400, maxMs: 30_000 };

/** The problem of a key whose time is over: the server has never stored its click, and never will. */
const KEY_TIME = 'urn:tidemark:problem:idempotency-key-time';

/** Where a click is: `waiting` for its turn or the network, `sending`, `retrying` after a failure; `refused` needs the visitor. */
export type ClickState = 'waiting' | 'sending' | 'retrying' | 'refused';

/** An unsent click. */
export interface PendingClick extends NewClick {
  /** Epoch, the server's clock: the time inside `key`. */
  readonly madeAtMs: number;
  /** How often it left for the server. With 0 it is certain that the server does not know it. */
  readonly attempts: number;
  readonly state: ClickState;
  /** The last failure. */
  readonly error: ApiError | null;
}

/** What the outbox needs from the world. */
export interface OutboxWorld {
  /** Sends one click; fails with {@link ApiError}. */
  readonly send: (click: NewClick) => Promise<void>;
  /** A new UUIDv7 for that moment. */
  readonly newKey: (epochMs: number) => string;
  readonly nowMs: () => number;
  readonly wait: (ms: number) => Promise<void>;
  /** 0..1 */
  readonly random: () => number;
  readonly isOnline: () => boolean;
  /** Called after every change, to show and to keep the list. */
  readonly onChange: (clicks: readonly PendingClick[]) => void;
  /** Called when the server has stored a click, just before it leaves the list. */
  readonly onStored: (click: NewClick) => void;
}

/** The unsent clicks, oldest first. */
export class Outbox {
  readonly #world: OutboxWorld;
  #clicks: readonly PendingClick[];
  #inFlight = 0;
  /** Ends the waits between attempts. */
  #awake: () => void = () => {};
  #waking: Promise<void> = this.#nextWaking();

  /** `kept` are the clicks that earlier visits left unsent. */
  constructor(world: OutboxWorld, kept: readonly PendingClick[] = []) {
    this.#world = world;
    this.#clicks = kept.map((click) => (click.state === 'refused' ? click : { ...click, state: 'waiting' }));
  }

  /** Takes one click of that visitor. `false`: too many are unsent already. */
  add(userId: string): boolean {
    if (this.#clicks.length >= OUTBOX_CLICKS_MAX) return false;
    const madeAtMs = this.#world.nowMs();
    const key = this.#world.newKey(madeAtMs);
    this.#set([...this.#clicks, { key, userId, clickCount: 1, madeAtMs, attempts: 0, state: 'waiting', error: null }]);
    this.#sendWaiting();
    return true;
  }

  /** Sends now what waits, for its turn or for another attempt: at the start, when the network is back, when the visitor wants it. */
  flush(): void {
    this.#awake();
    this.#sendWaiting();
  }

  /** The visitor has seen what was refused, and lets it go. */
  dismissAll(): void {
    this.#set(this.#clicks.filter((click) => click.state !== 'refused'));
  }

  /** Another tab has sent this click, or let it go. */
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
      if (click.error?.problem?.type === KEY_TIME && !isRenewed) {
        // No attempt under the old key was stored, and none can be any more: the click may begin anew.
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
      await Promise.race([this.#world.wait(backoffMs(BACKOFF, attempt, this.#world.random())), this.#waking]);
      // Another tab may have sent it meanwhile.
      if (!this.#clicks.some((other) => other.key === click.key)) return;
    }
  }

  /** A click that never left may take a new key, and with it a new time; one that left keeps its own until the server says that it has not stored it. */
  #withUsableKey(click: PendingClick): PendingClick {
    return this.#world.nowMs() - click.madeAtMs <= KEY_AGE_MAX_MS ? click : this.#renewed(click);
  }

  #renewed(click: PendingClick): PendingClick {
    const madeAtMs = this.#world.nowMs();
    return this.#update(click.key, { ...click, key: this.#world.newKey(madeAtMs), madeAtMs, attempts: 0 });
  }

  #nextWaking(): Promise<void> {
    return new Promise((resolve) => {
      this.#awake = () => {
        this.#waking = this.#nextWaking();
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

/** Reads one click that {@link Outbox} had kept as JSON; anything else, as a hand-edited text, is nothing. */
export function parseKept(json: string | null): PendingClick | null {
  let click: unknown;
  try {
    click = JSON.parse(json ?? 'null');
  } catch {
    return null;
  }
  return isKept(click) ? { ...click, error: null } : null;
}

function isKept(value: unknown): value is PendingClick {
  const click = value as Partial<Record<keyof PendingClick, unknown>> | null;
  const states: readonly unknown[] = ['waiting', 'sending', 'retrying', 'refused'];
  return (
    typeof click === 'object' &&
    click !== null &&
    typeof click.key === 'string' &&
    typeof click.userId === 'string' &&
    typeof click.clickCount === 'number' &&
    typeof click.madeAtMs === 'number' &&
    typeof click.attempts === 'number' &&
    states.includes(click.state)
  );
}
