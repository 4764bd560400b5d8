/**
 * Batches on their way in: put in order, each taken once, and asked for when one stays away.
 *
 * A relay promises neither order nor delivery; what a drawer has saved can be asked for again.
 */
import type { Batch, InkMessage } from './protocol.ts';

/** How long a gap may stay before the missing is asked for, then twice as long each time... */
const ASK_AFTER_MS = 500;
/** ...up to this. A gap closes when the drawer's next chunk is stored, about two seconds later. */
const ASK_AGAIN_MS_MAX = 8_000;
/** Batches this far ahead are not kept: a turn has at most 3,000. */
const AHEAD_MAX = 4_096;

export interface IncomingWorld {
  /** Asks for everything after that `seq`. */
  readonly ask: (after: number) => void;
  /** Gets every batch once, in order. */
  readonly deliver: (batch: Batch) => void;
}

export class Incoming {
  readonly #world: IncomingWorld;
  readonly #ahead = new Map<number, Batch>();
  #last = 0;
  #isAnswered = true;
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(world: IncomingWorld) {
    this.#world = world;
  }

  /** The last `seq` that is there in a row. */
  get last(): number {
    return this.#last;
  }

  /** Whether an answer to {@link catchUp} is still to come. */
  get isAsking(): boolean {
    return !this.#isAnswered;
  }

  /** Everything up to that `seq` is here, from elsewhere. */
  skipTo(seq: number): void {
    this.#last = Math.max(this.#last, seq);
  }

  /** Asks for all that is missing, now, and again until there is an answer. */
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
      this.#world.deliver(next);
    }
    if (ink.last === true) this.#isAnswered = true;
    if (this.#last > before) this.#asked = 0;
    this.#watch(this.#last > before);
  }

  /** Stops asking. */
  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#ahead.clear();
    this.#isAnswered = true;
  }

  /** A new gap gets its half second from the moment at which the row ended; an old one keeps its timer. */
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
    this.#world.ask(this.#last);
    this.#asked += 1;
    this.#watch(false);
  }
}
