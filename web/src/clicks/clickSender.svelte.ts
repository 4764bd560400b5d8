/**
 * The clicks of this browser as reactive state, from the press of the button until they are
 * counted.
 */
import { serverNowMs } from '../shared/clock.ts';
import { presence } from '../shared/online.svelte.ts';
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { postClick } from './api.ts';
import { Counting } from './counting.ts';
import { loadUnsentClicks, onSettledElsewhere, saveUnsentClicks } from './outboxStorage.ts';
import { ATTEMPTS_BEFORE_NOTICE, Outbox, type PendingClick } from './outbox.ts';

/** How long the status shows "Counted". */
const COUNTED_SHOWN_MS = 4_000;

/** The phase that the status line shows, the most urgent first. */
export type ClickPhase = 'offline' | 'retrying' | 'sending' | 'counting' | 'counted' | 'ready';

/** Sends clicks and waits until the statistics include them. */
export class ClickSender {
  #pending = $state.raw<readonly PendingClick[]>([]);
  #waiting = $state(0);
  #countedLately = $state(0);
  #countedTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #counting = new Counting();
  readonly #outbox: Outbox;

  /** Clicks that the server rejected. */
  readonly refused = $derived(this.#pending.filter((click) => click.state === 'refused'));
  /** Clicks that failed several times and are still being retried. */
  readonly late = $derived(
    this.#pending.filter(
      (click) => click.state !== 'refused' && click.attempts >= ATTEMPTS_BEFORE_NOTICE && click.error !== null,
    ),
  );
  /** The number of clicks that are not stored yet. */
  readonly underWay = $derived(this.#pending.length - this.refused.length);
  /** The number of clicks that are stored but not counted yet. */
  readonly waiting = $derived(this.#waiting);
  /** The number of clicks that were counted in the last seconds. */
  readonly countedLately = $derived(this.#countedLately);
  /** The phase of all clicks together. */
  readonly phase = $derived.by<ClickPhase>(() => {
    if (this.underWay > 0 && !presence.online) return 'offline';
    if (this.#pending.some((click) => click.state === 'retrying')) return 'retrying';
    if (this.underWay > 0) return 'sending';
    if (this.#waiting > 0) return 'counting';
    return this.#countedLately > 0 ? 'counted' : 'ready';
  });

  /**
   * `onStored` is called when the server has stored a click, because the statistics will change
   * soon.
   */
  constructor(onStored: () => void) {
    const kept = loadUnsentClicks();
    this.#pending = kept;
    this.#outbox = new Outbox(
      {
        send: postClick,
        newKey: newUuidV7,
        nowMs: serverNowMs,
        wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
        random: Math.random,
        isOnline: () => presence.online,
        onChange: (clicks) => this.#changed(clicks),
        onStored: (click) => {
          this.#counting.stored(click.clickCount, Date.now());
          this.#waiting = this.#counting.waiting;
          onStored();
        },
      },
      kept,
    );
    onSettledElsewhere((key) => this.#outbox.settledElsewhere(key));
  }

  /** Adds a click on a target. Returns `false` when too many clicks are unsent. */
  click(userId: string, target: string): boolean {
    return this.#outbox.add(userId, target);
  }

  /**
   * Sends waiting clicks now: call it when the browser is online again or the visitor asks for it.
   */
  flush(): void {
    this.#outbox.flush();
  }

  /** Removes the rejected clicks after the visitor has seen them. */
  dismissAll(): void {
    this.#outbox.dismissAll();
  }

  /** Reports the current total of the statistics. */
  observe(total: number): void {
    const counted = this.#counting.observe(total, Date.now());
    this.#waiting = this.#counting.waiting;
    if (counted === 0) return;
    this.#countedLately += counted;
    clearTimeout(this.#countedTimer);
    this.#countedTimer = setTimeout(() => (this.#countedLately = 0), COUNTED_SHOWN_MS);
  }

  #changed(clicks: readonly PendingClick[]): void {
    saveUnsentClicks(clicks, this.#pending);
    this.#pending = clicks;
    this.#counting.underWay(this.underWay);
  }
}
