/** One browser's clicks as reactive state: made, on their way, stored, counted. */
import { serverNowMs } from '../shared/clock.ts';
import { presence } from '../shared/online.svelte.ts';
import { StoredText } from '../shared/storage.ts';
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { postClick } from './api.ts';
import { Counting } from './counting.ts';
import { needsVisitor, Outbox, parseKept, type PendingClick } from './outbox.ts';

/** How long "Counted" stays. */
const COUNTED_SHOWN_MS = 4_000;

/** What the status line says; the most pressing comes first. */
export type ClickPhase = 'offline' | 'retrying' | 'sending' | 'counting' | 'counted' | 'ready';

const kept = new StoredText('sessionStorage', 'tidemark.outbox');

/** Sends clicks and follows them into the statistics. */
export class Clicking {
  #pending = $state.raw<readonly PendingClick[]>([]);
  #waiting = $state(0);
  #countedLately = $state(0);
  #countedTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #counting = new Counting();
  readonly #outbox: Outbox;

  /** Clicks that need the visitor's decision. */
  readonly stuck = $derived(this.#pending.filter(needsVisitor));
  /** Clicks on their way to the server. */
  readonly underWay = $derived(this.#pending.length - this.stuck.length);
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
    const keptClicks = parseKept(kept.read());
    this.#pending = keptClicks;
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
      keptClicks,
    );
  }

  /** The visitor clicks. `false`: too many clicks are unsent. */
  click(userId: string): boolean {
    return this.#outbox.add(userId);
  }

  /** The network is there (again): what waits is sent. */
  flush(): void {
    this.#outbox.flush();
  }

  /** The visitor's decision about the stuck clicks. */
  retryAll(): void {
    this.#outbox.retryAll();
  }

  /** The visitor's decision about the stuck clicks. */
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
    this.#pending = clicks;
    this.#counting.underWay(clicks.filter((click) => !needsVisitor(click)).length);
    kept.write(clicks.length === 0 ? null : JSON.stringify(clicks));
  }
}
