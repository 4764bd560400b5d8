/** One browser's clicks as reactive state: made, on their way, stored, counted. */
import { serverNowMs } from '../shared/clock.ts';
import { presence } from '../shared/online.svelte.ts';
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { postClick } from './api.ts';
import { Counting } from './counting.ts';
import { keep, keptClicks, onSettledElsewhere } from './kept.ts';
import { ATTEMPTS_TOLD, Outbox, type PendingClick } from './outbox.ts';

/** How long "Counted" stays. */
const COUNTED_SHOWN_MS = 4_000;

/** What the status line says; the most pressing comes first. */
export type ClickPhase = 'offline' | 'retrying' | 'sending' | 'counting' | 'counted' | 'ready';

/** Sends clicks and follows them into the statistics. */
export class Clicking {
  #pending = $state.raw<readonly PendingClick[]>([]);
  #waiting = $state(0);
  #countedLately = $state(0);
  #countedTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #counting = new Counting();
  readonly #outbox: Outbox;

  /** Clicks that the server refused. */
  readonly refused = $derived(this.#pending.filter((click) => click.state === 'refused'));
  /** Clicks that do not get through, and are sent again and again. */
  readonly late = $derived(
    this.#pending.filter(
      (click) => click.state !== 'refused' && click.attempts >= ATTEMPTS_TOLD && click.error !== null,
    ),
  );
  /** Clicks on their way to the server. */
  readonly underWay = $derived(this.#pending.length - this.refused.length);
  /** Clicks that are stored and not yet counted. */
  readonly waiting = $derived(this.#waiting);
  /** Clicks that were counted in the last moments. */
  readonly countedLately = $derived(this.#countedLately);
  /** Where the clicks are, as a whole. */
  readonly phase = $derived.by<ClickPhase>(() => {
    if (this.underWay > 0 && !presence.online) return 'offline';
    if (this.#pending.some((click) => click.state === 'retrying')) return 'retrying';
    if (this.underWay > 0) return 'sending';
    if (this.#waiting > 0) return 'counting';
    return this.#countedLately > 0 ? 'counted' : 'ready';
  });

  /** `onStored` is called when the server has stored a click: the statistics will change soon. */
  constructor(onStored: () => void) {
    const kept = keptClicks();
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

  /** The visitor clicks. `false`: too many clicks are unsent. */
  click(userId: string): boolean {
    return this.#outbox.add(userId);
  }

  /** The network is there (again), or the visitor wants it: what waits is sent. */
  flush(): void {
    this.#outbox.flush();
  }

  /** The visitor has seen what was refused. */
  dismissAll(): void {
    this.#outbox.dismissAll();
  }

  /** The statistics have this total. */
  observe(total: number): void {
    const counted = this.#counting.observe(total, Date.now());
    this.#waiting = this.#counting.waiting;
    if (counted === 0) return;
    this.#countedLately += counted;
    clearTimeout(this.#countedTimer);
    this.#countedTimer = setTimeout(() => (this.#countedLately = 0), COUNTED_SHOWN_MS);
  }

  #changed(clicks: readonly PendingClick[]): void {
    keep(clicks, this.#pending);
    this.#pending = clicks;
    this.#counting.underWay(this.underWay);
  }
}
