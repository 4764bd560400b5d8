/** Polls the server, one request at a time. Failures are followed by an exponential backoff. */
import { backoffMs, type Backoff } from './backoff.ts';

/** Short enough that a page comes back by itself soon after an outage. */
const BACKOFF: Backoff = { firstMs: 2_000, maxMs: 15_000 };

/** The task of a poll and its timing. */
export interface PollOptions {
  /** One request. A rejection counts as a failure; the task itself must show it to the reader. */
  readonly task: (signal: AbortSignal) => Promise<void>;
  /**
   * The pause after a success. It is called after each success, so that the interval may change.
   */
  readonly intervalMs: () => number;
  /** Whether to poll now: usually, while the page is visible and the browser is online. */
  readonly isActive: () => boolean;
}

/** A running poll. */
export class Poll {
  readonly #options: PollOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: AbortController | undefined;
  #failures = 0;

  constructor(options: PollOptions) {
    this.#options = options;
  }

  /**
   * Starts or resumes the poll with a request now; does nothing while one is running. Call it again
   * when the page becomes active.
   */
  kick(): void {
    clearTimeout(this.#timer);
    if (this.#running === undefined && this.#options.isActive()) void this.#run();
  }

  /** Stops the poll and aborts a running request. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#running?.abort();
    this.#running = undefined;
  }

  async #run(): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    try {
      await this.#options.task(running.signal);
      this.#failures = 0;
    } catch {
      this.#failures += 1;
    }
    if (running.signal.aborted) return;
    this.#running = undefined;
    if (!this.#options.isActive()) return;
    const pauseMs =
      this.#failures === 0 ? this.#options.intervalMs() : backoffMs(BACKOFF, this.#failures, Math.random());
    this.#timer = setTimeout(() => this.kick(), pauseMs);
  }
}
