/**
 * Asks again and again: while the page can be seen and the network is there, one request at a time, more slowly while it fails.
 */
import { backoffMs, type Backoff } from './backoff.ts';

/** What is asked, and how often. */
export interface PollOptions {
  /** One round. A rejection counts as a failure; it is the task's own matter to show it. */
  readonly task: (signal: AbortSignal) => Promise<void>;
  /** The pause after a successful round, asked each time anew. */
  readonly intervalMs: () => number;
  /** The pause after failures. */
  readonly backoff: Backoff;
  /** Whether asking makes sense now: the page is visible and the browser online. */
  readonly isActive: () => boolean;
}

/** A running poll. */
export class Poll {
  readonly #options: PollOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round: AbortController | undefined;
  #failures = 0;

  constructor(options: PollOptions) {
    this.#options = options;
  }

  /** Asks now, unless a round is under way; then it goes on by itself. Also to be called when the page becomes active again. */
  kick(): void {
    clearTimeout(this.#timer);
    if (this.#round === undefined && this.#options.isActive()) void this.#ask();
  }

  /** Ends it; a round under way is aborted. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#round?.abort();
    this.#round = undefined;
  }

  async #ask(): Promise<void> {
    const round = new AbortController();
    this.#round = round;
    try {
      await this.#options.task(round.signal);
      this.#failures = 0;
    } catch {
      this.#failures += 1;
    }
    if (round.signal.aborted) return;
    this.#round = undefined;
    if (!this.#options.isActive()) return;
    const pauseMs =
      this.#failures === 0
        ? this.#options.intervalMs()
        : backoffMs(this.#options.backoff, this.#failures, Math.random());
    this.#timer = setTimeout(() => this.kick(), pauseMs);
  }
}
