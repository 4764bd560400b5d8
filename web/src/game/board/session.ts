/** The drawing of one turn, for its drawer and for those who watch. */
import { StoredText } from '../../shared/storage.ts';
import type { Point } from './brush.ts';
import { IncomingBatches } from './incoming.ts';
import { OutgoingBatches, type Brush } from './outgoing.ts';
import { Picture } from './picture.ts';
import { Playout } from './playout.ts';
import type { Batch, BoardMessage, InkMessage } from './protocol.ts';

/** How long to wait before a `catch-up` checks whether the sent chunks are stored. */
const VERIFY_AFTER_MS = 1_500;
/**
 * When a new watcher requests the drawing once more: the two seconds of a chunk, and some time for
 * its way.
 */
const SAVED_AFTER_MS = 3_000;

export interface SessionOptions {
  readonly turnId: string;
  /** Whether this player draws in this turn. */
  readonly isDrawer: boolean;
  /**
   * Sends a message. It may be dropped when there is no connection; {@link BoardSession.connected}
   * recovers from that.
   */
  readonly send: (message: BoardMessage) => void;
  /**
   * The storage key for the newest batches, so that they survive a reload. Unique for the game and
   * the player. Without it nothing is stored.
   */
  readonly keepAs?: string;
}

/**
 * Created when a turn's drawing begins, or when the page finds one in progress. `Board.svelte`
 * shows it.
 */
export class BoardSession {
  readonly turnId: string;
  readonly isDrawer: boolean;
  readonly picture = new Picture();
  /** Called after every change. The component that shows the picture sets it. */
  onChange: () => void = () => {};
  readonly #incoming: IncomingBatches;
  readonly #outgoing: OutgoingBatches;
  readonly #playout = new Playout(this.picture);
  readonly #kept: StoredText | null;
  /** The ids that can be redone, newest last. */
  #undone: number[] = [];
  #isReady = false;
  #isFinished = false;
  #guess: readonly Point[] = [];
  #catchUpTimer: ReturnType<typeof setTimeout> | undefined;

  constructor({ turnId, isDrawer, send, keepAs }: SessionOptions) {
    this.turnId = turnId;
    this.isDrawer = isDrawer;
    this.#kept = keepAs === undefined ? null : new StoredText('sessionStorage', keepAs);
    this.#incoming = new IncomingBatches({
      ask: (after) => send({ action: 'catch-up', turnId, after: isDrawer ? this.#outgoing.storedUpTo : after }),
      deliver: (batch) => this.#deliver(batch),
    });
    this.#outgoing = new OutgoingBatches({
      turnId,
      send,
      apply: (ops) => {
        this.#showPending();
        this.picture.apply(ops);
      },
      made: (seq) => this.#incoming.skipTo(seq),
      keep: (batches, chunk) => this.#kept?.write(JSON.stringify({ turnId, batches, chunk })),
    });
  }

  /** Whether the drawer can draw: the earlier part of the drawing is loaded. */
  get isReady(): boolean {
    return this.isDrawer && this.#isReady && !this.#isFinished;
  }

  get canUndo(): boolean {
    return this.isReady && this.picture.undoable !== null;
  }

  get canRedo(): boolean {
    return this.isReady && this.#undone.length > 0;
  }

  /** Whether there is ink left. The ink limits the size of a drawing. */
  get hasInk(): boolean {
    return this.#outgoing.hasInk;
  }

  /**
   * Called after every `welcome`: requests missing batches, and sends unconfirmed ones again.
   */
  connected(): void {
    this.#incoming.catchUp();
    if (this.isDrawer) return;
    // The drawer stores a stroke two seconds later, and this client has missed its relayed batches.
    this.#catchUpLater(SAVED_AFTER_MS);
  }

  /** Receives an `ink` message. Messages of other turns are ignored. */
  receive(ink: InkMessage): void {
    if (ink.turnId !== this.turnId) return;
    this.#incoming.receive(ink);
    if (this.isDrawer) this.#confirm(ink);
    this.onChange();
  }

  /**
   * The drawing phase is over: the drawer's last points are saved, the others request missed
   * batches.
   */
  finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    if (this.isDrawer) this.#outgoing.finish();
    this.#catchUpLater(VERIFY_AFTER_MS);
    this.onChange();
  }

  /** Stops all timers. */
  dispose(): void {
    clearTimeout(this.#catchUpTimer);
    this.#incoming.dispose();
    this.#outgoing.dispose();
  }

  /** Advances the playout. `true` while there is more to play. */
  advance(ms: number): boolean {
    this.#playout.advance(ms);
    return !this.#playout.isIdle;
  }

  /** Shows everything that waits to be played. */
  showAll(): void {
    this.#playout.flush();
  }

  begin(brush: Brush, at: Point): void {
    if (!this.isReady) return;
    this.#undone = [];
    this.#outgoing.begin(brush, at);
    this.onChange();
  }

  /** Extends the stroke. `guess` are predicted points. */
  extend(points: readonly Point[], guess: readonly Point[]): void {
    if (!this.isReady) return;
    this.#outgoing.extend(points);
    this.#guess = guess;
    this.#showPending();
  }

  end(): void {
    if (!this.isReady) return;
    this.#guess = [];
    this.#outgoing.end();
    this.onChange();
  }

  /** Discards the open stroke. */
  cancel(): void {
    if (!this.isReady) return;
    this.#guess = [];
    this.#outgoing.cancel();
    this.onChange();
  }

  fill(colour: number, at: Point): void {
    if (!this.isReady) return;
    this.#undone = [];
    this.#outgoing.fill(colour, at);
    this.onChange();
  }

  clear(): void {
    if (!this.isReady) return;
    this.#undone = [];
    this.#outgoing.clear();
    this.onChange();
  }

  undo(): void {
    if (!this.isReady) return;
    this.#outgoing.end();
    const id = this.picture.undoable;
    if (id === null) return;
    this.#undone.push(id);
    this.#outgoing.undo(id);
    this.onChange();
  }

  redo(): void {
    const id = this.#undone.pop();
    if (!this.isReady || id === undefined) return;
    this.#outgoing.redo(id);
    this.onChange();
  }

  #showPending(): void {
    this.picture.guess([...this.#outgoing.pending, ...this.#guess]);
    this.onChange();
  }

  #deliver(batch: Batch): void {
    if (this.isDrawer) {
      // These batches are from before a reload: this visit's own batches are already applied.
      this.picture.apply(batch.ops);
      this.#outgoing.spend(batch.ops);
    } else if (this.#incoming.isAsking) {
      // Batches from before a reconnect are shown at once, not played.
      this.#playout.flush();
      this.picture.apply(batch.ops);
    } else {
      this.#playout.push(batch);
    }
  }

  #confirm(ink: InkMessage): void {
    if (!this.#isReady && ink.last === true) {
      const kept = readKeptInk(this.#kept?.read() ?? null, this.turnId);
      const { last } = this.#incoming;
      this.#outgoing.resume(last, this.picture.lastId, kept?.chunk ?? last);
      this.#outgoing.adopt(kept?.batches ?? []);
      this.#outgoing.resume(this.#incoming.last, this.picture.lastId, 0);
      this.#isReady = true;
    }
    if (this.#outgoing.confirm(ink)) this.#catchUpLater(VERIFY_AFTER_MS);
  }

  #catchUpLater(afterMs: number): void {
    clearTimeout(this.#catchUpTimer);
    this.#catchUpTimer = setTimeout(() => this.#incoming.catchUp(), afterMs);
  }
}

interface KeptInk {
  readonly batches: readonly Batch[];
  /** The number of the last chunk. */
  readonly chunk: number;
}

/** Reads the batches that were stored before a reload. Invalid data counts as none. */
function readKeptInk(json: string | null, turnId: string): KeptInk | null {
  try {
    const kept = JSON.parse(json ?? 'null') as Partial<Record<keyof KeptInk | 'turnId', unknown>> | null;
    if (kept?.turnId !== turnId || !Array.isArray(kept.batches) || typeof kept.chunk !== 'number') return null;
    return { batches: kept.batches.filter(isBatch), chunk: kept.chunk };
  } catch {
    return null;
  }
}

function isBatch(value: unknown): value is Batch {
  const batch = value as Partial<Record<keyof Batch, unknown>> | null;
  return typeof batch?.seq === 'number' && Array.isArray(batch.ops);
}
