/**
 * Receives batches: puts them in order, delivers each one once, and requests missing ones.
 *
 * The relay guarantees neither order nor delivery. Batches that the drawer has saved can be
 * requested again.
 */
import type { Batch, InkMessage } from './protocol.ts';

/**
 * How long a gap may last before the missing batches are requested. The delay doubles with each
 * request...
 */
const ASK_AFTER_MS = 500;
/**
 * ...up to this. A gap can be filled once the drawer's next chunk is stored, after about two
 * seconds.
 */
const ASK_AGAIN_MS_MAX = 8_000;
/** Batches further ahead are dropped. A turn has at most 3,000. */
const AHEAD_MAX = 4_096;

export interface IncomingOptions {
  /** Requests everything after `after`. */
  readonly ask: (after: number) => void;
  /** Receives every batch once, in order. */
  readonly deliver: (batch: Batch) => void;
}

export class IncomingBatches {
  readonly #options: IncomingOptions;
  readonly #ahead = new Map<number, Batch>();
  #last = 0;
  #isAnswered = true;
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: IncomingOptions) {
    this.#options = options;
  }

  /** The highest `seq` without a gap before it. */
  get last(): number {
    return this.#last;
  }

  /** Whether the answer to {@link catchUp} is still missing. */
  get isAsking(): boolean {
    return !this.#isAnswered;
  }

  /** Everything up to `seq` is known already, because this client made it. */
  skipTo(seq: number): void {
    this.#last = Math.max(this.#last, seq);
  }

  /** Requests everything that is missing, and repeats the request until an answer arrives. */
  catchUp(): void {
    this.#isAnswered = false;
    this.#asked = 0;
    this.#ask();
  }

  receive(ink: Pick<InkMessage, 'batches' | 'last'>): void {
    const before = this.#last;
    for (const batch of ink.batches) {
      if (batch.seq > this.#last && batch.seq <= this.#last + AHEAD_MAX) this.#ahead.set(batch.seq, batch);
    }
    for (let next = this.#ahead.get(this.#last + 1); next !== undefined; next = this.#ahead.get(this.#last + 1)) {
      this.#ahead.delete(next.seq);
      this.#last = next.seq;
      this.#options.deliver(next);
    }
    if (ink.last === true) this.#isAnswered = true;
    if (this.#last > before) this.#asked = 0;
    this.#watch(this.#last > before);
  }

  /** Stops all requests. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#ahead.clear();
    this.#isAnswered = true;
  }

  /** A new gap starts a new timer; an existing gap keeps its timer. */
  #watch(isNew: boolean): void {
    const isWhole = this.#ahead.size === 0 && this.#isAnswered;
    if (isWhole || isNew) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (isWhole || this.#timer !== undefined) return;
    const waitMs = Math.min(ASK_AFTER_MS * 2 ** this.#asked, ASK_AGAIN_MS_MAX);
    this.#timer = setTimeout(() => this.#ask(), waitMs);
  }

  #ask(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#options.ask(this.#last);
    this.#asked += 1;
    this.#watch(false);
  }
}
