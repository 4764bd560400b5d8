/**
 * Clicks on their way to the server: none is lost silently, none is counted twice.
 *
 * A click keeps its key over every attempt, so the server recognises a repeat even when only the answer was lost. What cannot be
 * sent is kept, with the reason, until the visitor decides.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import { backoffMs, type Backoff } from '../shared/backoff.ts';
import type { NewClick } from './api.ts';

/** Attempts per click before the visitor is asked. With the backoff below: about 20 seconds. */
export const ATTEMPTS_MAX = 6;

/** The server refuses keys that are 5 minutes from its clock; the rest is for the way there. */
export const KEY_AGE_MAX_MS = 4.5 * 60_000;

/** Clicks under way at once: fewer than the 6 connections that a browser gives one HTTP/1.1 server, so that reads get through. */
const IN_FLIGHT_MAX = 4;

/** No more clicks are taken while this many are unsent. */
export const OUTBOX_CLICKS_MAX = 200;

const BACKOFF: Backoff = { firstMs: 400, maxMs: 8_000 };

/** Where a click is: `waiting` for its turn or the network, `sending`, `retrying` after a failure; the rest need the visitor. */
export type ClickState = 'waiting' | 'sending' | 'retrying' | 'gaveUp' | 'expired' | 'refused';

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

  /** `kept` are the clicks that an earlier visit to this tab left unsent. */
  constructor(world: OutboxWorld, kept: readonly PendingClick[] = []) {
    this.#world = world;
    this.#clicks = kept.map((click) => (needsVisitor(click) ? click : { ...click, state: 'waiting' }));
  }

  /** Takes one click of that visitor. `false`: too many are unsent already. */
  add(userId: string): boolean {
    if (this.#clicks.length >= OUTBOX_CLICKS_MAX) return false;
    const madeAtMs = this.#world.nowMs();
    const key = this.#world.newKey(madeAtMs);
    this.#set([...this.#clicks, { key, userId, clickCount: 1, madeAtMs, attempts: 0, state: 'waiting', error: null }]);
    this.flush();
    return true;
  }

  /** Sends what waits: at the start, and when the network is back. */
  flush(): void {
    while (this.#inFlight < IN_FLIGHT_MAX && this.#world.isOnline()) {
      const next = this.#clicks.find((click) => click.state === 'waiting');
      if (next === undefined) return;
      this.#inFlight += 1;
      void this.#deliver(next).finally(() => {
        this.#inFlight -= 1;
        this.flush();
      });
    }
  }

  /** The visitor wants everything that was given up tried again, under the same keys. */
  retryAll(): void {
    this.#set(this.#clicks.map((click) => (click.state === 'gaveUp' ? { ...click, state: 'waiting' } : click)));
    this.flush();
  }

  /** The visitor has seen what could not be sent, and lets it go. */
  dismissAll(): void {
    this.#set(this.#clicks.filter((click) => !needsVisitor(click)));
  }

  async #deliver(first: PendingClick): Promise<void> {
    let click = this.#update(first.key, this.#withUsableKey(first));
    for (let attempt = 1; ; attempt++) {
      if (this.#world.nowMs() - click.madeAtMs > KEY_AGE_MAX_MS) {
        this.#update(click.key, { ...click, state: 'expired' });
        return;
      }
      click = this.#update(click.key, { ...click, state: 'sending', attempts: click.attempts + 1 });
      try {
        await this.#world.send(click);
        this.#world.onStored(click);
        this.#set(this.#clicks.filter((other) => other.key !== click.key));
        return;
      } catch (failure) {
        click = { ...click, error: asApiError(failure) };
      }
      if (click.error?.isTransient === false) {
        this.#update(click.key, { ...click, state: 'refused' });
        return;
      }
      if (!this.#world.isOnline()) {
        this.#update(click.key, { ...click, state: 'waiting' });
        return;
      }
      if (attempt >= ATTEMPTS_MAX) {
        this.#update(click.key, { ...click, state: 'gaveUp' });
        return;
      }
      click = this.#update(click.key, { ...click, state: 'retrying' });
      await this.#world.wait(backoffMs(BACKOFF, attempt, this.#world.random()));
    }
  }

  /** A click that never left may take a new key, and with it a new time; one that left must keep its own, or it could count twice. */
  #withUsableKey(click: PendingClick): PendingClick {
    const nowMs = this.#world.nowMs();
    if (click.attempts > 0 || nowMs - click.madeAtMs <= KEY_AGE_MAX_MS) return click;
    return { ...click, key: this.#world.newKey(nowMs), madeAtMs: nowMs };
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

/** Whether a click stays where it is until the visitor decides. */
export function needsVisitor(click: PendingClick): boolean {
  return click.state === 'gaveUp' || click.state === 'expired' || click.state === 'refused';
}

/** Reads what {@link Outbox} had kept as JSON; anything else, as a hand-edited text, is nothing. */
export function parseKept(json: string | null): readonly PendingClick[] {
  let list: unknown;
  try {
    list = JSON.parse(json ?? '[]');
  } catch {
    return [];
  }
  if (!Array.isArray(list)) return [];
  return list.filter(isKept).map((click) => ({ ...click, error: null }));
}

function isKept(value: unknown): value is PendingClick {
  const click = value as Partial<Record<keyof PendingClick, unknown>> | null;
  const states: readonly unknown[] = ['waiting', 'sending', 'retrying', 'gaveUp', 'expired', 'refused'];
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
